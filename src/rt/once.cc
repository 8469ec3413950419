// rt/once.cc -- pthread_once over the wait table.
//
// What it is
//       word = generation << 3 | waited for (4) | done (2) | in progress (1)
//
//   0 and 2 are glibc's values. The generation counts forks: an initialiser that another thread had in
//   progress when the process forked does not exist in the child, and is begun again there.
//
// Invariants
//   O1  The word becomes 2 after the initialiser returned, and 0 after it was left by an exception,
//       pthread_exit or cancellation; both wake those who wait.
//   O2  The initialisers in progress in one thread are a list of frames, innermost first. Unwinding meets
//       them in the same order.
//
// Leaving by unwinding
//   This library has no C++ runtime and no libgcc_s, so it cannot have a landing pad. It needs none: the
//   unwinder calls the personality routine of each frame it removes, and ours does the clean-up right
//   there and lets it continue. That one place serves C++ exceptions, pthread_exit and cancellation,
//   whatever unwinder the program brought. Where an initialiser has no unwind tables the unwinder ends, and libc
//   runs the old-style clean-up buffers before it jumps to the next handler: ours is one of them, too.
//
// Memory orders
//   [once] finish: exchange-acq_rel -> once: load-acquire.
//
// Rejected
//   __pthread_register_cancel and setjmp: does not see exceptions. __gcc_personality_v0: needs libgcc_s.
//
// Proof and tests   tests/posix/thread_once.cc
#include "rt/once.h"

extern "C" {
void _pthread_cleanup_push(struct _pthread_cleanup_buffer*, void (*)(void*), void*) noexcept;
void _pthread_cleanup_pop(struct _pthread_cleanup_buffer*, int) noexcept;
}

namespace gmpt::rt {

namespace {

enum : u32 { kRunning = 1, kDone = 2, kWaited = 4, kGenShift = 3 };

struct Frame {
  u32* control;
  Frame* outer;
  struct _pthread_cleanup_buffer buffer;
};

__thread Frame* innermost __attribute__((tls_model("initial-exec")));
u32 generation;  // written while the process has one thread

void finish(u32* control, u32 to) {
  if (!(as_atomic(control).exchange_acq_rel(to) & kWaited)) return;  // [once]
  Rt rt(self());
  core::wake(control, ~0u, rt);
}

// Without an end of its own; of the two that may come to it, the first counts.
void left(void* frame) {
  Frame* f = static_cast<Frame*>(frame);
  if (!f->control) return;
  innermost = f->outer;
  finish(f->control, 0);
  f->control = nullptr;
}

}  // namespace

// Itanium C++ ABI: _Unwind_Personality_Fn. Only the phase that removes frames (2) matters; 8 = continue.
extern "C" __attribute__((used, visibility("hidden")))
int gmpt_once_personality(int, int actions, u64, void*, void*) {
  if (actions & 2) {
    Frame* f = innermost;
    left(f);
    _pthread_cleanup_pop(&f->buffer, 0);  // an exception would leave it listed
  }
  return 8;
}

namespace {

// A frame of its own, so that the personality is called exactly while the initialiser runs.
GMPT_NOINLINE void call(void (*init)()) {
  __asm__ volatile(".cfi_personality 0x1b, gmpt_once_personality");  // 0x1b: relative, 4 bytes
  init();
  compiler_barrier();  // not a tail call
}

GMPT_NOINLINE void run(u32* control, void (*init)()) {
  Frame f{control, innermost, {}};
  innermost = &f;
  _pthread_cleanup_push(&f.buffer, &left, &f);
  call(init);
  _pthread_cleanup_pop(&f.buffer, 0);
  innermost = f.outer;
  finish(control, kDone);
}

GMPT_NOINLINE int once_slow(u32* control, void (*init)()) {
  Atomic<u32>& word = as_atomic(control);
  for (;;) {
    u32 v = word.load_acquire();  // [once]
    if (v & kDone) return 0;
    u32 mine = generation << kGenShift | kRunning;
    if ((v & ~u32{kWaited}) != mine) {
      if (!word.cas_acquire(v, mine)) continue;
      run(control, init);
      return 0;
    }
    if (!(v & kWaited) && !word.cas_acquire(v, v | kWaited)) continue;
    Rt rt(self());
    core::wait_while(control, mine | kWaited, rt, kNever, Why::kOnce);
  }
}

}  // namespace

int once(pthread_once_t* control, void (*init)()) {
  u32* c = reinterpret_cast<u32*>(control);
  if (GMPT_LIKELY(as_atomic(c).load_acquire() & kDone)) return 0;  // [once]
  return once_slow(c, init);
}

void once_child() { generation++; }

}  // namespace gmpt::rt
