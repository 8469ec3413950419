// preload/iomore.cc -- positional I/O, several messages, splicing, opening and flushing, libc names.
#include "rt/iomore.h"

#include <aio.h>
#include <stdarg.h>

#include "preload/interpose.h"
#include "rt/offer.h"

using namespace gmpt;
using rt::ret;

namespace {
int result(i64 r) { return static_cast<int>(ret(r)); }
}  // namespace

// ---- at a given place; off_t has 64 bits, so the 64-suffixed names are the same functions ----

GMPT_API ssize_t pread(int fd, void* buf, size_t n, off_t at) {
  GMPT_NOT_A_G(pread, fd, buf, n, at);
  return ret(rt::io_pread(fd, buf, n, at));
}
GMPT_API ssize_t pread64(int fd, void* buf, size_t n, off64_t at) { return pread(fd, buf, n, at); }
GMPT_API ssize_t __pread64(int fd, void* buf, size_t n, off64_t at) { return pread(fd, buf, n, at); }
GMPT_API ssize_t __pread_chk(int fd, void* buf, size_t n, off_t at, size_t space) {
  if (n > space) return os::real().__pread_chk(fd, buf, n, at, space);  // libc ends the process
  return pread(fd, buf, n, at);
}
GMPT_API ssize_t __pread64_chk(int fd, void* buf, size_t n, off64_t at, size_t space) {
  if (n > space) return os::real().__pread64_chk(fd, buf, n, at, space);
  return pread(fd, buf, n, at);
}
GMPT_API ssize_t pwrite(int fd, const void* buf, size_t n, off_t at) {
  GMPT_NOT_A_G(pwrite, fd, buf, n, at);
  return ret(rt::io_pwrite(fd, buf, n, at));
}
GMPT_API ssize_t pwrite64(int fd, const void* buf, size_t n, off64_t at) { return pwrite(fd, buf, n, at); }
GMPT_API ssize_t __pwrite64(int fd, const void* buf, size_t n, off64_t at) { return pwrite(fd, buf, n, at); }

GMPT_API ssize_t preadv(int fd, const struct iovec* v, int n, off_t at) {
  GMPT_NOT_A_G(preadv, fd, v, n, at);
  return ret(rt::io_preadv(fd, v, n, at));
}
GMPT_API ssize_t preadv64(int fd, const struct iovec* v, int n, off64_t at) { return preadv(fd, v, n, at); }
GMPT_API ssize_t pwritev(int fd, const struct iovec* v, int n, off_t at) {
  GMPT_NOT_A_G(pwritev, fd, v, n, at);
  return ret(rt::io_pwritev(fd, v, n, at));
}
GMPT_API ssize_t pwritev64(int fd, const struct iovec* v, int n, off64_t at) { return pwritev(fd, v, n, at); }
GMPT_API ssize_t preadv2(int fd, const struct iovec* v, int n, off_t at, int flags) {
  GMPT_NOT_A_G(preadv2, fd, v, n, at, flags);
  return ret(rt::io_preadv2(fd, v, n, at, flags));
}
GMPT_API ssize_t preadv64v2(int fd, const struct iovec* v, int n, off64_t at, int flags) { return preadv2(fd, v, n, at, flags); }
GMPT_API ssize_t pwritev2(int fd, const struct iovec* v, int n, off_t at, int flags) {
  GMPT_NOT_A_G(pwritev2, fd, v, n, at, flags);
  return ret(rt::io_pwritev2(fd, v, n, at, flags));
}
GMPT_API ssize_t pwritev64v2(int fd, const struct iovec* v, int n, off64_t at, int flags) { return pwritev2(fd, v, n, at, flags); }

// ---- several messages ----

GMPT_API int recvmmsg(int fd, struct mmsghdr* v, unsigned n, int flags, struct timespec* limit) {
  GMPT_NOT_A_G(recvmmsg, fd, v, n, flags, limit);
  return result(rt::io_recvmmsg(fd, v, n, flags, limit));
}
GMPT_API int sendmmsg(int fd, struct mmsghdr* v, unsigned n, int flags) {
  GMPT_NOT_A_G(sendmmsg, fd, v, n, flags);
  return result(rt::io_sendmmsg(fd, v, n, flags));
}

// ---- between descriptors ----

GMPT_API ssize_t sendfile(int out, int in, off_t* off, size_t n) noexcept {
  GMPT_NOT_A_G(sendfile, out, in, off, n);
  return ret(rt::io_sendfile(out, in, off, n));
}
GMPT_API ssize_t sendfile64(int out, int in, off64_t* off, size_t n) noexcept { return sendfile(out, in, off, n); }
GMPT_API ssize_t splice(int in, off64_t* off_in, int out, off64_t* off_out, size_t n, unsigned flags) {
  GMPT_NOT_A_G(splice, in, off_in, out, off_out, n, flags);
  return ret(rt::io_splice(in, off_in, out, off_out, n, flags));
}
GMPT_API ssize_t tee(int in, int out, size_t n, unsigned flags) {
  GMPT_NOT_A_G(tee, in, out, n, flags);
  return ret(rt::io_tee(in, out, n, flags));
}
GMPT_API ssize_t vmsplice(int fd, const struct iovec* v, size_t n, unsigned flags) {
  GMPT_NOT_A_G(vmsplice, fd, v, n, flags);
  return ret(rt::io_vmsplice(fd, v, n, flags));
}
GMPT_API ssize_t copy_file_range(int in, off64_t* off_in, int out, off64_t* off_out, size_t n, unsigned flags) {
  GMPT_NOT_A_G(copy_file_range, in, off_in, out, off_out, n, flags);
  return ret(rt::io_copy_file_range(in, off_in, out, off_out, n, flags));
}

// ---- opening: the mode is there only if a file may be made ----

#define MODE_OF(flags, mode)                                   \
  unsigned mode = 0;                                           \
  if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) { \
    va_list ap;                                                \
    va_start(ap, flags);                                       \
    mode = va_arg(ap, unsigned);                               \
    va_end(ap);                                                \
  }

namespace {
int open_file(int dir, const char* path, int flags, unsigned mode) {
  if (rt::on() && rt::self()) return result(rt::io_openat(dir, path, flags, mode));
  int fd = os::real().openat(dir, path, flags, mode);
  if (rt::on()) rt::opened_file(fd, flags);
  return fd;
}
}  // namespace

GMPT_API int open(const char* path, int flags, ...) {
  MODE_OF(flags, mode);
  return open_file(AT_FDCWD, path, flags, mode);
}
GMPT_API int open64(const char* path, int flags, ...) __attribute__((alias("open")));
GMPT_API int __open(const char* path, int flags, ...) {
  MODE_OF(flags, mode);
  return open_file(AT_FDCWD, path, flags, mode);
}
GMPT_API int __open64(const char* path, int flags, ...) {
  MODE_OF(flags, mode);
  return open_file(AT_FDCWD, path, flags, mode);
}
GMPT_API int openat(int dir, const char* path, int flags, ...) {
  MODE_OF(flags, mode);
  return open_file(dir, path, flags, mode);
}
GMPT_API int openat64(int dir, const char* path, int flags, ...) __attribute__((alias("openat")));
GMPT_API int creat(const char* path, mode_t mode) { return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
GMPT_API int creat64(const char* path, mode_t mode) { return creat(path, mode); }

// The fortified names end the process if a mode is missing; that is libc's to say.
#define NEEDS_MODE(flags) (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE)
GMPT_API int __open_2(const char* path, int flags) {
  return NEEDS_MODE(flags) ? os::real().__open_2(path, flags) : open_file(AT_FDCWD, path, flags, 0);
}
GMPT_API int __open64_2(const char* path, int flags) {
  return NEEDS_MODE(flags) ? os::real().__open64_2(path, flags) : open_file(AT_FDCWD, path, flags, 0);
}
GMPT_API int __openat_2(int dir, const char* path, int flags) {
  return NEEDS_MODE(flags) ? os::real().__openat_2(dir, path, flags) : open_file(dir, path, flags, 0);
}
GMPT_API int __openat64_2(int dir, const char* path, int flags) {
  return NEEDS_MODE(flags) ? os::real().__openat64_2(dir, path, flags) : open_file(dir, path, flags, 0);
}

// ---- flushing, locking ----

GMPT_API int fsync(int fd) {
  GMPT_NOT_A_G(fsync, fd);
  return result(rt::io_fsync(fd));
}
GMPT_API int fdatasync(int fd) {
  GMPT_NOT_A_G(fdatasync, fd);
  return result(rt::io_fdatasync(fd));
}
GMPT_API int syncfs(int fd) noexcept {
  GMPT_NOT_A_G(syncfs, fd);
  return result(rt::io_syncfs(fd));
}
GMPT_API void sync() noexcept {
  GMPT_NOT_A_G(sync);
  rt::io_sync();
}
GMPT_API int msync(void* p, size_t n, int flags) {
  GMPT_NOT_A_G(msync, p, n, flags);
  return result(rt::io_msync(p, n, flags));
}
GMPT_API int flock(int fd, int op) noexcept {
  GMPT_NOT_A_G(flock, fd, op);
  return result(rt::io_flock(fd, op));
}
GMPT_API int lockf(int fd, int cmd, off_t n) {
  GMPT_NOT_A_G(lockf, fd, cmd, n);
  return rt::libc_offered([=] { return os::real().lockf(fd, cmd, n); });
}
GMPT_API int lockf64(int fd, int cmd, off64_t n) { return lockf(fd, cmd, n); }
GMPT_API int tcdrain(int fd) {
  GMPT_NOT_A_G(tcdrain, fd);
  return result(rt::io_tcdrain(fd));
}
GMPT_API ssize_t getrandom(void* buf, size_t n, unsigned flags) {
  GMPT_NOT_A_G(getrandom, buf, n, flags);
  return ret(rt::io_getrandom(buf, n, flags));
}

// libc's own threads do the requests.
GMPT_API int aio_suspend(const struct aiocb* const list[], int n, const struct timespec* limit) {
  GMPT_NOT_A_G(aio_suspend, list, n, limit);
  rt::Left left(limit);
  return rt::libc_offered([&] { return os::real().aio_suspend(list, n, left.get()); });
}
GMPT_API int aio_suspend64(const struct aiocb64* const list[], int n, const struct timespec* limit) {
  return aio_suspend(reinterpret_cast<const struct aiocb* const*>(list), n, limit);
}
