// rt/io.cc -- read and write families for Gs: try without blocking, wait in the netpoller, try again.
//
// What it is
//   Sockets are tried with MSG_DONTWAIT, everything else with RWF_NOWAIT, so the program's file flags are
//   not touched. A short read on a stream says that its queue is empty; the next read then waits at once,
//   without asking the kernel, until an edge comes (core/netpoll.h N2).
//
// Invariants
//   A blocking write of a stream returns when all is written, or what was written before an error or a
//   signal, as Linux does.
//   A read that stops early for another reason does not count as short: behind a passed descriptor or where
//   the writer changes (recvmsg says MSG_CTRUNC if it had no room to say so), before an urgent mark (kHup),
//   below a low-water mark. SO_RCVLOWAT asks a blocking read to wait for more; only one that blocks does.
//
// Rejected
//   Deciding by fstat what a descriptor is: a number may change its meaning at any time (closed inside
//   libc); trying is always right. Only descriptors seen being created are known to be sockets.
#include "rt/io.h"

#include <linux/sockios.h>

#include "base/mem.h"

namespace gmpt::rt {

using namespace core;

namespace {

constexpr int kNowait = 8;  // RWF_NOWAIT

bool known_socket(PollDesc* pd) {
  u32 f = pd ? pd->flags.load_relaxed() : 0;
  return (f & (kSeen | kSocket)) == (kSeen | kSocket);
}

// Does a short read mean "empty" on this descriptor, and do we hear of what comes later?
bool short_means_empty(PollDesc* pd) {
  constexpr u32 need = kSeen | kReg | kStream;
  return (pd->flags.load_relaxed() & (need | kHup)) == need;
}

int socket_option(int fd, int name) {
  int v = 0;
  socklen_t len = sizeof v;
  return os::sys(__NR_getsockopt, fd, SOL_SOCKET, name, &v, &len) < 0 ? -1 : v;
}

// A file system that refuses RWF_NOWAIT is asked once for each descriptor.
bool refuses(PollDesc* pd, Dir dir) { return pd->flags.load_relaxed() & kNoNowait << dir; }
void refused(PollDesc* pd, Dir dir, i64 r) {
  if (r == -EOPNOTSUPP && !(pd->flags.load_relaxed() & kSocket)) pd->flags.fetch_or_acq_rel(kNoNowait << dir);
}

// The read side's loop. try_once(fd) must not block; full: a result below it means the queue is empty.
template <class Try, class Block>
i64 read_loop(int fd, const size_t& full, bool hint, Why why, Try try_once, Block block) {
  Blocked op(fd, kIn, why);
  if (GMPT_UNLIKELY(low_water_in_use) && op.pd() && !fd_nonblocking(fd, op.pd()) && socket_option(fd, SO_RCVLOWAT) > 1)
    return blocking([&] { return block(fd); });
  for (;;) {
    PollDesc* pd = op.pd();
    if (!pd || refuses(pd, kIn)) return blocking([&] { return block(op.fd()); });
    u32 seen = fd_edge(pd, kIn);
    if (hint && pd->drained.load_relaxed() == seen && short_means_empty(pd)) {
      i64 r = op.wait(seen, false);
      if (r == -EINTR || r == -EAGAIN) return r;
      pd = op.pd();
      seen = fd_edge(pd, kIn);
    }
    bool tracked = hint && short_means_empty(pd);  // registered before the attempt, or the hint means nothing
    i64 r = try_once(op.fd());
    if (r >= 0) {
      if (tracked && r > 0 && static_cast<size_t>(r) < full) pd->drained.store_relaxed(seen);
      op.done();
      return r;
    }
    if (r == -EOPNOTSUPP || r == -EINVAL || r == -ENOSYS) {
      refused(pd, kIn, r);
      return blocking([&] { return block(op.fd()); });
    }
    if (r != -EAGAIN) {
      op.done();  // the wake-up this attempt used up may be another's too
      return r;
    }
    i64 w = op.wait(seen);
    if (w == Blocked::kMustBlock) return blocking([&] { return block(op.fd()); });
    // O_NONBLOCK: the plain call knows the answer; on a regular file it waits for the disk all the same.
    if (w == -EAGAIN && !known_socket(op.pd()) && fd_nonblocking(op.fd(), op.pd())) return blocking([&] { return block(op.fd()); });
    if (w < 0) return w;
  }
}

// A window of an iovec, `skip` bytes in.
int advance(const struct iovec* iov, int cnt, size_t skip, struct iovec* out, int max) {
  int n = 0;
  for (int i = 0; i < cnt && n < max; i++) {
    if (skip >= iov[i].iov_len) {
      skip -= iov[i].iov_len;
      continue;
    }
    out[n].iov_base = static_cast<char*>(iov[i].iov_base) + skip;
    out[n].iov_len = iov[i].iov_len - skip;
    skip = 0;
    n++;
  }
  return n;
}

size_t total(const struct iovec* iov, int cnt) {
  size_t n = 0;
  for (int i = 0; i < cnt; i++) n += iov[i].iov_len;
  return n;
}

// The write side's loop. try_at(fd, done) writes from offset `done` without blocking.
template <class Try, class Block>
i64 write_loop(int fd, size_t n, Why why, Try try_at, Block block_at) {
  Blocked op(fd, kOut, why);
  size_t done = 0;
  for (;;) {
    u32 seen = op.pd() ? fd_edge(op.pd(), kOut) : 0;
    i64 r = op.pd() && !refuses(op.pd(), kOut) ? try_at(op.fd(), done) : -EOPNOTSUPP;
    if (r >= 0) {
      done += static_cast<size_t>(r);
      if (done >= n || r == 0) {
        op.done();
        return static_cast<i64>(done);
      }
      if (fd_nonblocking(op.fd(), op.pd())) return static_cast<i64>(done);
      continue;
    }
    if (r == -EOPNOTSUPP || r == -EINVAL || r == -ENOSYS) {
      if (op.pd()) refused(op.pd(), kOut, r);
      r = blocking([&] { return block_at(op.fd(), done); });
      if (r >= 0) return static_cast<i64>(done) + r;
      return done ? static_cast<i64>(done) : r;
    }
    if (r != -EAGAIN) {
      op.done();
      return done ? static_cast<i64>(done) : r;
    }
    r = op.wait(seen);
    if (r == Blocked::kMustBlock) {
      r = blocking([&] { return block_at(op.fd(), done); });
      if (r >= 0) return static_cast<i64>(done) + r;
      return done ? static_cast<i64>(done) : r;
    }
    if (r == -EAGAIN && !done && !known_socket(op.pd()) && fd_nonblocking(op.fd(), op.pd())) return blocking([&] { return block_at(op.fd(), 0); });
    if (r < 0) return done ? static_cast<i64>(done) : r;
  }
}

// An attempt on a Unix stream. stopped: if it was short, then because of what comes with the bytes.
i64 try_scm(int fd, void* buf, size_t n, int flags, bool* stopped) {
  struct iovec v = {buf, n};
  struct msghdr m = {};
  m.msg_iov = &v;
  m.msg_iovlen = 1;
  i64 r = os::sys(__NR_recvmsg, fd, &m, flags | MSG_DONTWAIT);
  *stopped = m.msg_flags & MSG_CTRUNC;
  return r;
}

i64 recv_scm(int fd, void* buf, size_t n, int flags) {
  size_t full = n;
  return read_loop(fd, full, true, Why::kRead,
                   [&](int f) {
                     bool stopped;
                     i64 r = try_scm(f, buf, n, flags, &stopped);
                     full = stopped ? 0 : n;
                     return r;
                   },
                   [&](int f) { return os::sys(__NR_recvfrom, f, buf, n, flags, nullptr, nullptr); });
}

bool is_unix(int fd, PollDesc* pd) { return pd->flags.load_relaxed() & kScm || socket_option(fd, SO_DOMAIN) == AF_UNIX; }

// TCP or a Unix stream: what MSG_WAITALL asks for can be put together from parts.
bool plain_stream(int fd) {
  PollDesc* pd = fd_desc(fd);
  if (!pd || pd->flags.load_relaxed() & kStream) return pd;
  if (socket_option(fd, SO_TYPE) != SOCK_STREAM) return false;
  return is_unix(fd, pd) || socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

// MSG_WAITALL: ends early at the end of the stream, at an urgent mark, behind a passed descriptor.
i64 recv_all(int fd, void* buf, size_t n, int flags, struct sockaddr* from, socklen_t* len) {
  Blocked op(fd, kIn, Why::kRead);
  char* p = static_cast<char*>(buf);
  size_t done = 0;
  i64 r;
  bool scm = !from && is_unix(fd, op.pd());
  for (;;) {
    u32 seen = fd_edge(op.pd(), kIn);
    bool stopped = false;
    if (scm) r = try_scm(op.fd(), p + done, n - done, flags, &stopped);
    else r = os::sys(__NR_recvfrom, op.fd(), p + done, n - done, flags | MSG_DONTWAIT, from, len);
    if (r > 0) {
      done += static_cast<size_t>(r);
      int mark = 0;
      if (!scm && op.pd()->flags.load_relaxed() & kHup) os::sys(__NR_ioctl, op.fd(), SIOCATMARK, &mark);
      if (done == n || stopped || mark) break;
      continue;
    }
    if (r != -EAGAIN || fd_nonblocking(op.fd(), op.pd())) break;
    r = op.wait(seen);
    if (r == Blocked::kMustBlock) {
      r = blocking([&] { return os::sys(__NR_recvfrom, op.fd(), p + done, n - done, flags | MSG_WAITALL, from, len); });
      if (r > 0) done += static_cast<size_t>(r);
      break;
    }
    if (r < 0) break;
  }
  op.done();
  return done ? static_cast<i64>(done) : r;
}

}  // namespace

i64 io_recv(int fd, void* buf, size_t n, int flags, struct sockaddr* from, socklen_t* len) {
  cancellation_point();
  if (flags & MSG_DONTWAIT) return os::sys(__NR_recvfrom, fd, buf, n, flags, from, len);
  if ((flags & MSG_WAITALL) && !(flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE))) {
    if (plain_stream(fd)) return recv_all(fd, buf, n, flags & ~MSG_WAITALL, from, len);
    return blocking([&] { return os::sys(__NR_recvfrom, fd, buf, n, flags, from, len); });
  }
  bool hint = !(flags & ~MSG_NOSIGNAL);
  PollDesc* pd = fd_desc(fd);
  bool scm = pd && (pd->flags.load_relaxed() & kScm);
  if (scm && hint && !from) return recv_scm(fd, buf, n, flags);
  return read_loop(fd, n, hint && !scm, Why::kRead,
                   [&](int f) { return os::sys(__NR_recvfrom, f, buf, n, flags | MSG_DONTWAIT, from, len); },
                   [&](int f) { return os::sys(__NR_recvfrom, f, buf, n, flags, from, len); });
}

i64 io_recvmsg(int fd, struct msghdr* m, int flags) {
  cancellation_point();
  if (flags & MSG_DONTWAIT) return os::sys(__NR_recvmsg, fd, m, flags);
  if (flags & MSG_WAITALL) return blocking([&] { return os::sys(__NR_recvmsg, fd, m, flags); });
  // The kernel writes the lengths back only on success, so the header can be used again after EAGAIN.
  return read_loop(fd, total(m->msg_iov, static_cast<int>(m->msg_iovlen)), false, Why::kRead,
                   [&](int f) { return os::sys(__NR_recvmsg, f, m, flags | MSG_DONTWAIT); },
                   [&](int f) { return os::sys(__NR_recvmsg, f, m, flags); });
}

i64 io_read(int fd, void* buf, size_t n) {
  PollDesc* pd = fd_desc(fd);
  if (known_socket(pd)) {
    if (n == 0) return os::sys(__NR_read, fd, buf, n);
    return io_recv(fd, buf, n, 0, nullptr, nullptr);
  }
  cancellation_point();
  struct iovec v = {buf, n};
  return read_loop(fd, n, false, Why::kRead, [&](int f) { return os::sys(__NR_preadv2, f, &v, 1, -1, -1, kNowait); },
                   [&](int f) { return os::sys(__NR_read, f, buf, n); });
}

i64 io_readv(int fd, const struct iovec* iov, int cnt) {
  cancellation_point();
  return read_loop(fd, 0, false, Why::kRead, [&](int f) { return os::sys(__NR_preadv2, f, iov, cnt, -1, -1, kNowait); },
                   [&](int f) { return os::sys(__NR_readv, f, iov, cnt); });
}

i64 io_send(int fd, const void* buf, size_t n, int flags, const struct sockaddr* to, socklen_t len) {
  cancellation_point();
  if (flags & MSG_DONTWAIT) return os::sys(__NR_sendto, fd, buf, n, flags, to, len);
  return write_loop(fd, n, Why::kWrite,
                    [&](int f, size_t at) { return os::sys(__NR_sendto, f, static_cast<const char*>(buf) + at, n - at, flags | MSG_DONTWAIT, to, len); },
                    [&](int f, size_t at) { return os::sys(__NR_sendto, f, static_cast<const char*>(buf) + at, n - at, flags, to, len); });
}

i64 io_sendmsg(int fd, const struct msghdr* m, int flags) {
  cancellation_point();
  if (flags & MSG_DONTWAIT) return os::sys(__NR_sendmsg, fd, m, flags);
  auto at = [&](int f, size_t skip, int fl) {
    if (!skip) return os::sys(__NR_sendmsg, f, m, fl);
    struct iovec w[16];
    struct msghdr part = *m;  // control data went with the first bytes
    part.msg_control = nullptr;
    part.msg_controllen = 0;
    part.msg_iov = w;
    part.msg_iovlen = static_cast<size_t>(advance(m->msg_iov, static_cast<int>(m->msg_iovlen), skip, w, 16));
    return os::sys(__NR_sendmsg, f, &part, fl);
  };
  // A bad header faults in the kernel, not here.
  size_t n = m && m->msg_iov ? total(m->msg_iov, static_cast<int>(m->msg_iovlen)) : 0;
  return write_loop(fd, n, Why::kWrite, [&](int f, size_t skip) { return at(f, skip, flags | MSG_DONTWAIT); },
                    [&](int f, size_t skip) { return at(f, skip, flags); });
}

i64 io_write(int fd, const void* buf, size_t n) {
  PollDesc* pd = fd_desc(fd);
  if (known_socket(pd)) return io_send(fd, buf, n, 0, nullptr, 0);
  cancellation_point();
  auto* p = static_cast<const char*>(buf);
  return write_loop(fd, n, Why::kWrite,
                    [&](int f, size_t at) {
                      struct iovec v = {const_cast<char*>(p) + at, n - at};
                      return os::sys(__NR_pwritev2, f, &v, 1, -1, -1, kNowait);
                    },
                    [&](int f, size_t at) { return os::sys(__NR_write, f, p + at, n - at); });
}

i64 io_writev(int fd, const struct iovec* iov, int cnt) {
  cancellation_point();
  if (cnt <= 0 || cnt > 1024) return os::sys(__NR_writev, fd, iov, cnt);
  size_t n = total(iov, cnt);
  return write_loop(fd, n, Why::kWrite,
                    [&](int f, size_t at) {
                      if (!at) return os::sys(__NR_pwritev2, f, iov, cnt, -1, -1, kNowait);
                      struct iovec w[16];
                      int k = advance(iov, cnt, at, w, 16);
                      return os::sys(__NR_pwritev2, f, w, k, -1, -1, kNowait);
                    },
                    [&](int f, size_t at) {
                      if (!at) return os::sys(__NR_writev, f, iov, cnt);
                      i64 sum = 0;  // the remainder, window by window; each call blocks until it is written
                      while (at < n) {
                        struct iovec w[16];
                        int k = advance(iov, cnt, at, w, 16);
                        i64 r = os::sys(__NR_writev, f, w, k);
                        if (r <= 0) return sum ? sum : r;
                        sum += r;
                        at += static_cast<size_t>(r);
                      }
                      return sum;
                    });
}

}  // namespace gmpt::rt
