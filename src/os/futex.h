// os/futex.h -- kernel futex on runtime words, the one-shot Note, and the lock that blocks an M.
//
// What it is
//   Note   an M (or sysmon) sleeps on it; one wake() per sleep(); clear() before the next use.
//   Lock   three states: 0 free, 1 held, 2 held and somebody may sleep. Holders never park a G, never
//          run user code and hold it for a few hundred nanoseconds, so waiters spin first.
//
// Who may call it
//   Code on an M inside the runtime (signals wait there), sysmon, and threads that are not Gs with
//   all signals blocked: a handler that interrupted a holder must not come back for the same lock.
//
// Memory orders
//   [note]  wake: exchange-acq_rel  ->  sleep: load-acquire. What the waker wrote is seen.
//   [lock]  unlock: exchange-acq_rel ->  lock: cas-acquire / exchange-acq_rel.
#pragma once
#include "arch/x86_64.h"
#include "base/atomic.h"
#include "os/syscall.h"

namespace gmpt::os {

inline i64 futex_wait(Atomic<u32>* a, u32 val, u64 timeout_ns = kNever) {
  if (timeout_ns == kNever) return sys(__NR_futex, a, 128 /* WAIT|PRIVATE */, val, 0);
  Ts t = to_ts(timeout_ns);
  return sys(__NR_futex, a, 128, val, &t);
}
inline i64 futex_wake(Atomic<u32>* a, int n) { return sys(__NR_futex, a, 129 /* WAKE|PRIVATE */, n); }

class Note {
 public:
  void clear() { w_.store_relaxed(0); }
  void wake() {
    if (w_.exchange_acq_rel(1) == 0) futex_wake(&w_, 1);  // [note]
  }
  void sleep() {
    while (w_.load_acquire() == 0) futex_wait(&w_, 0);    // [note]
  }
  // True if woken, false when timeout_ns passed (or a signal came; callers loop on their own state).
  bool sleep_for(u64 timeout_ns) {
    if (w_.load_acquire()) return true;
    futex_wait(&w_, 0, timeout_ns);
    return woken();
  }
  bool woken() const { return w_.load_acquire() == 1; }
  // From a signal handler on the sleeper: its next sleep_for() returns at once, though nobody woke it. So a
  // signal between "nothing to do" and the system call is not slept over.
  void kick() {
    u32 z = 0;
    w_.cas_acq_rel(z, 2);
  }
  void clear_kick() {
    u32 k = 2;
    w_.cas_acq_rel(k, 0);
  }

 private:
  Atomic<u32> w_;
};

class Lock {
 public:
  void lock() {
    u32 z = 0;
    if (GMPT_LIKELY(w_.cas_acquire(z, 1))) return;  // [lock]
    lock_slow();
  }
  bool try_lock() {
    u32 z = 0;
    return w_.cas_acquire(z, 1);
  }
  void unlock() {
    if (GMPT_UNLIKELY(w_.exchange_acq_rel(0) == 2)) futex_wake(&w_, 1);  // [lock]
  }
  void reset() { w_.store_relaxed(0); }  // only in a forked child, which is alone

 private:
  void lock_slow();
  Atomic<u32> w_;
};

// A lock with static storage. All of them lie in one section, so that a forked child, in which the holder may
// not exist, can free them at once; a lock inside a structure is reset by the structure's owner.
#define GMPT_GLOBAL_LOCK(name) __attribute__((section("gmpt_locks"))) ::gmpt::os::Lock name
void reset_global_locks();

class Guard {
 public:
  explicit Guard(Lock& l) : l_(l) { l_.lock(); }
  ~Guard() { l_.unlock(); }
  Guard(const Guard&) = delete;

 private:
  Lock& l_;
};

}  // namespace gmpt::os
