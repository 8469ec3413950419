// rt/schedattr.cc -- policy, priority and niceness in one call, as sched_setattr(2) has them.
//
// What it is
//   What the older calls know goes where they go (policy.h, kstate.h), so all of them tell the same. The rest (deadlines,
//   a slice of its own, clamps) is set on the M that the thread then keeps.
//
// Invariants
//   A1  Attributes that are in force already change nothing and bind nobody: thread pools copy their maker's.
#include "rt/schedattr.h"

#include <errno.h>
#include <sched.h>

#include "base/mem.h"
#include "rt/kstate.h"
#include "rt/policy.h"
#include "rt/usermem.h"

namespace gmpt::rt {

namespace {

struct Attr {
  u32 size, policy;
  u64 flags;
  i32 nice;
  u32 priority;
  u64 runtime, deadline, period;
  u32 util_min, util_max;
};
constexpr i64 kSetattr = 314, kGetattr = 315;
constexpr u32 kFirstSize = 48;
constexpr u64 kResetOnFork = 1, kKeepPolicy = 8, kKeepParams = 16;

i64 kernel_get(i32 tid, Attr* a) { return os::sys(kGetattr, tid, a, sizeof *a, 0); }

bool fair(u32 policy) { return policy == SCHED_OTHER || policy == SCHED_BATCH; }

// The thread's own view over the kernel's.
void overlay(G* g, Attr* a) {
  Thread* t = thread_of(g);
  bool known = a->policy <= SCHED_RR || a->policy == SCHED_BATCH || a->policy == SCHED_IDLE;
  if (!known) return;  // a deadline: the kernel's alone
  a->policy = static_cast<u32>(t->policy);
  a->priority = static_cast<u32>(t->priority);
  a->nice = fair(a->policy) ? nice_get(g) : 0;
  a->flags &= ~kResetOnFork;
}

}  // namespace

i64 sched_attr_set(G* g, void* attr, u32 flags) {
  Attr a{};
  u32 size = readable(attr, 4) ? *static_cast<u32*>(attr) : 0;
  if (size == 0) size = kFirstSize;
  // What is wrong with it only the kernel knows; it refuses this for whatever thread.
  if (size < kFirstSize || size > kPage || !readable(attr, size) || flags) return os::sys(kSetattr, 0, attr, flags);
  memcpy(&a, attr, min_of(size, static_cast<u32>(sizeof a)));
  Thread* t = thread_of(g);
  Attr now{};
  if (i64 e = kernel_get(kernel_tid(g), &now)) return e;
  overlay(g, &now);
  if (a.flags & kKeepPolicy) a.policy = now.policy;
  bool keeps = a.flags & kKeepParams;
  if (keeps) {
    a.priority = now.priority;
    a.nice = now.nice;
  }
  a.nice = a.nice < -20 ? -20 : a.nice > 19 ? 19 : a.nice;
  bool plain = size <= sizeof a && !(a.flags & ~(kResetOnFork | kKeepPolicy | kKeepParams)) && a.policy <= SCHED_IDLE &&
               (keeps || !fair(a.policy) || a.runtime == now.runtime || a.runtime == 0);
  if (!plain) {
    if (g != self()) return g->locked_m ? os::sys(kSetattr, kernel_tid(g), attr, 0) : -EPERM;
    i64 r = on_own_m([=] { return os::sys(kSetattr, 0, attr, 0); });
    if (r == 0 && a.policy <= SCHED_IDLE) policy_taken(t, static_cast<i32>(a.policy), static_cast<i32>(a.priority));
    return r;
  }
  bool same = a.policy == now.policy && a.priority == now.priority;
  if (!same && a.priority > 99) return -EINVAL;
  if (fair(a.policy) && a.priority) return -EINVAL;
  if (fair(a.policy) && a.nice != nice_get(g))
    if (i64 e = nice_set(g, a.nice)) return e == -EACCES ? -EPERM : e;
  if (same && !(a.flags & kResetOnFork)) return 0;
  int with = static_cast<int>(a.policy) | (a.flags & kResetOnFork ? SCHED_RESET_ON_FORK : 0);
  return -policy_set(g, with, static_cast<int>(a.priority));
}

i64 sched_attr_get(G* g, void* attr, u32 size, u32 flags) {
  i64 r = os::sys(kGetattr, kernel_tid(g), attr, size, flags);
  if (r == 0) overlay(g, static_cast<Attr*>(attr));
  return r;
}

}  // namespace gmpt::rt
