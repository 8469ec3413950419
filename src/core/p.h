// core/p.h -- P: the right to run Gs, and the queues that come with it.
//
// What it is
//   GOMAXPROCS of them. An M must hold a P to run the scheduler; user code runs with a P that anybody may
//   take (sys.h), because it may be asleep in a system call we cannot see.
//
//       word = M | tag      tag 0: that M is in the runtime, the P is its own
//                           tag 1: that M runs program code, the P may be taken
//              1            taken, in a thief's hand
//              0            idle (on sched's list) or in transit to an M
//
// Invariants
//   P1  Everything tagged own is touched only with tag 0 by that M.
//   P2  The M's identity is in the word: when M1 lost its P and M2 got it, M1's compare-and-swap fails
//       though M2 may have left the runtime as well.
//
// Proof and tests   tests/model/powner.pml
#pragma once
#include "base/stats.h"
#include "core/m.h"
#include "core/runq.h"
#include "core/timers.h"

namespace gmpt::core {

constexpr u64 kUserTag = 1;
constexpr u64 kTaken = 1;

struct P {
  GMPT_CACHE_ALIGNED Atomic<u64> word;   // any
  u32 id;                          // once
  Atomic<u32> sched_tick;          // own; a new slice began. Read by sysmon
  bool is_private;                 // once: a real-time thread's, see privatep.h
  bool idle;                       // lock: sched.lock
  P* link;                         // lock: sched.lock
  bool offer_spins;                // lock: sched.lock: whoever takes the offer is counted as spinning
  RunQueue runq;                   // see runq.h
  TimerHeap timers;                // see timers.h
  GList free_gs;                   // own: dead Gs with default stacks
  u32 yield_budget;                // own
  G* newborn;                      // own: the G last made, if it took runnext; only compared
  u32 woken_in_row;                // own; see find.cc
  u64 ring_tsc;                    // own: since when nothing of the ring had a turn; 0 = it has one
  bool poll_missed;                // own; see find.cc
  Stats stats;                     // own
  // sysmon's memory of its last look
  u32 seen_tick, seen_sys_tick;
  M* seen_owner;                   // who held it
  u64 since;                       // since when all of the above is unchanged
  u64 looked_at;                   // when it was last looked at whether it sleeps
  u64 looked_cpu;                  // the M's processor time then
  bool asleep;                     // what was found
  u64 asked_at;                    // when preemption was requested in this slice; 0 = not
};

inline M* p_owner(u64 word) { return reinterpret_cast<M*>(word & ~u64{7}); }

}  // namespace gmpt::core
