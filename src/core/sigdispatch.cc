// core/sigdispatch.cc -- whose a queued signal is, and taking it there.
//
// Invariants
//   D1  Whoever takes a signal from the process's queue to give it to a thread, or to run its handler, holds
//       signal_moves until it is there: so signals of one number arrive in the order in which they were sent.
#include "core/ownm.h"
#include "core/park.h"
#include "core/sigqueue.h"
#include "core/sys.h"

namespace gmpt::core {

os::Lock signal_moves __attribute__((section("gmpt_locks")));

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
  u64 bit = os::sig_bit(info.signo);
  if (!handler_of(info.signo)) return !(blocked_by_all() & bit) && !pick_waiter(bit) && ends_process(info.signo);
  if (reinterpret_cast<uptr>(handler_of(info.signo)) == 1) return false;
  G* g = pick_g(bit);
  return g && !pick_waiter(bit) && post_signal(g, info.signo, info, true) == 0;
}

void dispatch_signals() {
  os::SigInfo si;
  bool left;
  u64 tried = 0;
  while (process_signals.load_acquire()) {
    os::Guard l(signal_moves);
    if (!dequeue(nullptr, ~tried, &si, &left)) {
      if (nobody_takes()) continue;
      return;  // whoever opened it looks itself
    }
    struct Seen { ~Seen() { process_signals.fetch_sub_acq_rel(1); } } when_there;  // who looks without the lock sees it somewhere
    if (pass_on(nullptr, si)) continue;
    G* g = pick_g(os::sig_bit(si.signo));
    if (g && !handler_of(si.signo)) {
      act_by_default(si);  // opened meanwhile
      continue;
    }
    if (g) {
      if (enqueue(si, g, false, true)) {
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
        w->sigwait.store_release(0);  // it takes this one; others are for the next who waits
        if (enqueue(si, w, false, true)) kick_sigwait(w);
      } else if (!for_signalfd(si)) {
        enqueue(si, nullptr, true);
        process_signals.fetch_add_acq_rel(1);  // until nobody_takes
      }
    }
  }
}

namespace {

void out_of_runtime() {
  M* m = mm();
  m->p->word.store_release(reinterpret_cast<u64>(m) | kUserTag);
  arch::gs_set_in_rt(0);
}

// signal_moves held. others: it goes to somebody else.
bool claim_locked(G* g, os::SigInfo* si, bool* others) {
  u64 want = ~g->sigmask;
  bool left = false;
  *others = false;
  if (g->sigpending.load_acquire() & want) {
    bool got = dequeue(g, want, si, &left);
    if (!left) g->sigpending.fetch_and_acq_rel(got ? ~os::sig_bit(si->signo) : ~want);
    if (got) return true;
  }
  if (!process_signals.load_acquire() || !dequeue(nullptr, want, si, &left)) return false;
  *others = anothers(g, *si);
  if (!*others) process_signals.fetch_sub_acq_rel(1);
  return true;
}

// Outside the runtime; true: one that is for g, and the M takes no signals any more. False: none.
bool take_queued(G* g, os::SigInfo* si) {
  for (;;) {
    if (!signal_pending_for(g) && !process_signals.load_acquire()) return false;
    enter();  // the locks are not for code that may be interrupted by a handler
    bool got, others;
    {
      os::Guard l(signal_moves);
      got = claim_locked(g, si, &others);
      if (others) {
        if (!pass_on(g, *si)) post_signal(main_g, si->signo, *si, true);
        process_signals.fetch_sub_acq_rel(1);
      }
    }
    u64 all = ~os::sig_bit(os::kSigSegv);
    if (got && !others) os::sigprocmask(0, &all, nullptr);  // no later one overtakes it
    out_of_runtime();
    if (!others) return got;  // what is counted, but not for this G to take, dispatch gives to its owner
  }
}

}  // namespace

bool claim_queued(G* g, os::SigInfo* si) {
  if (GMPT_LIKELY(!signal_pending_for(g) && !signals_waiting())) return false;
  os::Guard l(signal_moves);
  bool others;
  if (!claim_locked(g, si, &others)) return false;
  if (others) enqueue(*si, nullptr, true);
  return !others;
}

void swap_for_earlier(G* g, os::SigInfo* si) {
  os::Guard l(signal_moves);
  os::SigInfo first;
  u64 bit = os::sig_bit(si->signo);
  bool left;
  if ((g->sigpending.load_acquire() & bit) && dequeue(g, bit, &first, &left)) {
    if (!left) g->sigpending.fetch_and_acq_rel(~bit);
  } else {
    if (!dequeue(nullptr, bit, &first, &left)) return;
    if (anothers(g, first)) return void(enqueue(first, nullptr, true));
    process_signals.fetch_sub_acq_rel(1);
  }
  if (enqueue(*si, nullptr)) process_signals.fetch_add_acq_rel(1);
  *si = first;
}

void resend(M* m, const os::SigInfo& si) {
  m->resent = si.signo;
  os::sys(__NR_rt_tgsigqueueinfo, sched.pid, m->tid, si.signo, &si);
}

// A ring that filled up has closed the M to all signals.
void deliver_signals() {
  mm()->pending.fetch_and_acq_rel(~u32{kPendSignal});
  G* g = mm()->curg;
  if (GMPT_UNLIKELY(g->errand.load_acquire())) run_errand(g);
  for (os::SigInfo si; take_queued(g, &si);) {
    resend(mm(), si);
    make_room(mm());
    u64 back = mm()->kmask = kernel_mask(g->sigmask);
    os::sigprocmask(2, &back, nullptr);
    mm()->resent = 0;  // it came, and was handled here, or its action had changed
  }
  if (GMPT_LIKELY(mm()->kmask == kernel_mask(g->sigmask))) return;
  enter();
  M* m = mm();
  make_room(m);
  os::set_mask(m->kmask = kernel_mask(g->sigmask));
  out_of_runtime();
}

}  // namespace gmpt::core
