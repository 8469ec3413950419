// rt/closerange.cc -- which descriptors of a range are open.
//
// What it is
//   Programs close all they might have inherited, with no upper limit, before each exec. The table has room
//   for a million: to look at each entry costs 128 MB of page faults, every time. Only an open descriptor
//   can have waiters or remembered facts, and the kernel lists those.
//
// Invariants
//   Runs in forked children of threaded programs: no memory is allocated, nothing of libc is called.
#include "rt/closerange.h"

#include <fcntl.h>

#include "core/netpoll.h"
#include "os/syscall.h"

namespace gmpt::rt {

namespace {

constexpr u32 kFew = 256, kTable = 1 << 20;

struct Entry { u64 inode; i64 next; u16 size; u8 type; char name[]; };

bool number(const char* s, u32* out) {
  u32 n = 0;
  if (*s < '0' || *s > '9') return false;  // . and ..
  for (; *s; s++) n = n * 10 + static_cast<u32>(*s - '0');
  *out = n;
  return true;
}

}  // namespace

void fd_closing_range(u32 lo, u32 hi) {
  hi = min_of(hi, kTable - 1);
  i64 dir = hi < lo || hi - lo < kFew ? -1 : os::sys(__NR_open, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) {
    for (u64 fd = lo; fd <= hi; fd++)
      if (!core::netpoll_owns(static_cast<int>(fd))) core::fd_closing(static_cast<int>(fd));
    return;
  }
  alignas(8) char buf[2048];
  for (i64 n; (n = os::sys(__NR_getdents64, dir, buf, sizeof buf)) > 0;)
    for (i64 at = 0; at < n;) {
      const Entry* e = reinterpret_cast<const Entry*>(buf + at);
      u32 fd;
      if (number(e->name, &fd) && fd >= lo && fd <= hi && fd != static_cast<u32>(dir) && !core::netpoll_owns(static_cast<int>(fd))) core::fd_closing(static_cast<int>(fd));
      at += e->size;
    }
  os::sys(__NR_close, dir);
}

}  // namespace gmpt::rt
