// rt/offer.h -- calls that block in the kernel, with the P on offer: those that are no cancellation points, and libc's own.
//
// What it is
//   offered()       a raw system call, -errno; blocking() of rt/io.h without its cancellation
//   libc_offered()  a function of libc that returns -1 and errno, and may be a cancellation point itself
//
//   In both EINTR reaches the program only if one of its handlers ran in this thread: what the runtime
//   sends to its own threads restarts nothing that signal(7) says is never restarted. A call with a
//   relative limit computes what is left inside `call`, which is run again.
#pragma once
#include "os/clock.h"
#include "rt/self.h"

namespace gmpt::rt {

template <class F>
i64 offered(F call) {
  G* g = self();
  if (!g) return call();
  for (;;) {
    u32 before = g->handled.load_relaxed();
    core::sys_begin();
    i64 r = call();
    core::sys_end();
    if (r != -EINTR || g->handled.load_relaxed() != before) return r;
  }
}

template <class F>
auto libc_offered(F call) {
  G* g = self();
  if (!g) return call();
  for (;;) {
    int saved = errno;
    u32 before = g->handled.load_relaxed();
    core::sys_begin();
    auto r = call();
    core::sys_end();
    if (r != -1 || errno != EINTR || g->handled.load_relaxed() != before) return r;
    errno = saved;
  }
}

// Calls that are no cancellation points, made of ones that are. Many are declared to throw nothing.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old_); }
  ~NoCancel() { pthread_setcancelstate(old_, nullptr); }

 private:
  int old_;
};

// What is left of a relative limit, measured from when this was made. Null and nonsense go on as they are.
class Left {
 public:
  explicit Left(const struct timespec* t) : t_(t), end_(t ? deadline_rel(t) : kNever) { }
  const struct timespec* get() {
    if (!t_ || end_ == kBadDeadline || end_ == kNever) return t_;
    u64 now = os::now_ns(), left = end_ > now ? end_ - now : 0;
    ts_.tv_sec = static_cast<time_t>(left / kSec);
    ts_.tv_nsec = static_cast<long>(left % kSec);
    return &ts_;
  }
  bool over() const { return end_ != kBadDeadline && end_ != kNever && os::now_ns() >= end_; }

 private:
  const struct timespec* t_;
  u64 end_;
  struct timespec ts_;
};

}  // namespace gmpt::rt
