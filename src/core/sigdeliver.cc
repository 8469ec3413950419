// core/sigdeliver.cc -- whom a signal to the process goes to, and a G taking what waits for it.
//
// What it is
//   dispatch_signals runs in schedule() and chooses a G for each signal that has none. deliver_signals runs when a
//   G leaves the runtime with something pending: the kernel builds the frame, so that the handler sees what it
//   would natively.
#include "core/ownm.h"
#include "core/park.h"
#include "core/preempt.h"
#include "core/sigqueue.h"
#include "core/sys.h"

namespace gmpt::core {

namespace {

G* pick_waiter(u64 bit) {
  for (G* g = sched.all_gs.load_acquire(); g; g = g->all_next)
    if (g->state.load_acquire() != GState::kDead && (g->sigwait.load_acquire() & bit)) return g;
  return nullptr;
}

G* pick_g(u64 bit) {
  G* best = nullptr;
  for (G* g = sched.all_gs.load_acquire(); g; g = g->all_next) {
    if (g->state.load_acquire() == GState::kDead || (g->sigmask & bit)) continue;
    if (!g->pool) return g;  // main first
    best = g;
  }
  return best;
}

}  // namespace

bool send_to_process(const os::SigInfo& info) {
  if (reinterpret_cast<uptr>(actions[info.signo].handler) <= 1) return false;
  u64 bit = os::sig_bit(info.signo);
  G* g = pick_g(bit);
  return g && !pick_waiter(bit) && post_signal(g, info.signo, info, true) == 0;
}

void dispatch_signals() {
  os::SigInfo si;
  bool left;
  u64 tried = 0;
  while (process_signals.load_acquire()) {
    if (!dequeue(nullptr, ~tried, &si, &left)) {
      process_signals.store_release(0);  // what is left was counted as stuck, or never could be queued
      break;
    }
    process_signals.fetch_sub_acq_rel(1);
    if (pass_on(nullptr, si)) continue;
    G* g = pick_g(os::sig_bit(si.signo));
    if (g && !actions[si.signo].handler) {
      default_action(si.signo, &si);  // opened meanwhile
      continue;
    }
    if (g) {
      if (enqueue(si, g, true)) {
        g->sigpending.fetch_or_acq_rel(os::sig_bit(si.signo));
        fence();  // [give]
        bool dead = g->state.load_relaxed() == GState::kDead;
        if ((g->sigmask & os::sig_bit(si.signo)) || dead) {
          give_back(g, os::sig_bit(si.signo), dead);
          continue;
        }
        u32 w = g->waiter.word.load_acquire();
        if (g->waiter.claim(w >> 8, Reason::kInterrupted) == Waiter::Claim::kParked) {
          g->state.store_release(GState::kRunnable);
          runq_put(mm()->p, g, true);
        } else if (M* m = g->m; m && m->curg == g && m != mm()) {
          os::tgkill(sched.pid, m->tid, preempt_sig);
        }
      }
    } else {
      tried |= os::sig_bit(si.signo);  // blocked by all: it stays pending here, or somebody waits for it
      if (G* w = pick_waiter(os::sig_bit(si.signo))) {
        if (enqueue(si, w, true)) kick_sigwait(w);
      } else if (enqueue(si, nullptr)) {
        stuck.fetch_add_acq_rel(1);
      }
    }
  }
}

void deliver_signals() {
  M* m0 = mm();
  m0->pending.fetch_and_acq_rel(~u32{kPendSignal});
  G* g = m0->curg;
  if (GMPT_UNLIKELY(g->errand.load_acquire())) run_errand(g);
  for (;;) {
    u64 want = ~g->sigmask;
    os::SigInfo si;
    bool left = false;
    G* to = g;
    if (!(g->sigpending.load_acquire() & want)) {
      if (!process_signals.load_acquire()) return;
      to = nullptr;
    }
    enter();  // the queue's lock is not for code that may be interrupted by a handler
    bool got = dequeue(to, want, &si, &left);
    if (!got && !to) {  // counted, but not for this G to take: dispatch finds whose it is
      M* mine = mm();
      mine->p->word.store_release(reinterpret_cast<u64>(mine) | kUserTag);
      arch::gs_set_in_rt(0);
      return;
    }
    if (got && to && !left) g->sigpending.fetch_and_acq_rel(~os::sig_bit(si.signo));
    if (got && !to) process_signals.fetch_sub_acq_rel(1);
    if (!got && to) g->sigpending.fetch_and_acq_rel(~want);
    bool others = got && !to && anothers(g, si);
    if (others && !pass_on(g, si)) post_signal(main_g, si.signo, si, true);
    M* m = mm();
    m->p->word.store_release(reinterpret_cast<u64>(m) | kUserTag);
    arch::gs_set_in_rt(0);
    if (others) continue;
    if (!got) return;
    // Let the kernel build the frame: sent to this very M while all signals are blocked, it arrives when
    // the mask goes back, outside the runtime, and on_signal() hands it to this G.
    u64 all = ~os::sig_bit(os::kSigSegv);
    os::sigprocmask(0, &all, nullptr);
    m = mm();
    m->resent = si.signo;
    os::sys(__NR_rt_tgsigqueueinfo, sched.pid, m->tid, si.signo, &si);
    u64 back = m->kmask;
    os::sigprocmask(2, &back, nullptr);
    mm()->resent = 0;  // it came, and was handled here, or its action had changed
  }
}

}  // namespace gmpt::core
