// preload/io.cc -- reading, writing, sockets, libc names.
#include "rt/io.h"

#include "preload/interpose.h"

using namespace gmpt;
using rt::ret;

GMPT_API ssize_t read(int fd, void* buf, size_t n) {
  GMPT_NOT_A_G(read, fd, buf, n);
  return ret(rt::io_read(fd, buf, n));
}
GMPT_API ssize_t __read(int fd, void* buf, size_t n) { return read(fd, buf, n); }
GMPT_API ssize_t __read_chk(int fd, void* buf, size_t n, size_t room) {
  if (n > room) return os::real().__read_chk(fd, buf, n, room);  // libc ends the process
  return read(fd, buf, n);
}
GMPT_API ssize_t readv(int fd, const struct iovec* v, int n) {
  GMPT_NOT_A_G(readv, fd, v, n);
  return ret(rt::io_readv(fd, v, n));
}
GMPT_API ssize_t write(int fd, const void* buf, size_t n) {
  GMPT_NOT_A_G(write, fd, buf, n);
  return ret(rt::io_write(fd, buf, n));
}
GMPT_API ssize_t __write(int fd, const void* buf, size_t n) { return write(fd, buf, n); }
GMPT_API ssize_t writev(int fd, const struct iovec* v, int n) {
  GMPT_NOT_A_G(writev, fd, v, n);
  return ret(rt::io_writev(fd, v, n));
}
GMPT_API ssize_t recv(int fd, void* buf, size_t n, int flags) {
  GMPT_NOT_A_G(recv, fd, buf, n, flags);
  return ret(rt::io_recv(fd, buf, n, flags, nullptr, nullptr));
}
GMPT_API ssize_t __recv_chk(int fd, void* buf, size_t n, size_t room, int flags) {
  if (n > room) return os::real().__recv_chk(fd, buf, n, room, flags);
  return recv(fd, buf, n, flags);
}
GMPT_API ssize_t recvfrom(int fd, void* buf, size_t n, int flags, struct sockaddr* a, socklen_t* len) {
  GMPT_NOT_A_G(recvfrom, fd, buf, n, flags, a, len);
  return ret(rt::io_recv(fd, buf, n, flags, a, len));
}
GMPT_API ssize_t __recvfrom_chk(int fd, void* buf, size_t n, size_t room, int flags, struct sockaddr* a, socklen_t* len) {
  if (n > room) return os::real().__recvfrom_chk(fd, buf, n, room, flags, a, len);
  return recvfrom(fd, buf, n, flags, a, len);
}
GMPT_API ssize_t recvmsg(int fd, struct msghdr* m, int flags) {
  GMPT_NOT_A_G(recvmsg, fd, m, flags);
  return ret(rt::io_recvmsg(fd, m, flags));
}
GMPT_API ssize_t send(int fd, const void* buf, size_t n, int flags) {
  GMPT_NOT_A_G(send, fd, buf, n, flags);
  return ret(rt::io_send(fd, buf, n, flags, nullptr, 0));
}
GMPT_API ssize_t __send(int fd, const void* buf, size_t n, int flags) { return send(fd, buf, n, flags); }
GMPT_API ssize_t sendto(int fd, const void* buf, size_t n, int flags, const struct sockaddr* a, socklen_t len) {
  GMPT_NOT_A_G(sendto, fd, buf, n, flags, a, len);
  return ret(rt::io_send(fd, buf, n, flags, a, len));
}
GMPT_API ssize_t sendmsg(int fd, const struct msghdr* m, int flags) {
  GMPT_NOT_A_G(sendmsg, fd, m, flags);
  return ret(rt::io_sendmsg(fd, m, flags));
}

namespace {
// Without a G the call blocks natively, but the new descriptor is known all the same.
int native_accept(int fd, struct sockaddr* a, socklen_t* len, int flags) {
  int c = flags ? os::real().accept4(fd, a, len, flags) : os::real().accept(fd, a, len);
  if (c >= 0 && rt::on()) rt::io_accepted(c, fd, flags);
  return c;
}
}  // namespace

GMPT_API int accept(int fd, struct sockaddr* a, socklen_t* len) {
  if (!rt::on() || !rt::self()) return native_accept(fd, a, len, 0);
  return static_cast<int>(ret(rt::io_accept(fd, a, len, 0)));
}
GMPT_API int accept4(int fd, struct sockaddr* a, socklen_t* len, int flags) {
  if (!rt::on() || !rt::self()) return native_accept(fd, a, len, flags);
  return static_cast<int>(ret(rt::io_accept(fd, a, len, flags)));
}
GMPT_API int connect(int fd, const struct sockaddr* a, socklen_t len) {
  GMPT_NOT_A_G(connect, fd, a, len);
  return static_cast<int>(ret(rt::io_connect(fd, a, len)));
}
GMPT_API int __connect(int fd, const struct sockaddr* a, socklen_t len) { return connect(fd, a, len); }
