// core/sys.cc -- the rare halves of entering and leaving the runtime.
#include "core/sys.h"

#include "arch/context.h"
#include "core/cputime.h"
#include "core/m_start.h"
#include "core/preempt.h"
#include "core/signal.h"

namespace gmpt::core {

namespace {

// The G runs on, but its M has no P: rest it where others find it, unless a P turned up. Who lost it in a call goes
// ahead of those who wait for a turn, as a thread does that the kernel wakes: it has used no turn up, and threads that
// spin until it is back would have one each before it.
void no_p_on_g0(G* g) {
  cpu_out(g);
  M* m = mm();
  m->curg = nullptr;
  g->m = nullptr;
  g->state.store_release(GState::kRunnable);
  bool woke = m->from_call;
  m->from_call = false;
  sched.lock.lock();
  P* p = p_idle_get_locked();
  if (!p) globq_push_locked(g, woke);
  sched.lock.unlock();
  if (p) {
    wire(m, p);
    execute(g, false);
  }
  if (m->locked_g) {
    m->p = nullptr;
    stop_pinned(m);
    execute(g, false);
  }
  stop_m(false);
  schedule();
}

}  // namespace

GMPT_NOINLINE void enter_slow() {
  M* m = mm();
  m->p = nullptr;
  m->lost = false;
  sched.stats.lost_ps++;
  sched.lock.lock();
  P* p = p_idle_get_locked();
  sched.lock.unlock();
  if (p) return wire(m, p);
  gmpt_mcall(&no_p_on_g0);
}

GMPT_NOINLINE void leave_slow() {
  // Something came while we were inside. Each round may run program code (a signal handler) and bring
  // more; the loop ends when a look finds nothing.
  while (u32 what = arch::gs_pending()) {
    if (what & kPendPreempt) {
      enter();
      mm()->pending.fetch_and_acq_rel(~u32{kPendPreempt});
      yield_preempted();
      M* m = mm();
      m->p->word.store_release(reinterpret_cast<u64>(m) | kUserTag);
      arch::gs_set_in_rt(0);
    }
    if (arch::gs_pending() & kPendSignal) deliver_signals();
  }
}

GMPT_NOINLINE void sys_end_slow() {
  mm()->from_call = true;
  enter();
  mm()->from_call = false;
  leave();
}

void pin(G* g) {
  enter();
  M* m = mm();
  if (g->pins++ == 0) {
    g->locked_m = m;
    m->locked_g = g;
  }
  leave();
}

void unpin(G* g) {
  enter();
  if (--g->pins == 0) {
    mm()->locked_g = nullptr;
    g->locked_m = nullptr;
  }
  leave();
}

void sys_begin_blocking() {
  enter();
  M* m = mm();
  if (GMPT_UNLIKELY(m->p->is_private)) {
    m->p->word.store_release(reinterpret_cast<u64>(m) | kUserTag);
  } else {
    P* p = unwire(m);
    p->word.store_release(kTaken);
    hand_off_p(p);
  }
  arch::gs_begin_sys();
  arch::gs_set_in_rt(0);
  if (GMPT_UNLIKELY(arch::gs_pending())) leave_slow();
}

}  // namespace gmpt::core
