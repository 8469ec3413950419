// rt/epoll.cc -- epoll_wait: the program's epoll instance is itself a descriptor in the netpoller.
//
// What it is
//   Ask without waiting; if there is nothing, wait until the instance is readable, as any reader waits for
//   any descriptor, and ask again. Its events stay in it, so level, edge and one-shot are the kernel's.
//
// Invariants
//   E1  The descriptor is known as kEpollFd, so each wait registers it anew: level-triggered events that
//       were returned once and still hold make no new edge, but the registration looks at them.
//   E2  Waiters are consumers: one for each edge. Who got events wakes the next, which finds the rest or
//       waits again. That is the kernel's own chain of wake-ups for threads on one instance, and one-shot
//       events wake one thread.
//   E3  The count of edges is read before each question (core/netpoll.h, N1); the first is asked outside the runtime.
//
// Rejected
//   Watchers, as in poll: with sixteen threads on one instance each event would wake all of them.
//   Reading the instance's set and waiting for its members: the kernel does not tell what is in it.
//
// Limits
//   Instances may nest five deep; ours on top takes one level away once somebody has waited. A wait that is
//   refused for that reason blocks in the kernel.
//
// Proof and tests   tests/posix/epoll.c
#include "rt/epoll.h"

#include "core/netpoll.h"
#include "rt/usermem.h"

namespace gmpt::rt {

namespace {

// A descriptor that came by dup or over a socket may be known without being known as what it is.
core::PollDesc* desc_of(int fd) {
  core::PollDesc* pd = core::fd_desc(fd);
  if (pd && !(pd->flags.load_relaxed() & core::kEpollFd)) pd->flags.fetch_or_acq_rel(core::kEpollFd);
  return pd;
}

i64 ask(int ep, epoll_event* events, int max) { return os::sys(__NR_epoll_pwait, ep, events, max, 0, 0, 8); }

i64 blocking_call(int ep, epoll_event* events, int max, const os::Ts* t, const u64* mask) {
  i64 got = os::sys(441 /* epoll_pwait2 */, ep, events, max, t, mask, 8);
  if (got != -os::kENOSYS) return got;
  // Before Linux 5.11: whole milliseconds, rounded up so as not to be early, and at most 24 days: after
  // that it counts as an interruption without a handler, and the wait goes on.
  constexpr u64 kMost = 0x7fffffff;
  u64 ms = t ? (static_cast<u64>(t->tv_sec) * kSec + static_cast<u64>(t->tv_nsec) + kMs - 1) / kMs : kMost;
  got = os::sys(__NR_epoll_pwait, ep, events, max, t ? static_cast<i64>(min_of(ms, kMost)) : -1, mask, 8);
  return got == 0 && ms > kMost ? -os::kEINTR : got;
}

// asked: there was nothing, at an edge count of *asked.
i64 rounds(Rt& rt, int ep, epoll_event* events, int max, u64 limit, const u32* asked) {
  int fd = ep;
  core::PollNode node;
  core::PollDesc* pd = desc_of(fd);
  if (!pd) return kRefused;
  i64 r = 0;
  for (Reason why = Reason::kNone;;) {
    u32 seen = asked ? *asked : core::fd_edge(pd, core::kIn);
    if (!asked) r = ask(fd, events, max);
    asked = nullptr;
    if (r != 0) break;
    if (why == Reason::kTimeout) break;
    if (why == Reason::kInterrupted || why == Reason::kClosed) {
      r = why == Reason::kClosed ? kRefused : -os::kEINTR;
      break;
    }
    node.fd = fd;
    why = core::fd_wait(rt, pd, &node, fd, core::kIn, seen, limit, Why::kEpoll);
    if (node.fd != fd) {  // closed meanwhile: the wait goes on, as the call holds the open file
      fd = node.fd;
      pd = desc_of(fd);
    }
  }
  if (r > 0 && core::fd_has_waiters(pd, core::kIn)) core::fd_pass_on(rt, pd, core::kIn);
  if (fd != ep) core::fd_release(&node);
  return r;
}

}  // namespace

i64 epoll_wait(int ep, epoll_event* events, int max, u64 limit, const u64* mask) {
  cancellation_point();
  if (limit == kBadDeadline) return -os::kEINVAL;
  if (mask && !readable(mask, sizeof *mask)) return -os::kEFAULT;
  core::PollDesc* pd = ep >= 0 ? core::fd_desc(ep) : nullptr;
  u32 edge = pd ? core::fd_edge(pd, core::kIn) : 0;
  i64 r = ask(ep, events, max);
  if (r != 0 || limit == 0) return r;  // unlike poll, epoll without waiting does not look at signals
  const u32* asked = &edge;
  G* g = self();
  Signals sig(g, mask);
  do {
    {
      Rt rt(g);
      sig.begin();
      r = rounds(rt, ep, events, max, limit, asked);
      asked = nullptr;
      sig.end(r);
    }
    if (r == kRefused) r = sig.block(limit, [&](os::Ts* t, u64* m) { return blocking_call(ep, events, max, t, m); });
  } while (!sig.over(r));
  return r;
}

}  // namespace gmpt::rt
