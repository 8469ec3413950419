// rt/spin.h -- spin locks that give the turn away.
//
// What it is
//   glibc's values on x86: 1 free, 0 held; its waiters count down below 0 in shared memory. Nothing tells
//   private from process-shared, so both spin.
//
// Invariants
//   The holder may be a G that is not running, perhaps on the very P of the spinner: after 100 looks the
//   turn goes to others. A spinner inside this library is not preempted, so it has to do that itself.
//
// Memory orders
//   [spin] unlock: store-release -> lock: exchange-acq_rel.
//
// Proof and tests   tests/posix/spinlock.c
#pragma once
#include "arch/x86_64.h"
#include "rt/self.h"

namespace gmpt::rt {

inline Atomic<i32>& spin_word(pthread_spinlock_t* s) { return as_atomic(const_cast<i32*>(s)); }

inline bool spin_trylock(pthread_spinlock_t* s) { return spin_word(s).exchange_acq_rel(0) > 0; }  // [spin]
inline void spin_unlock(pthread_spinlock_t* s) { spin_word(s).store_release(1); }                // [spin]

inline void spin_lock(pthread_spinlock_t* s) {
  for (u32 rounds = 1; !spin_trylock(s);) {
    // Looking does not take the line away from the holder, as an exchange does.
    while (spin_word(s).load_relaxed() <= 0) {
      if (rounds++ % 100) {
        arch::pause();
      } else if (self()) {
        Rt rt(self());
        core::yield();
      } else {
        os::sys(__NR_sched_yield);
      }
    }
  }
}

}  // namespace gmpt::rt
