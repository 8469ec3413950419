// rt/splice.cc -- moving data between descriptors: splice, tee, vmsplice, sendfile, copy_file_range.
//
// What it is
//   SPLICE_F_NONBLOCK is honoured by pipes and not by all sockets, so each attempt has the P on offer. After
//   EAGAIN poll tells which end is not ready; that one is waited for in the netpoller.
//   sendfile has no such flag. To a socket it is made in pieces that the send buffer has room for, and waits
//   for room in the netpoller in between.
//
// Invariants
//   An error of the arguments is never waited for: the first attempt comes before the first wait, and sendfile
//   waits only while there is something to send.
#include <linux/sock_diag.h>
#include <sys/stat.h>

#include "rt/iomore.h"
#include "rt/offer.h"

namespace gmpt::rt {

using namespace core;

namespace {

constexpr unsigned kDontWait = 2;  // SPLICE_F_NONBLOCK

bool ready(int fd, short events) {
  struct pollfd p = {fd, events, 0};
  return os::sys(__NR_poll, &p, 1, 0) != 0;
}

bool nonblocking(const Blocked& b) { return b.pd() && fd_nonblocking(b.fd(), b.pd()); }  // which end counts, the kernel says

// attempt(in, out, flags); -1: that end is memory.
template <class F>
i64 move_pages(int in, int out, unsigned flags, F attempt) {
  cancellation_point();
  Blocked src(in, kIn, Why::kRead), dst(out, kOut, Why::kWrite);
  for (;;) {
    u32 seen_in = src.pd() ? fd_edge(src.pd(), kIn) : 0, seen_out = dst.pd() ? fd_edge(dst.pd(), kOut) : 0;
    i64 r = blocking([&] { return attempt(src.fd(), dst.fd(), flags | kDontWait); });
    if (r >= 0) {
      src.done();
      dst.done();
      return r;
    }
    if (r != -EAGAIN || (flags & kDontWait)) return r;
    i64 w = Blocked::kMustBlock;
    if (nonblocking(src) || nonblocking(dst)) return blocking([&] { return attempt(src.fd(), dst.fd(), flags); });
    if (in >= 0 && !ready(src.fd(), POLLIN)) w = src.wait(seen_in);
    else if (out >= 0 && !ready(dst.fd(), POLLOUT)) w = dst.wait(seen_out);
    if (w == -EINTR) return w;
    if (w < 0) return blocking([&] { return attempt(src.fd(), dst.fd(), flags); });
  }
}

// Bytes that a socket takes without waiting; at least a page, so that there is progress.
size_t room(int fd) {
  u32 mem[SK_MEMINFO_VARS] = {};
  socklen_t len = sizeof mem;
  if (os::sys(__NR_getsockopt, fd, SOL_SOCKET, SO_MEMINFO, mem, &len) < 0) return 64 << 10;
  u32 used = max_of(mem[SK_MEMINFO_WMEM_QUEUED], mem[SK_MEMINFO_WMEM_ALLOC]), all = mem[SK_MEMINFO_SNDBUF];
  return max_of(used < all ? (all - used) / 2 : 0, u32{kPage});  // half: the kernel counts its own headers too
}

// Something for sendfile to wait with: a regular file that is not at its end.
bool something_in(int in, const i64* off) {
  struct stat st;
  if (os::sys(__NR_fstat, in, &st) < 0 || !S_ISREG(st.st_mode)) return false;
  i64 at = off ? *off : os::sys(__NR_lseek, in, 0, SEEK_CUR);
  return at >= 0 && at < st.st_size;
}

bool is_socket(int fd, PollDesc* pd) {
  u32 f = pd ? pd->flags.load_relaxed() : 0;
  if (f & kTypeKnown) return f & kSocket;
  int type;
  socklen_t l = sizeof type;
  return os::sys(__NR_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &l) == 0;
}

}  // namespace

i64 io_splice(int in, i64* off_in, int out, i64* off_out, size_t n, unsigned flags) {
  return move_pages(in, out, flags, [=](int i, int o, unsigned f) { return os::sys(__NR_splice, i, off_in, o, off_out, n, f); });
}

i64 io_tee(int in, int out, size_t n, unsigned flags) {
  return move_pages(in, out, flags, [=](int i, int o, unsigned f) { return os::sys(__NR_tee, i, o, n, f); });
}

i64 io_vmsplice(int fd, const struct iovec* iov, size_t cnt, unsigned flags) {
  i64 mode = os::sys(__NR_fcntl, fd, F_GETFL);
  bool reads = mode >= 0 && (mode & O_ACCMODE) == O_RDONLY;
  return move_pages(reads ? fd : -1, reads ? -1 : fd, flags,
                    [=](int i, int o, unsigned f) { return os::sys(__NR_vmsplice, reads ? i : o, iov, cnt, f); });
}

i64 io_copy_file_range(int in, i64* off_in, int out, i64* off_out, size_t n, unsigned flags) {
  return blocking([=] { return os::sys(__NR_copy_file_range, in, off_in, out, off_out, n, flags); });
}

i64 io_sendfile(int out, int in, i64* off, size_t n) {
  auto send = [=](int to, size_t k) { return offered([=] { return os::sys(__NR_sendfile, to, in, off, k); }); };
  Blocked op(out, kOut, Why::kWrite);
  if (!op.pd() || !is_socket(out, op.pd()) || fd_nonblocking(out, op.pd())) return send(out, n);
  NoCancel off_for_now;
  n = min_of(n, size_t{0x7ffff000});  // the kernel's own limit
  size_t done = 0;
  i64 r = 0;
  do {
    u32 seen = fd_edge(op.pd(), kOut);
    bool may = ready(op.fd(), POLLOUT);
    if (!may && something_in(in, off)) {
      r = op.wait(seen);
      if (r == 0) continue;
      if (r != Blocked::kMustBlock) break;
    }
    size_t want = min_of(n - done, room(op.fd()));
    r = send(op.fd(), want);
    if (r <= 0) break;
    done += static_cast<size_t>(r);
    if (static_cast<size_t>(r) < want && !something_in(in, off)) break;  // the end of the file
  } while (done < n);
  if (done) op.done();
  return done ? static_cast<i64>(done) : r;
}

}  // namespace gmpt::rt
