// core/wait.h -- the word on which one thread waits, and who may end the wait.
//
// What it is
//   Every wait of a thread, whatever it waits for, goes through its Waiter. Several parties may want to
//   end it (a signaller, a timer, a signal, the netpoller); exactly one claims it, and only the claimer
//   of a *parked* G makes it runnable. A kernel thread that is not a G waits on the word with a futex.
//
//       word = seq << 8 | reason << 4 | state      states: idle -> armed -> parked -> woken -> idle
//
// Who touches what
//   idle->armed, armed->parked, ->idle   the waiting thread (commit runs on its M's g0)
//   armed|parked -> woken                whoever wins the compare-and-swap in claim()
//
// Invariants
//   W1  A claim names the seq it saw when the wait was published; a stale one (a timer of an earlier
//       wait) fails, since arm() raised seq. 24 bits: a claimer would have to sleep through 16 million
//       waits of one thread, while holding a queue's lock.
//   W2  Claims of queued waiters happen under the queue's lock. A signaller whose claim fails goes on
//       to the next waiter, so a wake-up is never spent on a thread that reports a timeout.
//   W3  G memory is type-stable, so a stale Waiter pointer is always a Waiter.
//
// Memory orders
//   [claim]  claim: cas-acq_rel  ->  finish: load-acquire. The waker's writes are seen by the woken.
//   [commit] commit: cas-acq_rel ->  claim: cas-acq_rel. A claim that sees "parked" may run the G: its
//            registers were saved before.
//
// Proof and tests   tests/model/park.pml
#pragma once
#include "base/atomic.h"
#include "base/base.h"
#include "os/futex.h"

namespace gmpt::core {

struct G;

enum class Reason : u32 { kNone = 0, kWoken = 1, kTimeout = 2, kInterrupted = 3, kClosed = 4, kHandoff = 5 };

struct Waiter {
  enum : u32 { kIdle = 0, kArmed = 1, kParked = 2, kWokenState = 3, kStateMask = 15 };
  Atomic<u32> word;
  G* g = nullptr;  // null: a kernel thread

  static u32 make(u32 seq, Reason r, u32 st) { return seq << 8 | static_cast<u32>(r) << 4 | st; }

  // Begins a wait; the result is the seq that claimers must present.
  u32 arm() {
    u32 seq = ((word.load_relaxed() >> 8) + 1) & 0xffffff;
    word.store_release(make(seq, Reason::kNone, kArmed));
    return seq;
  }

  enum class Claim { kLost, kRunning, kParked };
  Claim claim(u32 seq, Reason r) {
    for (;;) {
      u32 w = word.load_acquire();
      u32 st = w & kStateMask;
      if (w >> 8 != seq || (st != kArmed && st != kParked)) return Claim::kLost;
      if (word.cas_acq_rel(w, make(seq, r, kWokenState))) return st == kParked ? Claim::kParked : Claim::kRunning;  // [claim]
    }
  }

  // On g0, after the G's registers are saved. False: somebody claimed in between, the G goes on.
  bool commit(u32 seq) {
    u32 w = make(seq, Reason::kNone, kArmed);
    return word.cas_acq_rel(w, make(seq, Reason::kNone, kParked));  // [commit]
  }

  bool woken() const { return (word.load_acquire() & kStateMask) == kWokenState; }
  Reason reason() const { return static_cast<Reason>(word.load_acquire() >> 4 & 15); }  // [claim]
  void finish() { word.store_release(word.load_relaxed() & ~u32{0xff}); }
};

// Why a G waits; printed by dumps. Each cause has its own name.
enum class Why : u32 {
  kNone, kMutex, kCond, kRwlock, kSem, kBarrier, kOnce, kJoin, kSleep, kRead, kWrite, kAccept, kConnect, kPoll, kEpoll, kFutex,
  kPause, kMainExit, kCount
};
const char* why_name(Why w);

}  // namespace gmpt::core
