// rt/kerneltid.cc -- showing libc the M's id, and the kernel the G's robust list.
//
// Leaving by unwinding
//   A condition variable's wait may be left by cancellation. libc's own clean-up takes the mutex back while the
//   M's id is still shown; then the unwinder comes to our frame, whose personality puts the G's id back, as
//   in once.cc.
//
// Proof and tests   tests/posix/pshared_protocols.c
#include "rt/kerneltid.h"

#include "os/tcb.h"
#include "rt/thread.h"

namespace gmpt::rt {

namespace {

void put(u32 offset, i32 v) { *reinterpret_cast<volatile i32*>(self()->fs + offset) = v; }
void show(i32 tid) { put(os::tcb.tid, tid); }

// What libc compares with a ceiling, and goes back to after it.
void show_priority() {
  if (!os::tcb.policy) return;
  put(os::tcb.policy, thread_of(self())->policy);
  put(os::tcb.priority, thread_of(self())->priority);
}

}  // namespace

// Itanium C++ ABI: _Unwind_Personality_Fn. Only the phase that removes frames (2) matters; 8 = continue.
extern "C" __attribute__((used, visibility("hidden")))
int gmpt_kerneltid_personality(int, int actions, u64, void*, void*) {
  if (actions & 2) show(self()->tid);
  return 8;
}

GMPT_NOINLINE int call_as_kernel_thread(int (*f)(void*), void* arg) {
  __asm__ volatile(".cfi_personality 0x1b, gmpt_kerneltid_personality");  // 0x1b: relative, 4 bytes
  show(os::gettid());
  show_priority();
  int r = f(arg);
  show(self()->tid);
  return r;
}

void robust_list_to_kernel() {
  Thread* t = thread_of(self());
  if (!os::tcb.robust || t->robust_holds++ > 0) return;
  u64 size = 0;
  os::sys(__NR_get_robust_list, 0, &t->m_robust_list, &size);
  os::sys(__NR_set_robust_list, self()->fs + os::tcb.tid + 16, 24);
}

void robust_list_from_kernel() {
  Thread* t = thread_of(self());
  if (!os::tcb.robust || t->robust_holds == 0 || --t->robust_holds > 0) return;
  os::sys(__NR_set_robust_list, t->m_robust_list, 24);
}

}  // namespace gmpt::rt
