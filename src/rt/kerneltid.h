// rt/kerneltid.h -- locks whose word the kernel compares with the id of the thread that calls it.
//
// What it is
//   A process-shared mutex with a protocol holds a kernel thread id: the kernel looks for it when priorities are
//   inherited, and when a process dies that held a robust one; libc raises the priority of the thread it names
//   for a ceiling, also for a private mutex. While a G holds such a mutex it stays on its M (pin), and libc, which takes the id from the
//   control block, is shown the M's id for the time of the call. While it holds a robust one, the kernel has the
//   G's robust list as the M's.
//
// Invariants
//   The block's own id is back before program code runs, so every other lock sees the G's id: also when libc's
//   call is left by cancellation (kerneltid.cc).
#pragma once
#include "rt/self.h"
#include "rt/thread.h"

namespace gmpt::rt {

inline bool mutex_wants_kernel_tid(const pthread_mutex_t* m) {
  int k = m->__data.__kind;
  return (k & 64) || ((k & 128) && (k & (16 | 32)));  // protecting; shared and robust or inheriting
}
inline bool mutex_is_robust(const pthread_mutex_t* m) { return m->__data.__kind & 16; }

// Calls f(arg) with the M's id shown. The caller is a G and pinned.
int call_as_kernel_thread(int (*f)(void*), void* arg);
void robust_list_to_kernel();    // the caller's list becomes its M's; nests
void robust_list_from_kernel();

template <class F>
int with_kernel_tid(F call) {
  return call_as_kernel_thread([](void* p) { return (*static_cast<F*>(p))(); }, &call);
}

template <class F>
int as_kernel_thread(F call) {
  core::sys_begin();
  int r = with_kernel_tid(call);
  core::sys_end();
  return r;
}

inline void hold_begins(const pthread_mutex_t* m) {
  core::pin(self());
  thread_of(self())->kernel_holds++;
  if (mutex_is_robust(m)) robust_list_to_kernel();
}

// One that was locked before the first thread was made is not counted: no pin is for it.
inline void hold_ends(bool robust) {
  Thread* t = thread_of(self());
  if (t->kernel_holds == 0) return;
  t->kernel_holds--;
  if (robust) robust_list_from_kernel();
  core::unpin(self());
}

template <class F>
int lock_with_kernel_tid(const pthread_mutex_t* m, F call) {
  hold_begins(m);
  bool robust = mutex_is_robust(m);
  int r = as_kernel_thread(call);
  if (r != 0 && r != EOWNERDEAD) hold_ends(robust);
  return r;
}

template <class F>
int unlock_with_kernel_tid(const pthread_mutex_t* m, F call) {
  bool robust = mutex_is_robust(m);  // it may be freed once it is free
  int r = as_kernel_thread(call);
  if (r == 0) hold_ends(robust);
  return r;
}

}  // namespace gmpt::rt
