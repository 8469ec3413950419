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
//   C3  Who destroys one on which threads still wait, waits for them, as in glibc: in the same bucket, under the
//       object's address plus 1. Whoever takes the last one out wakes it and touches the object no more.
//   C4  A handler that runs in the middle of a wait does not end it, as in glibc: the thread's stand-in keeps its place,
//       and a signal that comes meanwhile is the stand-in's, and so the thread's when it is back.
//
// Memory orders
//   [count]  waiter: count++ (bucket lock), mutex release  ->  signaller: mutex acquire or any other
//            happens-before; then load-relaxed.
//
// Process-shared ones
//   With a process-shared mutex: the real functions. With a private mutex all who wait are in this process:
//   they wait here, and are counted in one word for all such objects; who wakes looks here first.
//
// Mutexes that keep the kernel's protocol (rt/mutex.h) are released and taken back by the real functions.
//
// Rejected
//   Requeueing waiters on the mutex at a broadcast: each woken waiter finds the mutex by its own; with
//   waking in order and runnext the convoy costs one bounce per thread, and the object needs no link to
//   its mutex.
#include "rt/cond.h"

#include "core/park.h"
#include "core/signal.h"
#include "rt/kerneltid.h"
#include "rt/thread.h"
#include "rt/waiting.h"

namespace gmpt::rt {

namespace {

enum : u32 { kShared = 1, kMonotonic = 2, kDestroying = 4 };

struct Words {
  Atomic<u32> waiters;
  u32 unused[8];
  u32 flags;   // __wrefs in glibc's layout
  u32 rest[2];
};
static_assert(sizeof(Words) == sizeof(pthread_cond_t));
static_assert(offsetof(Words, flags) == offsetof(pthread_cond_t, __data.__wrefs));

Words* words(pthread_cond_t* c) { return reinterpret_cast<Words*>(c); }

Atomic<u32> on_shared;  // who waits here on process-shared ones

bool shared(const Words* w) { return w->flags & kShared; }

const u8* destroyer_key(const Words* w) { return reinterpret_cast<const u8*>(w) + 1; }

// Under the bucket's lock, which serves the words in the objects but not the common one.
void one_more(Words* w) {
  if (GMPT_UNLIKELY(shared(w))) on_shared.fetch_add_acq_rel(1);
  else w->waiters.store_relaxed(w->waiters.load_relaxed() + 1);
}

void one_less(Words* w, core::Bucket* b, core::GList* l) {
  if (GMPT_UNLIKELY(shared(w))) {
    on_shared.fetch_sub_acq_rel(1);
    return;
  }
  bool destroying = w->flags & kDestroying;
  u32 left = w->waiters.load_relaxed() - 1;
  w->waiters.store_relaxed(left);
  if (GMPT_UNLIKELY(destroying && !left)) core::wake_locked(b, destroyer_key(w), ~0u, ~0u, l);
}

// A waiter that nobody woke takes itself out.
void leave_queue(Words* w, core::Bucket* b, core::WaitNode* n, Rt& rt) {
  core::GList l;
  b->lock.lock();
  if (n->linked) b->unlink(n), one_less(w, b, &l);
  b->lock.unlock();
  rt.ready(&l);
}

// True if it woke somebody.
bool wake_some(pthread_cond_t* c, bool all) {
  Words* w = words(c);
  if ((shared(w) ? on_shared : w->waiters).load_relaxed() == 0) return false;  // [count]
  bool any = false;
  Rt rt(self());
  core::Bucket* b = core::bucket_of(c);
  uptr key = reinterpret_cast<uptr>(c);
  core::GList l;
  b->lock.lock();
  for (core::WaitNode* n = b->first(key); n;) {
    core::WaitNode* after = b->next_of(n, key);
    b->unlink(n);
    one_less(w, b, &l);
    bool won = core::wake_claimed(n->w, n->w->claim(n->seq, Reason::kWoken), &l);
    any |= won;
    if (won && !all) break;
    n = after;
  }
  b->lock.unlock();
  rt.ready(&l);
  return any;
}

struct Frame {
  pthread_mutex_t* m;
  u32 count;
};

// Inside the runtime, but for the real function, which wants FS and lets handlers run.
// Such a mutex's hold (rt/kerneltid.h) goes on: it will be taken back on this M.
int release(Frame* f, Rt& rt) {
  pthread_mutex_t* m = f->m;
  if (GMPT_LIKELY(mutex_is_ours(m))) return mutex_release_inside(m, &f->count, rt);
  // libc's own wait keeps the waiter among the mutex's users, for pthread_mutex_destroy; its unlock takes it out.
  auto unlock = [=] {
    m->__data.__nusers++;
    int e = os::real().pthread_mutex_unlock(m);
    if (e) m->__data.__nusers--;
    return e;
  };
  if (!rt.g()) return unlock();
  core::leave();
  int e = mutex_wants_kernel_tid(m) ? with_kernel_tid(unlock) : unlock();
  core::enter();
  return e;
}

// A handler that ran meanwhile may have waited itself: then nobody can wake this wait any more.
bool still_waits(const core::Wait& w) { return w.w->word.load_acquire() >> 8 == w.seq; }

bool cancelled(G* g) { return core::cancel_due(g) || core::cancel_async(g); }

// The wait was interrupted: may the thread go and run its handler without losing its place? If not, it is out of the
// queue, and *r is how the wait ends.
bool stand_in(Words* w, core::Bucket* b, core::WaitNode* n, Rt& rt, Reason* r) {
  G* g = rt.g();
  StandIn* s = g ? &thread_of(g)->stand_in : nullptr;
  b->lock.lock();
  bool woken = !n->linked;  // by somebody whose claim came too late
  bool stands = !woken && s && !s->node.linked && !cancelled(g);  // linked: this is a handler's own wait
  if (stands) {
    s->waiter.g = nullptr;
    s->node.w = &s->waiter;
    s->node.seq = s->waiter.arm();
    b->replace(n, &s->node);
  }
  b->lock.unlock();
  if (woken) *r = Reason::kWoken;
  else if (!stands) leave_queue(w, b, n, rt);
  return stands;
}

// Back from the handler. True: the thread is in its place again.
bool take_place(Words* w, core::Bucket* b, core::WaitNode* n, const core::Wait& wait, Rt& rt, Reason* r) {
  StandIn* s = &thread_of(rt.g())->stand_in;
  bool back = false;
  core::GList l;
  b->lock.lock();
  if (!s->node.linked) {
    *r = Reason::kWoken;
  } else if (cancelled(rt.g())) {
    b->unlink(&s->node);
    one_less(w, b, &l);
  } else {
    n->w = wait.w;
    n->seq = wait.seq;
    b->replace(&s->node, n);
    back = true;
  }
  b->lock.unlock();
  rt.ready(&l);
  return back;
}

int retake(Frame* f) {
  pthread_mutex_t* m = f->m;
  if (GMPT_LIKELY(mutex_is_ours(m))) {
    mutex_cond_retake(m, f->count);
    return 0;
  }
  bool robust = mutex_is_robust(m);
  auto lock = [=] {
    int e = os::real().pthread_mutex_lock(m);
    if (e == 0 || e == EOWNERDEAD) m->__data.__nusers--;
    return e;
  };
  if (!self() || !mutex_wants_kernel_tid(m)) return kernel_call(lock);
  int e = as_kernel_thread(lock);
  if (e != 0 && e != EOWNERDEAD) hold_ends(robust);
  return e;
}

}  // namespace

int cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  int e = os::real().pthread_cond_init(c, a);  // flags, zeros: both layouts agree when nobody waits
  return e;
}

int cond_destroy(pthread_cond_t* c) {
  Words* w = words(c);
  if (shared(w)) return os::real().pthread_cond_destroy(c);
  if (GMPT_LIKELY(w->waiters.load_relaxed() == 0)) return 0;
  core::Bucket* b = core::bucket_of(destroyer_key(w));  // the object's own: the key's lowest bits do not count
  for (;;) {
    Rt rt(self());  // anew: a signal's handler may have to run
    b->lock.lock();
    w->flags |= kDestroying;
    if (w->waiters.load_relaxed() == 0) {
      b->lock.unlock();
      return 0;
    }
    core::WaitNode n;
    core::wait_on(b, &n, destroyer_key(w), rt, kNever, Why::kCond);
  }
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
  core::Bucket* b = core::bucket_of(c);
  core::WaitNode n;
  bool handler;
  {
    Rt rt(g);
    core::Wait wait(rt);
    n.key = reinterpret_cast<uptr>(c);
    n.w = wait.w;
    n.seq = wait.seq;
    b->lock.lock();
    b->push(&n);
    one_more(w);
    b->lock.unlock();
    // Releasing may have to wake the mutex's next owner; it nests in this visit of the runtime.
    if (int e = release(&f, rt)) {
      leave_queue(w, b, &n, rt);
      wait.cancel();
      return e;
    }
    r = GMPT_LIKELY(still_waits(wait)) ? wait.block(deadline, Why::kCond, c) : Reason::kInterrupted;
    if (r == Reason::kTimeout) leave_queue(w, b, &n, rt);
    handler = r == Reason::kInterrupted && stand_in(w, b, &n, rt, &r);
  }
  while (GMPT_UNLIKELY(handler)) {  // it has run, on the way out
    Rt rt(g);
    core::Wait wait(rt);
    handler = false;
    if (!take_place(w, b, &n, wait, rt, &r)) {
      wait.cancel();
      break;
    }
    r = wait.block(deadline, Why::kCond, c);
    if (r == Reason::kTimeout) leave_queue(w, b, &n, rt);
    handler = r == Reason::kInterrupted && stand_in(w, b, &n, rt, &r);
  }
  int e = retake(&f);
  // Interrupted, that is cancelled, or in a handler's wait within a wait: a spurious wake-up.
  if (r != Reason::kWoken) cancellation_point();
  // The wait may have ended because the clock was set: too early, that is a spurious wake-up as well.
  bool early = r == Reason::kTimeout && clock != CLOCK_MONOTONIC && deadline_abs(clock, t) != 0;
  return e ? e : r == Reason::kTimeout && !early ? ETIMEDOUT : 0;
}

void cond_thread_ends(G* g, bool unwound) {
  StandIn* s = &thread_of(g)->stand_in;
  if (GMPT_LIKELY(!s->node.linked)) return;
  Rt rt(g);
  auto* w = reinterpret_cast<Words*>(s->node.key);
  core::Bucket* b = core::bucket_of(w);
  core::GList l;
  b->lock.lock();
  if (s->node.linked) {
    b->unlink(&s->node);
    if (unwound) one_less(w, b, &l);  // after a longjmp, whenever that was, the object may be no more
  }
  b->lock.unlock();
  rt.ready(&l);
}

int cond_signal(pthread_cond_t* c) {
  bool woke = wake_some(c, false);
  return GMPT_UNLIKELY(!woke && shared(words(c))) ? os::real().pthread_cond_signal(c) : 0;
}

int cond_broadcast(pthread_cond_t* c) {
  if (GMPT_UNLIKELY(shared(words(c)))) os::real().pthread_cond_broadcast(c);
  wake_some(c, true);  // last: it may be destroyed once all are woken
  return 0;
}

}  // namespace gmpt::rt
