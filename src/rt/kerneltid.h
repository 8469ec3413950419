// rt/kerneltid.h -- locks whose word the kernel compares with the id of the thread that calls it.
//
// What it is
//   A process-shared priority-inheriting mutex holds a kernel thread id. While a G holds one it stays on its M
//   (pin), and libc, which takes the id from the control block, is shown the M's id for the time of the call.
//
// Invariants
//   The block's own id is back before program code runs, so every other lock sees the G's id.
#pragma once
#include "os/tcb.h"
#include "rt/self.h"

namespace gmpt::rt {

inline bool mutex_wants_kernel_tid(const pthread_mutex_t* m) { return (m->__data.__kind & (32 | 128)) == (32 | 128); }

template <class F>
int as_kernel_thread(F call) {
  i32* tid = reinterpret_cast<i32*>(self()->fs + os::tcb.tid);
  i32 mine = *tid;
  *tid = os::gettid();
  core::sys_begin();
  int r = call();
  core::sys_end();
  *tid = mine;
  return r;
}

template <class F>
int lock_with_kernel_tid(F call) {
  core::pin(self());
  int r = as_kernel_thread(call);
  if (r != 0 && r != EOWNERDEAD) core::unpin(self());
  return r;
}

template <class F>
int unlock_with_kernel_tid(F call) {
  int r = as_kernel_thread(call);
  if (r == 0 && self()->pins) core::unpin(self());
  return r;
}

}  // namespace gmpt::rt
