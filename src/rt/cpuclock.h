// rt/cpuclock.h -- whose clock a CPU-time clock id names.
//
// What it is
//   pthread_getcpuclockid makes the id from the tid in the control block, which for a G the kernel does not
//   know. Ids of other threads and processes give null: they are the kernel's.
#pragma once
#include "core/sched.h"
#include "rt/self.h"

namespace gmpt::rt {

// ~tid in the upper 29 bits, 110 (a thread's, run time) below.
inline G* g_of_cpu_clock(clockid_t c) {
  if (c >= 0 || (c & 7) != 6) return nullptr;
  i32 tid = ~(c >> 3);
  for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
    if (g->tid == tid && g->state.load_acquire() != core::GState::kDead) return g;
  return nullptr;
}

}  // namespace gmpt::rt
