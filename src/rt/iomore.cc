// rt/iomore.cc -- positional I/O, several messages in one call, opening and flushing files.
//
// What it is
//   Disks have no readiness: what goes to files is one blocking call with the P on offer. Messages are tried
//   with MSG_DONTWAIT, as many as there are, and wait in the netpoller for the rest.
//
// Rejected
//   Trying positional reads with RWF_NOWAIT first, to spare cached ones the offer: the offer is three
//   instructions, a refused try is a system call.
#include "rt/iomore.h"

#include <termios.h>

#include "base/mem.h"
#include "os/clock.h"
#include "rt/offer.h"

namespace gmpt::rt {

using namespace core;

i64 io_pread(int fd, void* buf, size_t n, i64 at) {
  return blocking([=] { return os::sys(__NR_pread64, fd, buf, n, at); });
}
i64 io_pwrite(int fd, const void* buf, size_t n, i64 at) {
  return blocking([=] { return os::sys(__NR_pwrite64, fd, buf, n, at); });
}
i64 io_preadv(int fd, const struct iovec* iov, int cnt, i64 at) {
  return blocking([=] { return os::sys(__NR_preadv, fd, iov, cnt, at, 0); });
}
i64 io_pwritev(int fd, const struct iovec* iov, int cnt, i64 at) {
  return blocking([=] { return os::sys(__NR_pwritev, fd, iov, cnt, at, 0); });
}
i64 io_preadv2(int fd, const struct iovec* iov, int cnt, i64 at, int flags) {
  if (at == -1 && flags == 0) return io_readv(fd, iov, cnt);
  return blocking([=] { return os::sys(__NR_preadv2, fd, iov, cnt, at, 0, flags); });
}
i64 io_pwritev2(int fd, const struct iovec* iov, int cnt, i64 at, int flags) {
  if (at == -1 && flags == 0) return io_writev(fd, iov, cnt);
  return blocking([=] { return os::sys(__NR_pwritev2, fd, iov, cnt, at, 0, flags); });
}

// The limit is Linux's own: looked at after each message, so it never ends the wait for the next one.
i64 io_recvmmsg(int fd, struct mmsghdr* v, unsigned n, int flags, struct timespec* limit) {
  cancellation_point();
  n = min_of(n, 1024u);
  Blocked op(fd, kIn, Why::kRead);
  if (n == 0 || (flags & (MSG_DONTWAIT | MSG_WAITALL | MSG_ERRQUEUE)) || !op.pd()) {
    return blocking([=] { return os::sys(__NR_recvmmsg, fd, v, n, flags, limit); });
  }
  Left left(limit);
  unsigned got = 0;
  i64 r;
  for (;;) {
    u32 seen = fd_edge(op.pd(), kIn);
    struct timespec now = {0, 0};
    if (limit) now = *left.get();
    r = os::sys(__NR_recvmmsg, op.fd(), v + got, n - got, flags | MSG_DONTWAIT, limit ? &now : nullptr);
    if (r > 0) {
      got += static_cast<unsigned>(r);
      bool urgent = v[got - 1].msg_hdr.msg_flags & MSG_OOB;
      if (got == n || (flags & MSG_WAITFORONE) || urgent || (limit && left.over())) break;
      continue;
    }
    if (r == -EAGAIN) {
      r = op.wait(seen);
      if (r == 0) continue;
      if (r == Blocked::kMustBlock) {
        r = blocking([&] { return os::sys(__NR_recvmmsg, op.fd(), v + got, n - got, flags, limit ? left.get() : nullptr); });
        if (r > 0) got += static_cast<unsigned>(r);
      }
    }
    break;
  }
  if (got) op.done();
  if (limit && got) *limit = *left.get();
  return got ? static_cast<i64>(got) : r;
}

namespace {

size_t size_of(const struct msghdr& m) {
  size_t n = 0;
  for (size_t i = 0; i < m.msg_iovlen; i++) n += m.msg_iov[i].iov_len;
  return n;
}

// A stream took the beginning of a message; a blocking call goes on until all is taken.
void rest_of_message(int fd, struct mmsghdr* m, int flags) {
  while (m->msg_len < size_of(m->msg_hdr)) {
    struct msghdr part = m->msg_hdr;  // name and control data went with the first bytes
    part.msg_name = nullptr;
    part.msg_namelen = 0;
    part.msg_control = nullptr;
    part.msg_controllen = 0;
    size_t skip = m->msg_len;
    while (skip >= part.msg_iov->iov_len) {
      skip -= part.msg_iov->iov_len;
      part.msg_iov++;
      part.msg_iovlen--;
    }
    struct iovec first = {static_cast<char*>(part.msg_iov->iov_base) + skip, part.msg_iov->iov_len - skip};
    if (skip) {
      part.msg_iov = &first;
      part.msg_iovlen = 1;
    }
    i64 r = io_sendmsg(fd, &part, flags);
    if (r <= 0) return;
    m->msg_len += static_cast<unsigned>(r);
  }
}

}  // namespace

// All that fit go in one call; the one that did not is sent as sendmsg does, and waits as it does.
i64 io_sendmmsg(int fd, struct mmsghdr* v, unsigned n, int flags) {
  cancellation_point();
  n = min_of(n, 1024u);
  if (n == 0 || (flags & MSG_DONTWAIT)) return os::sys(__NR_sendmmsg, fd, v, n, flags);
  unsigned put = 0;
  while (put < n) {
    i64 r = os::sys(__NR_sendmmsg, fd, v + put, n - put, flags | MSG_DONTWAIT);
    if (r > 0) {
      put += static_cast<unsigned>(r);
      struct mmsghdr* last = &v[put - 1];
      if (last->msg_len < size_of(last->msg_hdr)) {
        rest_of_message(fd, last, flags);
        if (last->msg_len < size_of(last->msg_hdr)) break;
      }
      continue;
    }
    if (r == -EAGAIN) r = io_sendmsg(fd, &v[put].msg_hdr, flags);
    if (r < 0) return put ? static_cast<i64>(put) : r;
    v[put++].msg_len = static_cast<unsigned>(r);
  }
  return static_cast<i64>(put);
}

void opened_file(int fd, int flags) {
  if (fd >= 0) fd_opened(fd, kTypeKnown | kNbKnown | (flags & O_NONBLOCK ? u32{kNb} : 0));
}

// A FIFO waits for its other end, a device for its carrier.
i64 io_openat(int dir, const char* path, int flags, unsigned mode) {
  i64 fd = blocking([=] { return os::sys(__NR_openat, dir, path, flags, mode); });
  opened_file(static_cast<int>(fd), flags);
  return fd;
}

i64 io_fsync(int fd) {
  return blocking([=] { return os::sys(__NR_fsync, fd); });
}
i64 io_fdatasync(int fd) {
  return blocking([=] { return os::sys(__NR_fdatasync, fd); });
}
i64 io_syncfs(int fd) {
  return offered([=] { return os::sys(__NR_syncfs, fd); });
}
void io_sync() {
  offered([] { return os::sys(__NR_sync); });
}
i64 io_msync(void* p, size_t n, int flags) {
  return blocking([=] { return os::sys(__NR_msync, p, n, flags); });
}
i64 io_flock(int fd, int op) {
  return offered([=] { return os::sys(__NR_flock, fd, op); });
}
i64 io_tcdrain(int fd) {
  return blocking([=] { return os::sys(__NR_ioctl, fd, TCSBRK, 1); });
}
i64 io_getrandom(void* buf, size_t n, unsigned flags) {
  return blocking([=] { return os::sys(__NR_getrandom, buf, n, flags); });
}

}  // namespace gmpt::rt
