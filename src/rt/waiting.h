// rt/waiting.h -- what rwlocks, semaphores, barriers and once share: limits, hand-off, the kernel's protocol.
//
// What it is
//   grant() gives a queued waiter what it waits for, for good. Whether a waiter was granted is decided by
//   the bit in its node, under the bucket's lock, and not by the claim: a waiter whose time runs out in
//   the same moment has to take that lock before it can leave, sees the bit, and reports success. So the
//   object is brought into its final state first and is not touched once the first grantee may run: a
//   woken thread may free it at once.
//
// Rejected
//   Claim first, then change the object: the claimed thread runs before the change and may be done with
//   the object. Change, claim, and undo what timed out: the undo touches an object that may be freed.
#pragma once
#include "core/park.h"
#include "os/clock.h"
#include "rt/self.h"

namespace gmpt::rt {

constexpr u32 kGranted = 1u << 31;      // WaitNode::bits
constexpr u64 kStarving = 1 * kMs;      // who waits longer is served by hand-off

inline void grant(core::Bucket* b, core::WaitNode* n, core::GList* l) {
  b->unlink(n);
  n->bits |= kGranted;
  core::Waiter* w = n->w;  // the node is gone once the claim is won
  core::wake_claimed(w, w->claim(n->seq, Reason::kHandoff), l);
}

inline bool starving(const core::WaitNode* n) { return n && os::now_ns() - n->since > kStarving; }

// An absolute time on a clock of the program's choice; at == null: no limit.
struct Limit {
  clockid_t clock = CLOCK_MONOTONIC;
  const struct timespec* at = nullptr;

  bool bad() const {
    return at && ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || at->tv_nsec < 0 || at->tv_nsec >= 1000000000);
  }
  // 0 when it has passed. Asked again after each timeout: CLOCK_REALTIME may have been set back.
  u64 deadline() const {
    if (!at) return kNever;
    u64 d = deadline_abs(clock, at);
    return d > os::now_ns() ? d : 0;
  }
};

// Spinning, 4 x 30 pauses as Go, helps only while the holder may be running on another processor, and costs
// some microseconds: not while others could run here instead. Inside the runtime.
constexpr int kSpins = 4, kPauses = 30;
inline bool may_spin(const Rt& rt) {
  if (!rt.g()) return true;
  return core::mm()->p->runq.empty() && core::sched.n_idle_p.load_relaxed() + 1 < core::sched.n_procs;
}

// Process-shared objects keep libc's protocol: its own function, the P on offer while it blocks.
template <class F>
inline auto kernel_call(F call) {
  if (!self()) return call();
  core::sys_begin();
  auto r = call();
  core::sys_end();
  return r;
}

}  // namespace gmpt::rt
