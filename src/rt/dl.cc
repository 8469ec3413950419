// rt/dl.cc -- giving a new module's static TLS image to the threads that exist.
//
// libc does this for threads on its own list; Gs are not on it. A thread that is made meanwhile gets the
// image from libc, so writing it twice into a block that nobody has used yet does no harm.
#include "rt/dl.h"

#include "base/mem.h"
#include "core/boot.h"
#include "os/tcb.h"
#include "rt/self.h"

namespace gmpt::rt {

namespace {

void fill(void*, i64 off, const void* image, size_t filesz, size_t memsz) {
  G* me = self();
  for (G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next) {
    if (!g->fs || g == me || !g->pool || !os::get_word(g->fs, 16)) continue;
    u8* d = reinterpret_cast<u8*>(g->fs + static_cast<uptr>(off));
    memcpy(d, image, filesz);
    memset(d + filesz, 0, memsz - filesz);
  }
}

}  // namespace

void modules_changed() {
  if (on() && core::awake()) os::tcb_refresh(fill, nullptr);
}

}  // namespace gmpt::rt
