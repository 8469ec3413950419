// preload/poll.cc -- waiting for several descriptors, libc names.
#include "rt/poll.h"

#include "preload/interpose.h"
#include "rt/epoll.h"

using namespace gmpt;

namespace {

const u64* bits(const sigset_t* m) { return reinterpret_cast<const u64*>(m); }  // libc's set begins with the kernel's
int result(i64 r) { return static_cast<int>(rt::ret(r)); }

}  // namespace

GMPT_API int poll(struct pollfd* p, nfds_t n, int ms) {
  GMPT_NOT_A_G(poll, p, n, ms);
  return result(rt::poll_wait(p, n, rt::limit_ms(ms), nullptr));
}
GMPT_API int __poll(struct pollfd* p, nfds_t n, int ms) { return poll(p, n, ms); }

GMPT_API int __poll_chk(struct pollfd* p, nfds_t n, int ms, size_t size) {
  if (!rt::on() || size / sizeof *p < n) return os::real().__poll_chk(p, n, ms, size);  // reports and aborts
  return poll(p, n, ms);
}

GMPT_API int ppoll(struct pollfd* p, nfds_t n, const struct timespec* t, const sigset_t* mask) {
  GMPT_NOT_A_G(ppoll, p, n, t, mask);
  return result(rt::poll_wait(p, n, rt::limit_ts(t), bits(mask)));
}

GMPT_API int __ppoll_chk(struct pollfd* p, nfds_t n, const struct timespec* t, const sigset_t* mask, size_t size) {
  if (!rt::on() || size / sizeof *p < n) return os::real().__ppoll_chk(p, n, t, mask, size);
  return ppoll(p, n, t, mask);
}

// Linux gives the time left back, whatever the result.
GMPT_API int select(int n, fd_set* r, fd_set* w, fd_set* x, struct timeval* tv) {
  GMPT_NOT_A_G(select, n, r, w, x, tv);
  u64 limit = kNever;
  if (tv) {
    if (tv->tv_sec < 0 || tv->tv_usec < 0) return result(-EINVAL);
    // As libc: more than a second's worth of microseconds is carried over.
    u64 sec = min_of(static_cast<u64>(tv->tv_sec) + static_cast<u64>(tv->tv_usec) / 1000000, u64{0x7fffffffffffffff});
    struct timespec t = {static_cast<time_t>(sec), static_cast<long>(tv->tv_usec % 1000000) * 1000};
    limit = rt::limit_ts(&t);
  }
  i64 got = rt::select_wait(n, r, w, x, limit, nullptr);
  if (tv && limit != kNever) {
    u64 now = limit ? os::now_ns() : 0, left = limit > now ? limit - now : 0;
    tv->tv_sec = static_cast<time_t>(left / kSec);
    tv->tv_usec = static_cast<suseconds_t>(left % kSec / 1000);
  }
  return result(got);
}
GMPT_API int __select(int n, fd_set* r, fd_set* w, fd_set* x, struct timeval* tv) { return select(n, r, w, x, tv); }

GMPT_API int pselect(int n, fd_set* r, fd_set* w, fd_set* x, const struct timespec* t, const sigset_t* mask) {
  GMPT_NOT_A_G(pselect, n, r, w, x, t, mask);
  return result(rt::select_wait(n, r, w, x, rt::limit_ts(t), bits(mask)));
}

GMPT_API int epoll_wait(int ep, struct epoll_event* e, int max, int ms) {
  GMPT_NOT_A_G(epoll_wait, ep, e, max, ms);
  return result(rt::epoll_wait(ep, e, max, rt::limit_ms(ms), nullptr));
}

GMPT_API int epoll_pwait(int ep, struct epoll_event* e, int max, int ms, const sigset_t* mask) {
  GMPT_NOT_A_G(epoll_pwait, ep, e, max, ms, mask);
  return result(rt::epoll_wait(ep, e, max, rt::limit_ms(ms), bits(mask)));
}

GMPT_API int epoll_pwait2(int ep, struct epoll_event* e, int max, const struct timespec* t, const sigset_t* mask) {
  GMPT_NOT_A_G(epoll_pwait2, ep, e, max, t, mask);
  return result(rt::epoll_wait(ep, e, max, rt::limit_ts(t), bits(mask)));
}
