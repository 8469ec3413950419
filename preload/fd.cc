// preload/fd.cc -- descriptors coming and going: what the netpoller may believe of a number.
#include <netinet/tcp.h>
#include <linux/close_range.h>
#include <initializer_list>
#include <stdarg.h>

#include "base/mem.h"
#include "core/boot.h"
#include "core/signal.h"
#include "rt/closerange.h"
#include "rt/io.h"
#include "rt/kstate.h"
#include "rt/policy.h"

#include "preload/interpose.h"

using namespace gmpt;
using namespace gmpt::core;

namespace {

int opened(int fd, u32 flags) {
  if (fd >= 0 && rt::on()) fd_opened(fd, flags);
  return fd;
}
u32 nb(bool nonblocking) { return kNbKnown | (nonblocking ? u32{kNb} : 0); }

// A second number for one open file: neither may trust what it remembers of the file's flags.
int duplicated(int from, int to) {
  if (to < 0 || !rt::on()) return to;
  PollDesc* pd = fd_desc(from);
  u32 f = pd ? pd->flags.load_relaxed() : 0;
  if (f & kSeen) pd->flags.fetch_or_acq_rel(kShared);
  fd_opened(to, (f & (kTypeKnown | kSocket | kStream | kScm | kEpollFd)) | kShared);
  if (!(f & kSeen)) fd_forget(to);
  return to;
}

void closing(int fd) {
  if (rt::on() && fd >= 0) fd_closing(fd);
}

// The lock is taken even if nobody seems to wait: who registers a number links itself under the same hold.
void closed(int fd) {
  PollDesc* pd = rt::on() && awake() && fd >= 0 ? fd_desc(fd) : nullptr;
  if (!pd) return;
  Rt rt(rt::self());
  fd_closed(rt, pd);
}

void replacing(int fd) {
  if (netpoll_owns(fd)) netpoll_vacate(fd);
  closing(fd);
}

// The real call may block (lingering sockets, network file systems).
template <class F>
auto offered(F call) {
  if (!rt::on() || !rt::self()) return call();
  sys_begin();
  auto r = call();
  sys_end();
  return r;
}

}  // namespace

GMPT_API int close(int fd) {
  if (rt::on() && netpoll_owns(fd)) return static_cast<int>(rt::ret(-EBADF));
  closing(fd);
  int r = offered([=] { return os::real().close(fd); });
  closed(fd);
  return r;
}
GMPT_API int __close(int fd) { return close(fd); }

namespace {
// The range in pieces, around our own numbers.
template <class F>
int close_pieces(unsigned lo, unsigned hi, F close_piece) {
  rt::fd_closing_range(lo, hi);
  int a = netpoll_own(0), b = netpoll_own(1), r = 0;
  u64 from = lo;
  for (int own : {min_of(a, b), max_of(a, b)}) {
    if (own < 0 || static_cast<unsigned>(own) < from || static_cast<unsigned>(own) > hi) continue;
    if (static_cast<unsigned>(own) > from) r = close_piece(static_cast<unsigned>(from), static_cast<unsigned>(own) - 1);
    if (r != 0) return r;
    from = static_cast<u64>(own) + 1;
  }
  if (from <= hi) r = close_piece(static_cast<unsigned>(from), hi);
  // Nobody else reads beside who closes thousands; in a forked child nobody at all.
  for (u64 fd = lo; awake() && fd <= hi && fd < 4096; fd++) closed(static_cast<int>(fd));
  return r;
}
}  // namespace

GMPT_API int close_range(unsigned lo, unsigned hi, int flags) noexcept {
  if (!rt::on() || (flags & CLOSE_RANGE_CLOEXEC) || lo > hi) return os::real().close_range(lo, hi, flags);
  return close_pieces(lo, hi, [=](unsigned a, unsigned b) { return os::real().close_range(a, b, flags); });
}
GMPT_API void closefrom(int lo) noexcept {
  if (!rt::on() || close_range(lo < 0 ? 0 : static_cast<unsigned>(lo), ~0u, 0) != 0) os::real().closefrom(lo);
}

GMPT_API int fclose(FILE* f) {
  // libc closes the descriptor inside, out of sight.
  int fd = rt::on() && f ? fileno(f) : -1;
  closing(fd);
  int r = offered([=] { return os::real().fclose(f); });
  closed(fd);
  return r;
}
GMPT_API int pclose(FILE* f) {
  int fd = rt::on() && f ? fileno(f) : -1;
  closing(fd);
  int r = offered([=] { return os::real().pclose(f); });
  closed(fd);
  return r;
}

GMPT_API int dup(int fd) noexcept { return duplicated(fd, os::real().dup(fd)); }
GMPT_API int dup2(int from, int to) noexcept {
  if (from != to && rt::on() && os::sys(__NR_fcntl, from, F_GETFD) >= 0) replacing(to);
  int r = os::real().dup2(from, to);
  if (from == to) return r;
  duplicated(from, r);
  closed(r);
  return r;
}
GMPT_API int __dup2(int from, int to) { return dup2(from, to); }
GMPT_API int dup3(int from, int to, int flags) noexcept {
  if (from != to && rt::on() && os::sys(__NR_fcntl, from, F_GETFD) >= 0) replacing(to);
  int r = duplicated(from, os::real().dup3(from, to, flags));
  closed(r);
  return r;
}

// Streams whose short reads mean "empty": TCP, and Unix but for what passes with the bytes (kScm). SCTP's, for
// one, deliver messages.
namespace {
u32 socket_flags(int domain, int type, int protocol) {
  u32 f = kTypeKnown | kSocket | nb(type & SOCK_NONBLOCK);
  if ((type & 0xf) != SOCK_STREAM) return f;
  if (domain == AF_UNIX) return f | kStream | kScm;
  bool tcp = (domain == AF_INET || domain == AF_INET6) && (protocol == 0 || protocol == IPPROTO_TCP);
  return tcp ? f | kStream : f;
}
}  // namespace

GMPT_API int socket(int domain, int type, int protocol) noexcept {
  return opened(os::real().socket(domain, type, protocol), socket_flags(domain, type, protocol));
}
GMPT_API int socketpair(int domain, int type, int protocol, int fds[2]) noexcept {
  int r = os::real().socketpair(domain, type, protocol, fds);
  if (r == 0)
    for (int i = 0; i < 2; i++) opened(fds[i], socket_flags(domain, type, protocol));
  return r;
}
GMPT_API int pipe(int fds[2]) noexcept {
  int r = os::real().pipe(fds);
  if (r == 0)
    for (int i = 0; i < 2; i++) opened(fds[i], kTypeKnown | nb(false));
  return r;
}
GMPT_API int __pipe(int* fds) { return pipe(fds); }
GMPT_API int pipe2(int fds[2], int flags) noexcept {
  int r = os::real().pipe2(fds, flags);
  if (r == 0)
    for (int i = 0; i < 2; i++) opened(fds[i], kTypeKnown | nb(flags & O_NONBLOCK));
  return r;
}
GMPT_API int eventfd(unsigned n, int flags) noexcept { return opened(os::real().eventfd(n, flags), kTypeKnown | nb(flags & EFD_NONBLOCK)); }
GMPT_API int timerfd_create(clockid_t c, int flags) noexcept { return opened(os::real().timerfd_create(c, flags), kTypeKnown | nb(flags & TFD_NONBLOCK)); }
GMPT_API int signalfd(int fd, const sigset_t* m, int flags) noexcept {
  int r = os::real().signalfd(fd, m, flags);
  u64 bits;
  if (r >= 0 && rt::on()) memcpy(&bits, m, sizeof bits), signalfd_made(rt::self(), bits);
  return fd == -1 ? opened(r, kTypeKnown | nb(flags & SFD_NONBLOCK)) : r;
}
GMPT_API int inotify_init() noexcept { return opened(os::real().inotify_init(), kTypeKnown | nb(false)); }
GMPT_API int inotify_init1(int flags) noexcept { return opened(os::real().inotify_init1(flags), kTypeKnown | nb(flags & IN_NONBLOCK)); }
GMPT_API int epoll_create(int n) noexcept { return opened(os::real().epoll_create(n), kTypeKnown | kEpollFd); }
GMPT_API int epoll_create1(int flags) noexcept { return opened(os::real().epoll_create1(flags), kTypeKnown | kEpollFd); }

GMPT_API int fcntl(int fd, int cmd, ...) {
  va_list ap;
  va_start(ap, cmd);
  void* arg = va_arg(ap, void*);
  va_end(ap);
  if (!rt::on()) return os::real().fcntl(fd, cmd, arg);
  switch (cmd) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return duplicated(fd, os::real().fcntl(fd, cmd, arg));
    case F_SETFL: {
      int r = os::real().fcntl(fd, cmd, arg);
      if (PollDesc* pd = fd_desc(fd)) pd->flags.fetch_and_acq_rel(~u32{kNbKnown | kNb});
      return r;
    }
    case F_SETLKW:
    case F_OFD_SETLKW:
      return offered([=] { return os::real().fcntl(fd, cmd, arg); });
    case F_SETOWN:  // the kernel takes a thread's id for its process
      if (core::awake() && rt::g_of_tid(static_cast<pid_t>(reinterpret_cast<long>(arg))) && arg) arg = reinterpret_cast<void*>(static_cast<long>(getpid()));
      return os::real().fcntl(fd, cmd, arg);
    case F_SETOWN_EX:
    case F_GETOWN_EX: {
      if (!core::awake() || !rt::self()) return os::real().fcntl(fd, cmd, arg);
      auto* o = static_cast<f_owner_ex*>(arg);
      return static_cast<int>(rt::ret(cmd == F_SETOWN_EX ? rt::fd_owner_set(fd, o) : rt::fd_owner_get(fd, o)));
    }
    default:
      return os::real().fcntl(fd, cmd, arg);
  }
}
GMPT_API int fcntl64(int fd, int cmd, ...) __attribute__((alias("fcntl")));
GMPT_API int __fcntl(int fd, int cmd, ...) __attribute__((alias("fcntl")));

GMPT_API int ioctl(int fd, unsigned long req, ...) noexcept {
  va_list ap;
  va_start(ap, req);
  void* arg = va_arg(ap, void*);
  va_end(ap);
  int r = offered([=] { return os::real().ioctl(fd, req, arg); });
  if (req == FIONBIO && rt::on())
    if (PollDesc* pd = fd_desc(fd)) pd->flags.fetch_and_acq_rel(~u32{kNbKnown | kNb});
  return r;
}

GMPT_API int setsockopt(int fd, int level, int name, const void* v, socklen_t n) noexcept {
  int r = os::real().setsockopt(fd, level, name, v, n);
  if (r == 0 && level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO)) rt::timeouts_in_use = true;
  if (r == 0 && level == SOL_SOCKET && name == SO_RCVLOWAT) rt::low_water_in_use = true;
  // Short reads say nothing then, nor with TLS in the kernel.
  bool odd = (level == SOL_SOCKET && name == SO_RCVLOWAT) || (level == IPPROTO_TCP && name == TCP_ULP);
  if (r == 0 && odd && rt::on())
    if (PollDesc* pd = fd_desc(fd)) pd->flags.fetch_and_acq_rel(~u32{kStream});
  return r;
}
