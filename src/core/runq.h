// core/runq.h -- the run queue of one P: a fixed ring, one producer, many consumers, and runnext.
//
// What it is
//   The owner of the P pushes and pops; any M may take half. A full ring makes push() return false; the
//   caller then moves half to the global queue (find.cc: runq_put). runnext is a slot in front of the
//   ring for the G just readied: it runs next and inherits the slice.
//
// Who touches what
//     head_   advanced by whoever consumes (CAS)       read by all
//     tail_   stored by the owner only                 read by all
//     slot_   stored by the owner only                 read by owner; by thieves, tentatively
//     next    made non-null by the owner, null by anyone (CAS)
//
// Invariants
//     I1  tail - head <= kCap, in unsigned arithmetic
//     I2  a G is in at most one queue, and kRunnable while it is here
//     I3  each index is consumed once: by the one who moved head past it
//
// Memory orders
//     [publish]  push: tail store-release   ->  steal: tail load-acquire
//                Seeing index i means seeing slot i and all the waker wrote to that G.
//     [retire]   pop, steal: head CAS-release  ->  steal: head load-acquire, before tail
//                A thief's head is never newer than its tail, so tail - head cannot go below zero.
//     [reuse]    steal: head CAS-release    ->  push: head load-acquire
//                The slot was read before it is overwritten.
//     [guess]    steal: slot load-relaxed: counts only if the CAS succeeds. An old head with a new tail
//                may exceed half of kCap: retry, do not clamp.
//
// Proof and tests   tests/model/runq.pml   tests/unit/runq_test.cc
// Lineage           Go runtime runqput, runqget, runqgrab
#pragma once
#include "base/atomic.h"
#include "core/g.h"

namespace gmpt::core {

class RunQueue {
 public:
  static constexpr u32 kCap = 256;
  Atomic<G*> next{nullptr};

  bool push(G* gp) {
    u32 h = head_.load_acquire();        // [reuse]
    u32 t = tail_.load_relaxed();
    if (t - h >= kCap) return false;
    slot_[t % kCap].store_relaxed(gp);   // [guess]
    tail_.store_release(t + 1);          // [publish]
    return true;
  }

  G* pop() {
    for (;;) {
      u32 h = head_.load_acquire();
      if (h == tail_.load_relaxed()) return nullptr;
      G* gp = slot_[h % kCap].load_relaxed();
      if (head_.cas_release(h, h + 1)) return gp;  // [retire]
    }
  }

  G* take_next() {
    G* n = next.load_relaxed();
    return n && next.cas_acq_rel(n, nullptr) ? n : nullptr;
  }

  // Owner, ring full: takes the older half off into *out. False if thieves made room meanwhile.
  bool pop_half(GList* out) {
    u32 h = head_.load_acquire();
    if (tail_.load_relaxed() - h != kCap) return false;
    G* batch[kCap / 2];
    for (u32 i = 0; i < kCap / 2; i++) batch[i] = slot_[(h + i) % kCap].load_relaxed();
    if (!head_.cas_release(h, h + kCap / 2)) return false;  // [retire]
    for (G* gp : batch) out->push(gp);
    return true;
  }

  // Owner: as many of the list as fit.
  void push_list(GList* l) {
    u32 h = head_.load_acquire(), t = tail_.load_relaxed();
    for (; !l->empty() && t - h < kCap; t++) slot_[t % kCap].store_relaxed(l->pop());
    tail_.store_release(t);              // [publish]
  }

  // Thief owning `to` (whose ring is empty): takes half of this ring. Returns the oldest, to run (Go: the youngest), the
  // rest is in `to`. Null if there was nothing.
  G* steal_into(RunQueue* to) {
    u32 t0 = to->tail_.load_relaxed();
    for (;;) {
      u32 h = head_.load_acquire();      // [retire]
      u32 t = tail_.load_acquire();      // [publish]
      u32 n = t - h;
      n -= n / 2;
      if (n == 0) return nullptr;
      if (n > kCap / 2) continue;        // [guess]
      G* oldest = slot_[h % kCap].load_relaxed();
      for (u32 i = 1; i < n; i++) to->slot_[(t0 + i - 1) % kCap].store_relaxed(slot_[(h + i) % kCap].load_relaxed());
      if (!head_.cas_release(h, h + n)) continue;  // [retire] [reuse]
      if (n > 1) to->tail_.store_release(t0 + n - 1);  // [publish]
      return oldest;
    }
  }

  u32 size() const { return tail_.load_acquire() - head_.load_acquire(); }

  // Re-reads tail after head and next: a kick of next into the ring must not be seen as empty.
  bool empty() const {
    for (;;) {
      u32 h = head_.load_acquire(), t = tail_.load_acquire();
      G* n = next.load_acquire();
      if (t == tail_.load_acquire()) return h == t && !n;
    }
  }

 private:
  GMPT_CACHE_ALIGNED Atomic<u32> head_;
  GMPT_CACHE_ALIGNED Atomic<u32> tail_;
  Atomic<G*> slot_[kCap];
};

}  // namespace gmpt::core
