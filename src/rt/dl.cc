// rt/dl.cc -- giving a new module's static TLS image to the threads that exist.
//
// What it is
//   libc does this for threads on its own list; Gs are not on it. The module's constructors have run by now:
//   the caller may have written to its data (where it found zeros in place of the image), and threads that they
//   made have theirs from libc and use it. So the image goes where all is zero still.
//
// Invariants
//   Nobody's place is other than zero: a new block is, and a module that goes leaves it so.
//
// Proof and tests   tests/posix/thread_local_dlopen.c
#include "rt/dl.h"

#include "base/mem.h"
#include "core/boot.h"
#include "os/tcb.h"
#include "rt/self.h"

namespace gmpt::rt {

namespace {

bool untouched(const u8* d, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (d[i]) return false;
  return true;
}

void fill(void*, i64 off, const void* image, size_t filesz, size_t memsz) {
  for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next) {
    if (!g->fs || !g->pool || !os::get_word(g->fs, 16)) continue;
    u8* d = reinterpret_cast<u8*>(g->fs + static_cast<uptr>(off));
    if (image && !untouched(d, memsz)) continue;
    if (filesz) memcpy(d, image, filesz);
    memset(d + filesz, 0, memsz - filesz);
  }
}

}  // namespace

void modules_changed() {
  if (on() && core::awake()) os::tcb_refresh(fill, nullptr);
}

}  // namespace gmpt::rt
