// rt/io.h -- reading and writing for Gs. Results are the system call's: a count or -errno.
//
// Who may call it
//   A G outside the runtime. All are cancellation points where POSIX says so.
#pragma once
#include <sys/socket.h>
#include <sys/uio.h>

#include "core/netpoll.h"
#include "rt/self.h"

namespace gmpt::rt {

i64 io_read(int fd, void* buf, size_t n);
i64 io_readv(int fd, const struct iovec* iov, int cnt);
i64 io_write(int fd, const void* buf, size_t n);
i64 io_writev(int fd, const struct iovec* iov, int cnt);
i64 io_recv(int fd, void* buf, size_t n, int flags, struct sockaddr* from, socklen_t* len);
i64 io_recvmsg(int fd, struct msghdr* m, int flags);
i64 io_send(int fd, const void* buf, size_t n, int flags, const struct sockaddr* to, socklen_t len);
i64 io_sendmsg(int fd, const struct msghdr* m, int flags);
i64 io_accept(int fd, struct sockaddr* a, socklen_t* len, int flags);
void io_accepted(int c, int listener, int flags);   // c was accepted elsewhere
i64 io_connect(int fd, const struct sockaddr* a, socklen_t len);

// ---- the loop they share (iowait.cc) ----
// One operation that would block: remembers where the descriptor went and when it times out.
class Blocked {
 public:
  Blocked(int fd, core::Dir dir, Why why);
  ~Blocked();
  int fd() const { return fd_; }
  core::PollDesc* pd() const { return pd_; }
  // After -EAGAIN, or relying on "drained". seen: fd_edge() from before the attempt.
  // 0 try again; -EAGAIN the caller's to see (O_NONBLOCK, SO_*TIMEO ran out); -EINTR; or kMustBlock: epoll
  // refuses this file, make the blocking call.
  static constexpr i64 kMustBlock = -4000;
  i64 wait(u32 seen, bool tried = true);
  void done();   // the operation succeeded: others waiting in this direction may have something to do

 private:
  int fd_;
  core::Dir dir_;
  Why why_;
  core::PollDesc* pd_;
  core::PollNode node_;
  u64 deadline_ = 0;  // 0 = not looked up
  bool moved_ = false;
};

bool fd_nonblocking(int fd, core::PollDesc* pd);

// A blocking system call with the P on offer: EINTR of our own signals is hidden. While it blocks the thread
// is cancellable asynchronously, as in libc's own wrappers.
template <class F>
i64 blocking(F call) {
  G* g = self();
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
  for (;;) {
    u32 before = g->handled.load_relaxed();
    core::sys_begin();
    i64 r = call();
    core::sys_end();
    if (r != -EINTR || g->handled.load_relaxed() != before) {
      pthread_setcanceltype(type, nullptr);
      return r;
    }
  }
}

extern bool timeouts_in_use;   // somebody set SO_RCVTIMEO or SO_SNDTIMEO since the start
extern bool low_water_in_use;  // somebody set SO_RCVLOWAT since the start

}  // namespace gmpt::rt
