// rt/mainexit.cc -- pthread_exit in main: the process lives on until the last thread ends, then exits 0.
//
// What it is
//   libc's start code counts only threads it made and would end the process when main unwinds into it. So
//   main() runs in a frame of ours: the unwinding stops here, main's destructors run, it can be joined,
//   and its G waits for the others. What exit() then runs has the signal mask of the thread that ended last,
//   which natively calls it.
//
// Memory orders
//   [last]  main: waiting = 1; fence; n_gs read  |  an ending thread: n_gs decremented (acq_rel); waiting read.
#include "rt/mainexit.h"

#include "core/signal.h"
#include "base/mem.h"
#include "os/libc.h"
#include "rt/cond.h"
#include "rt/key.h"
#include "rt/robust.h"
#include "rt/thread.h"

extern "C" {
int __sigsetjmp(struct __jmp_buf_tag*, int) noexcept __attribute__((returns_twice));
void __pthread_register_cancel(__pthread_unwind_buf_t*) noexcept;
void __pthread_unregister_cancel(__pthread_unwind_buf_t*) noexcept;
}

namespace gmpt::rt {

namespace {
u32 main_waiting;    // 1: it waits; 2: the last thread has ended
u64 mask_of_last;    // published with 2
}

void main_exit_check(u64 mask) {
  fence();  // [last]
  if (!as_atomic(&main_waiting).load_acquire() || core::sched.n_gs.load_acquire() > 1) return;
  as_atomic(&mask_of_last).store_relaxed(mask);
  as_atomic(&main_waiting).store_release(2);
  core::Bucket* b = core::bucket_of(&main_waiting);
  core::GList l;
  b->lock.lock();
  core::wake_locked(b, &main_waiting, 1, ~0u, &l);
  b->lock.unlock();
  core::ready_list(&l, true);
}

int run_main(int (*main)(int, char**, char**), int argc, char** argv, char** envp) {
  __pthread_unwind_buf_t frame;
  memset(&frame, 0, sizeof frame);
  if (__sigsetjmp(reinterpret_cast<struct __jmp_buf_tag*>(frame.__cancel_jmp_buf), 0) == 0) {
    __pthread_register_cancel(&frame);
    int r = main(argc, argv, envp);
    __pthread_unregister_cancel(&frame);
    return r;
  }
  main_ends();
  return 0;
}

void main_ends() {
  G* g = self();
  Thread* t = g ? thread_of(g) : nullptr;
  if (t && !t->exited) t->result = PTHREAD_CANCELED;
  os::libc_private().call_tls_dtors();
  run_key_destructors();
  if (!g) return;  // asleep: this was the only thread, and its end is the process's, with status 0
  cond_thread_ends(g, true);
  robust_owner_died(g);
  wait_for_last();
}

void wait_for_last() {
  G* g = self();
  Thread* t = thread_of(g);
  u64 all = ~u64{0}, mask = g->sigmask;
  core::change_mask(g, 2, &all);  // as the kernel passes over a thread that has ended
  {
    Rt rt(g);
    u32 life = Thread::kJoinable;
    if (t->life.cas_acq_rel(life, Thread::kDone)) core::wake(&t->life, 1, rt);
  }
  as_atomic(&main_waiting).store_release(1);
  fence();  // [last]
  if (core::sched.n_gs.load_acquire() > 1) {
    while (as_atomic(&main_waiting).load_acquire() == 1 || core::sched.n_gs.load_acquire() > 1) {
      Rt rt(g);
      core::wait_while(&main_waiting, 1, rt, kNever, Why::kMainExit);
    }
    mask = as_atomic(&mask_of_last).load_relaxed();
  }
  core::change_mask(g, 2, &mask);
}

}  // namespace gmpt::rt
