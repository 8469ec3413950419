// core/m.h -- M: a kernel thread of ours. The GS base of each M points at its own M.
//
// What it is
//   An M runs a G on the G's stack, or the scheduler on its own ("g0"). Started by raw clone, never
//   reaped; M0 is the process's initial thread.
//
// Invariants
//   M1  in_rt is 1 while the scheduler or runtime code runs on this M; then signals only leave a mark
//       in `pending`, and nothing preempts. It is 0 exactly while program code runs.
//   M2  p is the P this M last held. It may have been taken; only P::word tells (p.h).
#pragma once
#include "arch/offsets.h"
#include "arch/x86_64.h"
#include "core/g.h"
#include "os/futex.h"

namespace gmpt::core {

struct P;

enum Pending : u32 { kPendPreempt = 1, kPendSignal = 2 };

constexpr u32 kSigRing = 32;

struct M {
  M* self;                   // asm
  u32 in_rt;                 // asm, own
  Atomic<u32> pending;       // asm: Pending bits
  G* curg;                   // asm, own; read by sysmon
  u64 g0_sp;                 // asm, once
  Atomic<u32> in_sys;        // asm: in an announced system call; read by sysmon
  Atomic<u32> sys_tick;      // asm: announced calls so far
  P* p;                      // own
  u32 idle_yields;           // own: calls of sched_yield() that found no other G
  P* next_p;                 // handed over before park.wake()
  uptr cur_fs;               // own: the FS base this M should have; 0 = unknown after sleeping
  u64 kmask;                 // own: the signal mask the kernel has
  bool spinning;             // own (set by the waker before it wakes)
  bool lost;                 // sysmon: its P was taken and it has not come back yet
  bool is_m0;
  bool known;                // own: on all_ms
  i32 tid;                   // once
  os::Note park;
  M* idle_link;              // lock: sched.lock
  M* all_next;               // once
  G* locked_g;               // own
  os::SigStack sigstack;     // once
  Atomic<u32> preempt_sent;  // one outstanding preemption signal at most
  u64 lost_since, last_kick; // sysmon
  bool from_call;            // own: its G lost the P in an announced call and wants one back
  i32 boosted;               // sysmon: the priority it lent; 0 = none
  Atomic<u32> sig_in, sig_out;  // own handler / any under the queue's lock: signals that came at a bad moment
  os::SigInfo* sig_ring;     // once; kSigRing of them
  u64 sig_seq[kSigRing];     // which of all signals put aside each is
  u32 rand;                  // own
  u64 turn_tsc;              // own: cycle counter when the G on it began its turn
  u64 switch_tsc;            // own: cycle counter when the last turn ended; 0 = too long ago
  bool changed;              // own: its kernel thread differs from the others, see ownm.h
  bool ends;                 // once: made for one G, and ends with it
  bool own_policy;           // own: its G has a policy of its own; what is cloned from it may inherit that
  Atomic<u32> gone;          // its kernel thread has ended; see m_start.cc
  bool spare;                // made without work, and on the idle list before its first instruction
  i32 resent;                // own: the signal about to come is for the G on it, whoever else would be asked first; see signal.cc
};

static_assert(offsetof(M, self) == GMPT_M_SELF && offsetof(M, in_rt) == GMPT_M_IN_RT && offsetof(M, pending) == GMPT_M_PENDING);
static_assert(offsetof(M, curg) == GMPT_M_CURG && offsetof(M, g0_sp) == GMPT_M_G0SP && offsetof(M, in_sys) == GMPT_M_IN_SYS && offsetof(M, sys_tick) == GMPT_M_SYS_TICK);

inline M* mm() { return static_cast<M*>(arch::gs_self()); }

}  // namespace gmpt::core
