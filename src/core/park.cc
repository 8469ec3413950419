// core/park.cc -- a thread waits, and is made runnable again.
//
// Invariants
//   The G is kWaiting and its registers are saved before its Waiter says "parked"; from then on it may
//   run elsewhere, so nothing after commit() touches its stack.
//
// Memory orders
//   [timer]  the deadline is armed before commit; an expiry in between claims "armed" and the commit
//            fails, so no order between the two is needed.
//   [sigwait] commit: CAS to parked, then a load of sigpending  |  poster: sigpending or, then claim.
//            Both are full barriers on their first half: one of the two sees the other.
#include "core/park.h"

#include "arch/context.h"
#include "core/cputime.h"
#include "core/realclock.h"
#include "core/sched.h"
#include "core/signal.h"
#include "os/clock.h"

namespace gmpt::core {

namespace {

void park_on_g0(G* g) {
  cpu_out(g);
  M* m = mm();
  m->curg = nullptr;
  g->m = nullptr;
  m->p->stats.parks++;
  u32 seq = g->wait_seq;
  g->state.store_release(GState::kWaiting);
  if (!g->waiter.commit(seq)) {
    g->state.store_release(GState::kRunning);
    execute(g, true);
  }
  fence();  // [sigwait]
  if (GMPT_UNLIKELY(signal_pending_for(g) || (g->cancellable && cancel_due(g)) || cancel_async(g)) && g->waiter.claim(seq, Reason::kInterrupted) == Waiter::Claim::kParked) execute(g, true);
  schedule();
}

}  // namespace

// The waits that POSIX makes cancellation points.
constexpr u32 kCancellable = 1u << static_cast<u32>(Why::kCond) | 1u << static_cast<u32>(Why::kSem) | 1u << static_cast<u32>(Why::kJoin) |
                             1u << static_cast<u32>(Why::kSleep) | 1u << static_cast<u32>(Why::kRead) | 1u << static_cast<u32>(Why::kWrite) |
                             1u << static_cast<u32>(Why::kAccept) | 1u << static_cast<u32>(Why::kConnect) | 1u << static_cast<u32>(Why::kPoll) |
                             1u << static_cast<u32>(Why::kEpoll) | 1u << static_cast<u32>(Why::kPause);

Reason park(u64 deadline, Why why, const void* what) {
  G* g = mm()->curg;
  g->why = why;
  g->what = what;
  bool real = false, heard = false;
  g->cancellable = (kCancellable >> static_cast<u32>(why)) & 1;
  if (deadline != kNever) {
    P* p = mm()->p;
    real = deadline == g->real_deadline;
    p->timers.add(&g->timer, deadline, &g->waiter, g->wait_seq);
    if (GMPT_LIKELY(!p->is_private)) poke_sysmon(deadline);
    else heard = real && netpoll_listen();
    if (GMPT_UNLIKELY(real) && !real_clock_arm(g, g->wait_seq)) g->waiter.claim(g->wait_seq, Reason::kTimeout);
    // If this P rests (it does not: we hold it) or only the poller is awake, schedule() looks at the
    // heap on its way to sleep, so nobody need be told here.
  }
  gmpt_mcall(&park_on_g0);
  if (deadline != kNever) timer_del(&g->timer);
  if (GMPT_UNLIKELY(real)) g->real_wait.store_relaxed(0);
  if (GMPT_UNLIKELY(heard)) netpoll_unlisten();
  g->cancellable = false;
  g->why = Why::kNone;
  return g->waiter.reason();
}

Reason park_kernel(Waiter* w, u32 seq, u64 deadline, const u64* mask) {
  if (w->commit(seq)) {
    u32 parked = Waiter::make(seq, Reason::kNone, Waiter::kParked);
    u64 all = ~u64{0};
    if (mask) os::sigprocmask(2, mask, nullptr);  // no lock of ours is held: handlers may run, and may come here
    while (w->word.load_acquire() == parked) {
      u64 now = deadline == kNever ? 0 : os::now_ns();
      if (now >= deadline) {
        w->claim(seq, Reason::kTimeout);
        break;
      }
      os::futex_wait(&w->word, parked, deadline == kNever ? kNever : deadline - now);
    }
    if (mask) os::sigprocmask(2, &all, nullptr);
  }
  return w->reason();
}

bool wake_claimed(Waiter* w, Waiter::Claim c, GList* l) {
  if (c == Waiter::Claim::kLost) return false;
  if (c == Waiter::Claim::kParked) {
    if (w->g) l->push(w->g);
    else os::futex_wake(&w->word, 1);
  }
  return true;
}

void ready(G* g, bool next) {
  g->state.store_release(GState::kRunnable);
  runq_put(mm()->p, g, next);
  wake_p();
}

void ready_outside(G* g) {
  g->state.store_release(GState::kRunnable);
  globq_push(g);
  wake_p();
}

void ready_list(GList* l, bool have_p) {
  if (l->n == 1 && have_p) return ready(l->pop(), true);
  if (l->empty()) return;
  P* p = have_p ? mm()->p : nullptr;
  while (!l->empty()) {
    G* g = l->pop();
    g->state.store_release(GState::kRunnable);
    if (p) runq_put(p, g, false);
    else globq_push(g);
  }
  wake_p();
}

const char* why_name(Why w) {
  static const char* const names[] = {"running", "mutex", "cond", "rwlock", "sem", "barrier", "once", "join", "sleep", "read",
                                      "write", "accept", "connect", "poll", "epoll", "futex", "pause", "main exit"};
  static_assert(sizeof names / sizeof *names == static_cast<u32>(Why::kCount));
  return names[static_cast<u32>(w)];
}

}  // namespace gmpt::core
