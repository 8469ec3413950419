// rt/barrier.cc -- barriers in glibc's layout over the wait table.
//
// What it is
//   All words are used under the bucket's lock: who comes to a barrier waits anyway. The last to come
//   grants the round to the queue and begins the next.
//
// Invariants
//   B1  A granted thread does not touch the object again, so it may be destroyed and freed as soon as one
//       thread returns.
//   B2  A thread whose wait was interrupted is not in the queue while its signal handler runs, but has
//       come. The last to come counts those who are missing from the queue in `behind`; they take
//       themselves off when they are back, and destroy waits for them.
//
// Memory orders
//   The bucket's lock, and the claim ([claim]).
//
// Proof and tests   tests/posix/barrier.c, pshared.c
#include "rt/barrier.h"

namespace gmpt::rt {

namespace {

using core::Bucket;
using core::GList;
using core::WaitNode;

// glibc's struct pthread_barrier.
struct Words {
  u32 in;      // how many have come this round
  u32 round;
  u32 count;   // once
  i32 shared;  // once: 0 or 128
  u32 behind;  // glibc's `out`: granted, but still to come back from a signal handler
};

Words* words(pthread_barrier_t* b) { return reinterpret_cast<Words*>(b); }
static_assert(sizeof(Words) <= sizeof(pthread_barrier_t));

enum : u32 { kComes = 1, kDestroys = 2 };  // WaitNode::bits

bool all_left(const Words* w) { return w->in == 0 && w->behind == 0; }

void grant_all(Bucket* b, const Words* w, u32 who, GList* l) {
  uptr key = reinterpret_cast<uptr>(w);
  for (WaitNode *n = b->first(key), *after; n; n = after) {
    after = b->next_of(n, key);
    if (n->bits & who) grant(b, n, l);
  }
}

// The round is complete: everybody in the queue may go.
void complete(Bucket* b, Words* w, GList* l) {
  u32 queued = 0;
  uptr key = reinterpret_cast<uptr>(w);
  for (WaitNode* n = b->first(key); n; n = b->next_of(n, key)) queued += (n->bits & kComes) != 0;
  w->behind += w->in - 1 - queued;
  w->in = 0;
  w->round++;
  grant_all(b, w, all_left(w) ? kComes | kDestroys : kComes, l);
}

// Waits on a locked bucket, which is unlocked then. True: granted.
bool wait_for_grant(Bucket* b, const Words* w, u32 who, Rt& rt) {
  WaitNode n;
  n.bits = who;
  core::wait_on(b, &n, w, rt, kNever, Why::kBarrier);
  return n.bits & kGranted;
}

}  // namespace

bool barrier_is_ours(const pthread_barrier_t* b) { return reinterpret_cast<const Words*>(b)->shared == 0; }

int barrier_wait(pthread_barrier_t* bar) {
  Words* w = words(bar);
  Bucket* b = core::bucket_of(w);
  bool come = false;
  u32 round = 0;
  for (;;) {  // once more after each signal handler
    Rt rt(self());
    GList l;
    b->lock.lock();
    if (!come) {
      come = true;
      round = w->round;
      if (++w->in == w->count) {
        complete(b, w, &l);
        b->lock.unlock();
        rt.ready(&l);
        return PTHREAD_BARRIER_SERIAL_THREAD;
      }
    } else if (w->round != round) {
      w->behind--;
      if (all_left(w)) grant_all(b, w, kDestroys, &l);
      b->lock.unlock();
      rt.ready(&l);
      return 0;
    }
    if (wait_for_grant(b, w, kComes, rt)) return 0;
  }
}

// As glibc's, it waits for threads that are still inside.
int barrier_destroy(pthread_barrier_t* bar) {
  Words* w = words(bar);
  Bucket* b = core::bucket_of(w);
  for (;;) {
    Rt rt(self());
    b->lock.lock();
    if (all_left(w)) {
      b->lock.unlock();
      return 0;
    }
    if (wait_for_grant(b, w, kDestroys, rt)) return 0;
  }
}

}  // namespace gmpt::rt
