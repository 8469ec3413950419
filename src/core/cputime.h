// core/cputime.h -- the processor time of each G.
//
// What it is
//   Until somebody asks for a thread's CPU time, each switch reads the cycle counter once (11 ns) and charges
//   the G that ran: its M's time, including what the kernel gave to others meanwhile. The reading that ends
//   one G's turn begins the next one's (M::switch_tsc), unless the M searched or slept in between. From the first
//   question on, the M's own CPU clock is read at each switch (a system call): exact, for programs that
//   measure.
//
// Who touches what
//   G::cpu_ns, cpu_cycles, cpu_mark    written by the M that runs the G, read by others without a lock. The sums
//   grow only while the mark is 0, and a mark never comes twice: who sees the same mark before and after has
//   read one moment's sums (the release store of a sum pairs with the reader's acquire load of it; the mark's 0
//   comes before it).
#pragma once
#include "core/m.h"
#include "os/clock.h"

namespace gmpt::core {

extern Atomic<u32> cpu_exact;
extern u64 cpu_tsc0;

inline u64 m_cpu_ns() { return os::clock_ns(3 /* CLOCK_THREAD_CPUTIME_ID */); }

inline u64 cpu_in(M* m, G* g) {
  u64 tsc = m->switch_tsc ? m->switch_tsc : arch::rdtsc();
  m->switch_tsc = 0;
  g->cpu_mark.store_release(GMPT_UNLIKELY(cpu_exact.load_relaxed()) ? m_cpu_ns() << 1 | 1 : tsc << 1);
  return tsc;
}

// The low bit of the mark tells which clock it is of, so a change of mode in mid-run charges nothing wrong.
inline void cpu_out(G* g) {
  u64 mark = g->cpu_mark.load_relaxed();
  g->cpu_mark.store_relaxed(0);
  if (!mark) return;
  if (GMPT_UNLIKELY(mark & 1)) {
    g->cpu_ns.store_release(g->cpu_ns.load_relaxed() + m_cpu_ns() - (mark >> 1));
  } else {
    u64 tsc = mm()->switch_tsc = arch::rdtsc();
    g->cpu_cycles.store_release(g->cpu_cycles.load_relaxed() + (((tsc << 1) - mark) >> 1));
  }
}

u64 cpu_of(G* g, bool self);     // nanoseconds; the first call makes the count exact from then on

}  // namespace gmpt::core
