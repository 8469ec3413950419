// rt/poll.h -- poll and select for Gs, and what epoll_wait shares with them.
//
// Results are counts or -errno. Limits are deadlines on CLOCK_MONOTONIC: 0 = do not wait, kNever = no limit,
// kBadDeadline = the caller gave a bad timespec. mask: 64 bits as the kernel has them, or null.
#pragma once
#include <poll.h>
#include <sys/select.h>

#include "core/signal.h"
#include "os/clock.h"
#include "rt/self.h"

namespace gmpt::rt {

u64 limit_ms(int ms);
u64 limit_ts(const struct timespec* t);

i64 poll_wait(struct pollfd* p, nfds_t n, u64 limit, const u64* mask);
i64 select_wait(int n, fd_set* r, fd_set* w, fd_set* x, u64 limit, const u64* mask);

// ---- shared with rt/epoll.cc -----------------------------------------------------------------------

constexpr i64 kRefused = -5000;  // our epoll does not take the file: the call has to block in the kernel

// One call's view of signals: the mask that ppoll, pselect and epoll_pwait put in force while they wait
// (see the essay in poll.cc), and whether a handler ran.
class Signals {
 public:
  Signals(G* g, const u64* mask) : g_(g), masked_(mask != nullptr), mask_(mask ? *mask : 0), handled_(g->handled.load_relaxed()) {}
  void begin();              // inside the runtime: the temporary mask
  void end(i64 r);           // inside: the old mask, unless a handler has to run under the temporary one
  bool over(i64 r);          // outside, at last: the old mask, cancellation; false: nothing ran, wait again
  bool handler_ran() const { return g_->handled.load_relaxed() != handled_; }
  bool masked() const { return masked_; }
  // Inside: does a signal end even a call that does not wait?
  bool may_end_it() const {
    return masked_ && (core::signal_pending_for(g_) || (core::mm()->pending.load_relaxed() & core::kPendSignal));
  }
  // Blocks this M in call(timeout, mask); the monitor takes the P.
  template <class Call>
  i64 block(u64 limit, Call call);

 private:
  G* g_;
  bool masked_, set_ = false;
  u64 mask_, old_ = 0;
  u32 handled_;
};

template <class Call>
i64 Signals::block(u64 limit, Call call) {
  os::Ts left, *t = nullptr;
  if (limit != kNever) {
    u64 now = os::now_ns();
    left = os::to_ts(limit > now ? limit - now : 0);
    t = &left;
  }
  core::sys_begin();
  i64 r = -os::kEINTR;
  if (!masked_) {
    int type;  // as in libc's own wrappers, a request lands at once
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    r = call(t, nullptr);
    pthread_setcanceltype(type, nullptr);
  } else {
    // With all signals held back from here, the last look and the wait are one step.
    u64 all = ~os::sig_bit(os::kSigSegv), kmask = core::kernel_mask(mask_);
    os::sigprocmask(0 /* SIG_BLOCK */, &all, nullptr);
    if (!handler_ran() && !core::signal_pending_for(g_)) r = call(t, &kmask);
    os::set_mask(core::mm()->kmask);
  }
  core::sys_end();
  return r;
}

}  // namespace gmpt::rt
