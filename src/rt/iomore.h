// rt/iomore.h -- the less usual input and output calls for Gs. Results are the system call's: a count or -errno.
//
// Who may call it
//   A G outside the runtime. Cancellation points are those of glibc; flock, sendfile, sync, syncfs are none.
#pragma once
#include "rt/io.h"

struct aiocb;

namespace gmpt::rt {

// Files of any kind at a given place; at -1 of the v2 calls they are readv and writev.
i64 io_pread(int fd, void* buf, size_t n, i64 at);
i64 io_pwrite(int fd, const void* buf, size_t n, i64 at);
i64 io_preadv(int fd, const struct iovec* iov, int cnt, i64 at);
i64 io_pwritev(int fd, const struct iovec* iov, int cnt, i64 at);
i64 io_preadv2(int fd, const struct iovec* iov, int cnt, i64 at, int flags);
i64 io_pwritev2(int fd, const struct iovec* iov, int cnt, i64 at, int flags);

i64 io_recvmmsg(int fd, struct mmsghdr* v, unsigned n, int flags, struct timespec* limit);
i64 io_sendmmsg(int fd, struct mmsghdr* v, unsigned n, int flags);

i64 io_sendfile(int out, int in, i64* off, size_t n);
i64 io_splice(int in, i64* off_in, int out, i64* off_out, size_t n, unsigned flags);
i64 io_tee(int in, int out, size_t n, unsigned flags);
i64 io_vmsplice(int fd, const struct iovec* iov, size_t cnt, unsigned flags);
i64 io_copy_file_range(int in, i64* off_in, int out, i64* off_out, size_t n, unsigned flags);

i64 io_openat(int dir, const char* path, int flags, unsigned mode);
void opened_file(int fd, int flags);   // what open saw being created
i64 io_fsync(int fd);
i64 io_fdatasync(int fd);
i64 io_syncfs(int fd);
void io_sync();
i64 io_msync(void* p, size_t n, int flags);
i64 io_flock(int fd, int op);
i64 io_tcdrain(int fd);
i64 io_getrandom(void* buf, size_t n, unsigned flags);

}  // namespace gmpt::rt
