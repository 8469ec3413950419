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
}  // namespace

u64 cpu_of(G* g, bool self) {
  if (self) {
    cpu_out(g);
    cpu_exact.store_relaxed(1);
    cpu_in(mm(), g);
  } else {
    cpu_exact.store_relaxed(1);
  }
  u64 n = g->cpu_ns + cycles_to_ns(g->cpu_cycles);
  // What was measured in cycles is frozen once as nanoseconds, so that a better estimate of the
  // frequency never makes the clock step back.
  if (self && g->cpu_cycles) {
    g->cpu_ns = n;
    g->cpu_cycles = 0;
  }
  return n;
}

}  // namespace gmpt::core
