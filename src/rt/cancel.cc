// rt/cancel.cc -- acting on a cancellation request where a G may be cancelled.
//
// glibc keeps the request in the control block, and its pthread_testcancel acts on it by unwinding; so the
// points where we wait only have to ask.
#include "os/tcb.h"
#include "core/signal.h"
#include "rt/thread.h"

namespace gmpt::rt {

namespace {
void cancel_now() { pthread_testcancel(); }
}  // namespace

void cancellation_point() {
  if (!self()) return;  // a kernel thread: libc's own calls do this
  // One load decides: no bit of the cancellation word is set in a thread nobody cancels.
  if (GMPT_LIKELY(!self()->cancel_req.load_relaxed())) return;
  pthread_testcancel();
}

int thread_cancel(pthread_t th) {
  G* g = g_of(th);
  if (!g) return ESRCH;
  if (g->state.load_acquire() == core::GState::kDead) return 0;
  core::async_cancel_hook = &cancel_now;
  {
    Rt rt(self());
    core::request_cancel(g);
    // In sigwait it takes our signal out of the kernel's queue and looks about (preload/sigwait.cc).
    fence();  // [sigset] request; fence; sigwait  |  sigwait_begin: sigwait; fence; request
    core::M* m = g->m;
    if (g->sigwait.load_acquire() && core::cancel_due(g) && m) os::tgkill(core::sched.pid, m->tid, core::preempt_sig);
  }
  if (g == self() && core::cancel_async(g)) pthread_testcancel();
  return 0;
}

}  // namespace gmpt::rt
