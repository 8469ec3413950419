// core/loop.cc -- the M's loop: pick a G, run it; and the ways a G gives its turn away.
//
// Who may call it
//   schedule() and execute() run on g0 with a P. Neither returns: the next visit starts at g0's top.
#include "arch/context.h"
#include "core/cputime.h"
#include "core/m_start.h"
#include "core/privatep.h"
#include "core/sched.h"
#include "core/signal.h"
#include "os/fs.h"

namespace gmpt::core {

constinit Sched sched;  // never set up at run time: constructors of other libraries may have made threads by then

// A spinning M found work: it stops spinning and, since others may be asleep while more work exists, lets
// one more M look. That chain ends when there is no work or no idle P.
void reset_spinning(M* m) {
  m->spinning = false;
  i32 n = sched.n_spinning.fetch_sub_acq_rel(1);
  GMPT_CHECK(n > 0, "negative count of spinning Ms");
  wake_p();
}

[[noreturn]] void execute(G* g, bool inherit) {
  M* m = mm();
  P* p = m->p;
  if (m->kmask != kernel_mask(g->sigmask)) switch_mask(m, kernel_mask(g->sigmask));  // before curg: see resting_open
  if (GMPT_UNLIKELY(p->is_private) && signals_waiting()) wake_for_signals();  // this M will not dispatch what came to it
  m->curg = g;
  g->m = m;
  g->state.store_release(GState::kRunning);
  fence();  // [kick] g->m stored, then sigpending read below  |  poster: sigpending set, then g->m read
  if (!inherit) p->sched_tick.store_relaxed(p->sched_tick.load_relaxed() + 1);
  p->stats.switches++;
  m->in_sys.store_relaxed(0);
  if (m->pending.load_relaxed() & kPendPreempt) m->pending.fetch_and_acq_rel(~u32{kPendPreempt});
  if (m->cur_fs != g->fs) {
    m->cur_fs = g->fs;
    os::fs_write(g->fs);
  }
  if (GMPT_UNLIKELY(signal_pending_for(g) || signals_waiting() || g->errand.load_relaxed())) m->pending.fetch_or_acq_rel(kPendSignal);
  m->turn_tsc = cpu_in(m, g);
  gmpt_gogo(g);
}

[[noreturn]] void schedule() {
  M* m = mm();
  for (;;) {
    if (GMPT_UNLIKELY(m->locked_g != nullptr)) {
      stop_pinned(m);
      execute(m->locked_g, false);
    }
    bool inherit = false;
    G* g = find_runnable(m, &inherit);
    if (m->spinning) reset_spinning(m);
    if (GMPT_UNLIKELY(g->private_p)) {
      wake_private(g);
      continue;
    }
    if (GMPT_UNLIKELY(g->locked_m && g->locked_m != m)) {
      run_pinned_elsewhere(g);
      continue;
    }
    execute(g, inherit);
  }
}

namespace {

void yield_on_g0(G* g) {
  cpu_out(g);
  M* m = mm();
  P* p = m->p;
  m->curg = nullptr;
  g->m = nullptr;
  g->state.store_release(GState::kRunnable);
  // The ring's tail, not the global queue: all threads of a yield loop share it fairly, and the global
  // lock stays cold. A full ring goes the way of every overflow.
  runq_put(p, g, false);
  schedule();
}

void preempted_on_g0(G* g) {
  cpu_out(g);
  M* m = mm();
  m->curg = nullptr;
  g->m = nullptr;
  g->state.store_release(GState::kRunnable);
  globq_push(g);
  wake_p();
  schedule();
}

}  // namespace

bool yield() {
  P* p = mm()->p;
  if (GMPT_UNLIKELY(p->is_private)) return false;
  bool others = !p->runq.empty() || sched.globq_size.load_relaxed();
  if (others || p->timers.next.load_relaxed() != kNever) gmpt_mcall(&yield_on_g0);
  return others;
}

void yield_preempted() { gmpt_mcall(&preempted_on_g0); }

}  // namespace gmpt::core
