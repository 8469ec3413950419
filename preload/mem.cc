// preload/mem.cc -- mapping memory that other processes may see, libc names: rt/futex.cc wants to know.
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "preload/interpose.h"
#include "rt/futex.h"

using namespace gmpt;

GMPT_API void* mmap(void* p, size_t n, int prot, int flags, int fd, off_t at) noexcept {
  bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  if (shared) rt::memory_shared();
  i64 r = rt::ret(os::sys(__NR_mmap, p, n, prot, flags, fd, at));
  if (shared) rt::memory_shared();
  return reinterpret_cast<void*>(r);
}
GMPT_API void* mmap64(void* p, size_t n, int prot, int flags, int fd, off64_t at) noexcept { return mmap(p, n, prot, flags, fd, at); }

GMPT_API void* mremap(void* p, size_t n, size_t now, int flags, ...) noexcept {
  va_list ap;
  va_start(ap, flags);
  void* to = va_arg(ap, void*);
  va_end(ap);
  rt::memory_shared();
  i64 r = rt::ret(os::sys(__NR_mremap, p, n, now, flags, to));
  rt::memory_shared();
  return reinterpret_cast<void*>(r);
}

GMPT_API void* shmat(int id, const void* p, int flags) noexcept {
  rt::memory_shared();
  i64 r = rt::ret(os::sys(__NR_shmat, id, p, flags));
  rt::memory_shared();
  return reinterpret_cast<void*>(r);
}
