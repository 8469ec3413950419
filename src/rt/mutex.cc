// rt/mutex.cc -- normal, recursive, errorcheck and adaptive mutexes over the wait table.
//
// What it is
//   glibc's words: __lock 0 free, 1 held, 2 held and waited for; __owner, __count, __nusers, __kind as glibc
//   keeps them, so that code inside libc that meets the same mutex agrees.
//
// Invariants
//   M1  The uncontended paths are one compare-and-swap and never enter the runtime.
//   M2  A waiter sets __lock to 2 under its bucket's lock, and an unlock that finds 2 gives it up under
//       that lock: no wake-up is lost. The store of 0 is the unlocker's last access to the mutex, which
//       may be freed by the next owner.
//   M3  A waiter older than 1 ms is given the mutex directly (__lock stays 2): nobody starves.
//   M4  Who waits for a condition stays in __nusers, as in glibc: pthread_mutex_destroy says EBUSY meanwhile.
//
// Memory orders
//   [mutex] unlock: CAS-release / exchange-acq_rel -> lock: cas-acquire / exchange-acq_rel.
//   A hand-off passes the ordering through the claim (core/wait.h [claim]).
//
// Not here
//   Process-shared, robust and priority-protecting mutexes: the kernel's protocol, by the real functions, with the
//   P on offer to the monitor while they block. Only a real-time thread may lock a protecting one: it has an M
//   of its own, whose priority is raised (rt/kerneltid.h). Private priority-inheriting ones are locked as plain
//   ones: Gs have no priorities to lend. libc calls every robust mutex process-shared, and never looks at
//   that bit of one; we take it back from those that are private.
#include "rt/mutex.h"

#include "arch/x86_64.h"
#include "core/park.h"
#include "os/clock.h"

namespace gmpt::rt {

namespace {

enum : int { kTypeMask = 3, kRobust = 16, kPi = 32, kPp = 64, kPshared = 128 };
enum : int { kNormal = 0, kRecursive = 1, kErrorcheck = 2, kAdaptive = 3 };
constexpr u64 kStarving = 1 * kMs;

int type_of(const pthread_mutex_t* m) { return m->__data.__kind & kTypeMask; }
Atomic<u32>& word(pthread_mutex_t* m) { return *reinterpret_cast<Atomic<u32>*>(&m->__data.__lock); }

void own(pthread_mutex_t* m, i32 tid) {
  m->__data.__owner = tid;
  m->__data.__nusers++;
}

bool try_word(pthread_mutex_t* m) {
  u32 z = 0;
  return word(m).cas_acquire(z, 1);  // [mutex]
}

// Spins while a holder on another CPU may be about to let go: 4 x 30 pauses, as Go.
bool spin(pthread_mutex_t* m, G* g) {
  if (core::sched.n_procs < 2 && g) return false;
  if (g) {
    if (core::sched.n_idle_p.load_relaxed() + 1 >= core::sched.n_procs) return false;  // the holder is not running
    core::P* p = core::mm()->p;
    if (p && !p->runq.empty()) return false;  // others could use the time; the holder may be among them
  }
  for (int i = 0; i < 4; i++) {
    arch::spin(30);
    if (word(m).load_relaxed() == 0 && try_word(m)) return true;
  }
  return false;
}

// Contended. 0, ETIMEDOUT or EINTR-like retry inside.
GMPT_NOINLINE int lock_slow(pthread_mutex_t* m, u64 deadline) {
  G* g = self();
  if (spin(m, g)) return 0;
  u64 began = 0;
  for (;;) {
    Rt rt(g);
    core::Bucket* b = core::bucket_of(m);
    core::WaitNode n;
    b->lock.lock();
    if (word(m).exchange_acq_rel(2) == 0) {  // [mutex] 2 although nobody may wait: the unlock then only looks
      b->lock.unlock();
      return 0;
    }
    if (!began) began = os::now_ns();
    n.since = began;
    Reason r = core::wait_on(b, &n, m, rt, deadline, Why::kMutex, began != 0 && os::now_ns() - began > kStarving);
    if (r == Reason::kHandoff) return 0;
    if (r == Reason::kTimeout) return ETIMEDOUT;
  }
}

void give_up_word(pthread_mutex_t* m, Rt& rt) {
  core::Bucket* b = core::bucket_of(m);
  uptr key = reinterpret_cast<uptr>(m);
  core::GList l;
  b->lock.lock();
  core::WaitNode* n = b->first(key);
  if (n && os::now_ns() - n->since > kStarving) {
    // Direct hand-off: the word stays 2 and belongs to the oldest waiter.
    for (; n; n = b->first(key)) {
      b->unlink(n);
      if (core::wake_claimed(n->w, n->w->claim(n->seq, Reason::kHandoff), &l)) break;
    }
    if (!n) word(m).store_release(0);  // all had timed out
  } else {
    word(m).store_release(0);  // [mutex]
    if (n) core::wake_locked(b, m, 1, ~0u, &l);
  }
  b->lock.unlock();
  rt.ready(&l);
}

GMPT_NOINLINE void unlock_slow(pthread_mutex_t* m) {
  Rt rt(self());
  give_up_word(m, rt);
}

int lock_word(pthread_mutex_t* m, u64 deadline) { return GMPT_LIKELY(try_word(m)) ? 0 : lock_slow(m, deadline); }

void unlock_word(pthread_mutex_t* m) {
  u32 one = 1;
  if (GMPT_LIKELY(word(m).cas_release(one, 0))) return;  // [mutex]
  unlock_slow(m);
}

}  // namespace

bool mutex_is_ours(const pthread_mutex_t* m) { return !(m->__data.__kind & (kPshared | kRobust | kPp)); }

void mutex_init_fix(pthread_mutex_t* m, const pthread_mutexattr_t* a) {
  int k = m->__data.__kind, shared = PTHREAD_PROCESS_PRIVATE;
  if (a) pthread_mutexattr_getpshared(a, &shared);
  if (shared == PTHREAD_PROCESS_SHARED) return;
  if (k & kRobust) m->__data.__kind = k & ~(kPshared | kPi);
}

int mutex_lock(pthread_mutex_t* m, u64 deadline) {
  int type = type_of(m);
  if (GMPT_LIKELY(type == kNormal || type == kAdaptive)) {
    if (int e = lock_word(m, deadline)) return e;
    own(m, self_tid());
    return 0;
  }
  i32 me = self_tid();
  if (m->__data.__owner == me) {
    if (type == kErrorcheck) return EDEADLK;
    if (m->__data.__count + 1 == 0) return EAGAIN;
    m->__data.__count++;
    return 0;
  }
  if (int e = lock_word(m, deadline)) return e;
  own(m, me);
  if (type == kRecursive) m->__data.__count = 1;
  return 0;
}

int mutex_trylock(pthread_mutex_t* m) {
  int type = type_of(m);
  i32 me = self_tid();
  if (type == kRecursive && m->__data.__owner == me) {
    if (m->__data.__count + 1 == 0) return EAGAIN;
    m->__data.__count++;
    return 0;
  }
  if (!try_word(m)) return EBUSY;
  own(m, me);
  if (type == kRecursive) m->__data.__count = 1;
  return 0;
}

int mutex_unlock(pthread_mutex_t* m) {
  int type = type_of(m);
  if (type == kRecursive) {
    if (m->__data.__owner != self_tid()) return EPERM;
    if (--m->__data.__count != 0) return 0;
  } else if (type == kErrorcheck) {
    if (m->__data.__owner != self_tid() || word(m).load_relaxed() == 0) return EPERM;
  }
  m->__data.__owner = 0;
  m->__data.__nusers--;
  unlock_word(m);
  return 0;
}

int mutex_release_inside(pthread_mutex_t* m, u32* count, Rt& rt) {
  int type = type_of(m);
  if ((type == kErrorcheck || type == kRecursive) && m->__data.__owner != self_tid()) return EPERM;
  *count = m->__data.__count;
  m->__data.__count = 0;
  m->__data.__owner = 0;
  u32 one = 1;
  if (!word(m).cas_release(one, 0)) give_up_word(m, rt);  // [mutex]
  return 0;
}

void mutex_cond_retake(pthread_mutex_t* m, u32 count) {
  lock_word(m, kNever);
  m->__data.__owner = self_tid();
  if (type_of(m) == kRecursive) m->__data.__count = count;
}

}  // namespace gmpt::rt
