// core/cputime.cc -- answering how much processor time a G used.
#include "core/cputime.h"

#include "core/sched.h"

namespace gmpt::core {

Atomic<u32> cpu_exact;
u64 cpu_tsc0;

namespace {
// The counter's frequency comes out of the time since boot: no calibration, and better the longer it runs.
u64 cycles_to_ns(u64 cycles) {
  u64 dt = arch::rdtsc() - cpu_tsc0, dn = os::now_ns() - sched.boot_ns;
  if (dt < 1000000) return cycles / 2;
  while (dt >> 31) dt >>= 1, dn >>= 1;  // keeps the products below 64 bits
  return cycles / dt * dn + cycles % dt * dn / dt;
}

// What was measured in cycles is frozen as nanoseconds, so that a better estimate of the frequency never makes
// the clock step back. The cycles are taken away first: a reader in between sees too little, not too much.
u64 own_time(G* g) {
  cpu_out(g);
  cpu_exact.store_relaxed(1);
  u64 n = g->cpu_ns.load_relaxed();
  if (u64 cycles = g->cpu_cycles.load_relaxed()) {
    n += cycles_to_ns(cycles);
    g->cpu_cycles.store_release(0);
    g->cpu_ns.store_release(n);
  }
  cpu_in(mm(), g);
  return max_of(n, g->cpu_told.load_relaxed());
}

M* load_m(G* g) { return __atomic_load_n(&g->m, __ATOMIC_RELAXED); }

}  // namespace

u64 cpu_of(G* g, bool self) {
  if (self) return own_time(g);
  cpu_exact.store_relaxed(1);
  u64 n, mark;
  do {
    mark = g->cpu_mark.load_acquire();
    n = g->cpu_ns.load_acquire();
    u64 cycles = g->cpu_cycles.load_acquire();
    M* m = mark ? load_m(g) : nullptr;
    if (mark && !(mark & 1)) cycles += ((arch::rdtsc() << 1) - mark) >> 1;
    if (mark & 1 && m) {
      u64 now = os::clock_ns(~m->tid << 3 | 6);      // 0: that kernel thread is gone
      if (now > mark >> 1) n += now - (mark >> 1);
    }
    n += cycles_to_ns(cycles);
  } while (mark && g->cpu_mark.load_acquire() != mark);
  u64 told = g->cpu_told.load_relaxed();
  while (n > told && !g->cpu_told.cas_acq_rel(told, n)) {
  }
  return max_of(n, told);
}

}  // namespace gmpt::core
