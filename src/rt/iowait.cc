// rt/iowait.cc -- what happens after EAGAIN.
//
// Invariants
//   The program's O_NONBLOCK decides what it sees, and is read, never written. What is remembered of it
//   counts only for descriptors that no other process and no other number can change (fd_private).
#include "os/clock.h"
#include "rt/io.h"

namespace gmpt::rt {

using namespace core;

bool timeouts_in_use, low_water_in_use;

bool fd_nonblocking(int fd, PollDesc* pd) {
  u32 f = pd ? pd->flags.load_acquire() : 0;
  bool ours = pd && fd_private(pd);
  if (ours && (f & kNbKnown)) return f & kNb;
  i64 fl = os::sys(__NR_fcntl, fd, F_GETFL);
  bool nb = fl >= 0 && (fl & O_NONBLOCK);
  if (ours && fl >= 0) {
    if (nb) pd->flags.fetch_or_acq_rel(kNb | kNbKnown);
    else pd->flags.fetch_or_acq_rel(kNbKnown);
  }
  return nb;
}

namespace {

u64 socket_timeout(int fd, PollDesc* pd, Dir dir) {
  u32 f = pd->flags.load_relaxed();
  if ((f & kSeen) && !timeouts_in_use && pd->era.load_relaxed() == fork_era.load_relaxed()) return kNever;
  if ((f & kTypeKnown) && !(f & kSocket)) return kNever;
  struct timeval tv = {0, 0};
  socklen_t len = sizeof tv;
  if (os::sys(__NR_getsockopt, fd, SOL_SOCKET, dir == kIn ? SO_RCVTIMEO : SO_SNDTIMEO, &tv, &len) < 0) return kNever;
  u64 us = static_cast<u64>(tv.tv_sec) * 1000000 + static_cast<u64>(tv.tv_usec);
  return us ? os::now_ns() + us * kUs : kNever;
}

}  // namespace

Blocked::Blocked(int fd, Dir dir, Why why) : fd_(fd), dir_(dir), why_(why), pd_(fd_desc(fd)) { }

Blocked::~Blocked() {
  if (moved_) fd_release(&node_);
}

i64 Blocked::wait(u32 seen, bool tried) {
  if (!pd_) return kMustBlock;
  if (fd_nonblocking(fd_, pd_)) {
    return tried ? -EAGAIN : 0;  // not tried: the kernel knows the exact answer
  }
  cancellation_point();
  if (!deadline_) deadline_ = socket_timeout(fd_, pd_, dir_);
  G* g = self();
  g->eintr = false;
  Reason r;
  {
    Rt rt(g);
    r = fd_wait(rt, pd_, &node_, fd_, dir_, seen, deadline_, why_);
    if (node_.fd >= 0 && node_.fd != fd_) {  // closed under us: the open file lives on under another number
      fd_ = node_.fd;
      pd_ = node_.pd;
      moved_ = true;
    }
  }
  if (r == Reason::kInterrupted) cancellation_point();  // a woken one makes its attempt first (core/netpoll.h N3)
  switch (r) {
    case Reason::kTimeout: return -EAGAIN;
    case Reason::kClosed: return kMustBlock;
    case Reason::kInterrupted: return g->eintr || deadline_ != kNever ? -EINTR : 0;  // SO_*TIMEO calls never restart
    default: return 0;
  }
}

void Blocked::done() {
  if (GMPT_LIKELY(!pd_ || !fd_has_waiters(pd_, dir_))) return;
  Rt rt(self());
  fd_pass_on(rt, pd_, dir_);
}

}  // namespace gmpt::rt
