// rt/cond.cc -- condition variables over the wait table.
//
// What it is
//   A private one is a count of waiters (word 0) and the flag word where glibc keeps it (bit 0 process-
//   shared, bit 1 monotonic clock). Waiting queues the thread in the bucket of the object before the mutex
//   is released, so no signal in between is lost and no sequence numbers are needed.
//
// Invariants
//   C1  The count is changed under the bucket's lock by the waiter that queues itself and by whoever takes a
//       waiter out. A signaller that reads 0 without the lock has nobody to wake: a waiter that released
//       the mutex to it counted itself before.
//   C2  A woken waiter never touches the object again: it may be destroyed as soon as all are woken.
//
// Memory orders
//   [count]  waiter: count++ (bucket lock), mutex release  ->  signaller: mutex acquire or any other
//            happens-before; then load-relaxed.
//
// Not here
//   Process-shared ones: the real functions (their mutex is process-shared as well).
//
// Rejected
//   Requeueing waiters on the mutex at a broadcast: each woken waiter finds the mutex by its own; with
//   waking in order and runnext the convoy costs one bounce per thread, and the object needs no link to
//   its mutex.
#include "rt/cond.h"

#include "core/park.h"

namespace gmpt::rt {

namespace {

enum : u32 { kShared = 1, kMonotonic = 2 };

struct Words {
  Atomic<u32> waiters;
  u32 unused[8];
  u32 flags;   // __wrefs in glibc's layout
  u32 rest[2];
};
static_assert(sizeof(Words) == sizeof(pthread_cond_t));
static_assert(offsetof(Words, flags) == offsetof(pthread_cond_t, __data.__wrefs));

Words* words(pthread_cond_t* c) { return reinterpret_cast<Words*>(c); }

void count_down(Words* w) { w->waiters.store_relaxed(w->waiters.load_relaxed() - 1); }

int wake_some(pthread_cond_t* c, bool all) {
  Words* w = words(c);
  if (w->waiters.load_relaxed() == 0) return 0;  // [count]
  Rt rt(self());
  core::Bucket* b = core::bucket_of(c);
  uptr key = reinterpret_cast<uptr>(c);
  core::GList l;
  b->lock.lock();
  for (core::WaitNode* n = b->first(key); n;) {
    core::WaitNode* after = b->next_of(n, key);
    b->unlink(n);
    count_down(w);
    bool won = core::wake_claimed(n->w, n->w->claim(n->seq, Reason::kWoken), &l);
    if (won && !all) break;
    n = after;
  }
  b->lock.unlock();
  rt.ready(&l);
  return 0;
}

struct Frame {
  pthread_mutex_t* m;
  u32 count;
};

void retake(void* p) {
  Frame* f = static_cast<Frame*>(p);
  mutex_cond_retake(f->m, f->count);
}

}  // namespace

int cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  int e = os::real().pthread_cond_init(c, a);  // flags, zeros: both layouts agree when nobody waits
  return e;
}

int cond_destroy(pthread_cond_t* c) {
  if (words(c)->flags & kShared) return os::real().pthread_cond_destroy(c);
  return 0;
}

int cond_wait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t, clockid_t clock) {
  Words* w = words(c);
  if (clock < 0) clock = w->flags & kMonotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  u64 deadline = kNever;
  if (t) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    deadline = deadline_abs(clock, t);
    if (deadline == kBadDeadline) return EINVAL;
  }
  Frame f{m, 0};
  G* g = self();
  cancellation_point();
  Reason r;
  {
    Rt rt(g);
    core::Bucket* b = core::bucket_of(c);
    core::WaitNode n;
    core::Wait wait(rt);
    n.key = reinterpret_cast<uptr>(c);
    n.w = wait.w;
    n.seq = wait.seq;
    b->lock.lock();
    b->push(&n);
    w->waiters.store_relaxed(w->waiters.load_relaxed() + 1);
    b->lock.unlock();
    // Releasing may have to wake the mutex's next owner; it nests in this visit of the runtime.
    if (int e = mutex_release_inside(m, &f.count, rt)) {
      b->lock.lock();
      if (n.linked) b->unlink(&n), count_down(w);
      b->lock.unlock();
      wait.cancel();
      return e;
    }
    r = wait.block(deadline, Why::kCond, c);
    if (r == Reason::kTimeout || r == Reason::kInterrupted) {
      b->lock.lock();
      if (n.linked) b->unlink(&n), count_down(w);
      b->lock.unlock();
    }
  }
  retake(&f);
  // An interruption ran a handler and returns as a spurious wake-up: a signal sent during the handler
  // found no waiter here, so waiting on could miss it.
  if (r != Reason::kWoken) cancellation_point();
  return r == Reason::kTimeout ? ETIMEDOUT : 0;
}

int cond_signal(pthread_cond_t* c) {
  if (words(c)->flags & kShared) return os::real().pthread_cond_signal(c);
  return wake_some(c, false);
}

int cond_broadcast(pthread_cond_t* c) {
  if (words(c)->flags & kShared) return os::real().pthread_cond_broadcast(c);
  return wake_some(c, true);
}

}  // namespace gmpt::rt
