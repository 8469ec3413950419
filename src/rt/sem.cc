// rt/sem.cc -- semaphores in glibc's 64-bit layout over the wait table.
//
// What it is
//       u64  value in the low half, number of waiters in the high half
//       u32  0 private, 128 shared between processes (those stay with libc)
//
//   Both halves keep glibc's meaning, so kernel threads that are not Gs wait by libc's own sem_wait, in the
//   kernel, on the same word: a dormant program's signals and cancellation are untouched. A G waits in the
//   table. Who posts looks there first and then wakes the kernel's waiters.
//
// Invariants
//   S1  Uncontended calls are one compare-and-swap and never enter the runtime.
//   S2  A G counts itself as a waiter under its bucket's lock before it looks at the value for the last
//       time; value and count are one word, so either it sees the post or the post sees it.
//   S3  Who is granted a post (waited over 1 ms) never sees it in the value, and is no longer counted. The
//       store that publishes or grants is the poster's last access: the object may be freed.
//   S4  A waiter leaves the count before a handler or a cancellation runs.
//
// Memory orders
//   [sem] post: cas-release -> wait: cas-acquire. A grant goes through the claim ([claim]).
//
// Not here
//   Order between Gs and kernel threads that wait on one semaphore: Gs go first.
//
// Proof and tests   tests/posix/semaphore.c, pshared.c
#include "rt/sem.h"

namespace gmpt::rt {

namespace {

using core::Bucket;
using core::GList;
using core::WaitNode;

// A handler ran while we waited: 0 if the call goes on. As signal(7) has it, sem_wait goes on after handlers
// that asked for SA_RESTART, a wait with a limit never does.
int interrupted(G* g, u32 handled_before, bool timed) {
  bool handled = g->handled.load_relaxed() != handled_before;  // else it was a request of ours, such as cancel
  return handled && (timed || g->eintr) ? EINTR : 0;
}

// Waits until there is something to take. kHandoff: taken.
Reason wait_in_table(sem_t* s, Rt& rt, u64 deadline, u64* began) {
  Bucket* b = core::bucket_of(s);
  b->lock.lock();
  sem_word(s).fetch_add_acq_rel(kSemWaiter);
  for (;;) {
    if (sem_take(s, kSemWaiter)) {
      b->lock.unlock();
      return Reason::kHandoff;
    }
    WaitNode n;
    n.bits = 1;
    bool again = *began != 0;  // it keeps its place
    if (!again) *began = os::now_ns();
    n.since = *began;
    Reason r = core::wait_on(b, &n, s, rt, deadline, Why::kSem, again);
    if (n.bits & kGranted) return Reason::kHandoff;
    if (r != Reason::kWoken) {
      sem_word(s).fetch_sub_acq_rel(kSemWaiter);
      return r;
    }
    b->lock.lock();
  }
}

}  // namespace

GMPT_NOINLINE int sem_wait_slow(sem_t* s, Limit limit) {
  G* g = self();
  g->eintr = false;
  u32 handled = g->handled.load_relaxed();
  u64 began = 0;
  for (;;) {
    u64 deadline = limit.deadline();
    if (deadline == 0) return sem_take(s) ? 0 : ETIMEDOUT;
    Reason r;
    {
      Rt rt(g);
      // Looked at where no handler can run any more before the wait begins.
      if (int e = interrupted(g, handled, limit.at != nullptr)) return e;
      r = wait_in_table(s, rt, deadline, &began);
    }
    if (r == Reason::kHandoff) return 0;
    cancellation_point();
  }
}

GMPT_NOINLINE int sem_post_slow(sem_t* s) {
  Rt rt(self());
  Bucket* b = core::bucket_of(s);
  GList l;
  bool to_kernel = false;
  b->lock.lock();
  WaitNode* n = b->first(reinterpret_cast<uptr>(s));
  if (starving(n)) {
    sem_word(s).fetch_sub_acq_rel(kSemWaiter);
    grant(b, n, &l);
  } else {
    u64 d = sem_word(s).load_relaxed();
    do {
      if (sem_value(d) == SEM_VALUE_MAX) {
        b->lock.unlock();
        return EOVERFLOW;
      }
    } while (!sem_word(s).cas_release(d, d + 1));  // [sem]
    to_kernel = core::wake_locked(b, s, 1, ~0u, &l) == 0;
  }
  b->lock.unlock();
  rt.ready(&l);
  // The address may be another object's by now; a futex wake that nobody expects is allowed to happen.
  if (to_kernel) os::futex_wake(reinterpret_cast<Atomic<u32>*>(s), 1);
  return 0;
}

}  // namespace gmpt::rt
