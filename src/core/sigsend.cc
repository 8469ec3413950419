// core/sigsend.cc -- sending to a G: signals, cancellation, and timers that are one thread's.
//
// What it is
//   A timer with SIGEV_THREAD_ID names a kernel thread; a G has none. It is made as one for the process, and
//   the table here says whose it is: whoever gets its signal passes it on. The entry of a deleted timer stays as
//   nobody's (the kernel does not use an id again soon), so that a signal on its way is dropped.
//   A timer of a thread's CPU time pins that thread, since it counts an M's; the table says until when.
//
// Invariants
//   A slot's `pinned` is that G for one of its pins. It is cleared under the lock, by the G itself, as it is the G's to
//   unpin; if another thread deletes the timer, an errand tells the G.
//
// Memory orders
//   A slot's tid is stored before its id with release; readers load the id with acquire.
#include <initializer_list>

#include "base/mem.h"
#include "core/m_start.h"
#include "core/ownm.h"
#include "core/park.h"
#include "core/preempt.h"
#include "core/sigqueue.h"
#include "core/sys.h"

namespace gmpt::core {

G* main_g;
Atomic<u64> signalfd_watches;

namespace {
struct TimerOf { Atomic<i32> id, tid; G* pinned = nullptr; };  // id is the kernel's, plus 1; tid 0: its signal is nobody's in particular
constexpr u32 kTimersOf = 1024;
constexpr i32 kNobody = -1;
constexpr i32 kTimer = -2, kFromKernel = 0x80, kSigioCode = -5, kPollHup = 6;  // SI_TIMER, SI_KERNEL, SI_SIGIO; POLL_HUP: POLL_IN is 1
constinit TimerOf timers_of[kTimersOf];
Atomic<u32> n_timers_of;
GMPT_GLOBAL_LOCK(timers_of_lock);
}  // namespace

bool timer_is_of(i32 id, i32 tid, G* pinned) {
  os::Guard l(timers_of_lock);
  u32 n = n_timers_of.load_relaxed(), at = n;
  if (n == kTimersOf) {  // the oldest that is nobody's: ids grow
    for (u32 i = 0; i < n; i++) {
      if (timers_of[i].tid.load_relaxed() != kNobody || timers_of[i].pinned) continue;
      if (at == n || timers_of[i].id.load_relaxed() < timers_of[at].id.load_relaxed()) at = i;
    }
    if (at == n) return false;
  }
  TimerOf& t = timers_of[at];
  t.id.store_release(0);
  t.pinned = pinned;
  t.tid.store_release(tid);
  t.id.store_release(id + 1);
  if (at == n) n_timers_of.store_release(n + 1);
  return true;
}

void timer_ends(i32 id) {
  os::Guard l(timers_of_lock);
  for (u32 i = 0; i < n_timers_of.load_relaxed(); i++) {
    TimerOf& t = timers_of[i];
    if (t.id.load_relaxed() != id + 1 || t.tid.load_relaxed() == kNobody) continue;
    t.tid.store_release(kNobody);
    if (t.pinned) post_errand(t.pinned);
  }
}

u32 timer_pins_over(G* g, bool all) {
  u32 n = 0;
  os::Guard l(timers_of_lock);
  for (u32 i = 0; i < n_timers_of.load_relaxed(); i++) {
    TimerOf& t = timers_of[i];
    if (t.pinned != g || (!all && t.tid.load_relaxed() != kNobody)) continue;
    t.pinned = nullptr;
    n++;
  }
  return n;
}

// For the kernel the process's first thread is M0, whoever runs there; another process's tgkill() with its id means main.
// What comes to the owner of a descriptor (F_SETOWN_EX) comes to its own M, and looks like a signal to the process.
G* mark_owner(M* m, os::SigInfo* si) {
  G *g = nullptr, *lg = m->locked_g;
  if (GMPT_UNLIKELY(si->code == kTkill) && m->is_m0 && si->kill.pid != sched.pid) g = main_g;
  bool of_fd = si->signo == os::kSigIo || si->code == kSigioCode || (si->code > 0 && si->code <= kPollHup && si->signo > os::kSigSys);
  if (GMPT_UNLIKELY(lg && lg->owns_fds && of_fd)) g = lg;
  si->pad = g ? g->tid : 0;
  return g;
}

i32 owner_of(const os::SigInfo& si) {
  if (GMPT_UNLIKELY(si.pad != 0)) return si.pad;
  if (GMPT_LIKELY(si.code != kTimer)) return 0;
  i32 id;
  memcpy(&id, si.raw, sizeof id);
  for (u32 i = 0, n = n_timers_of.load_acquire(); i < n; i++)
    if (timers_of[i].id.load_acquire() == id + 1) return timers_of[i].tid.load_acquire();
  return 0;
}

bool pass_on(G* me, const os::SigInfo& si) {
  i32 tid = owner_of(si);
  if (!tid || (me && me->tid == tid)) return false;
  os::SigInfo clean = si;
  clean.pad = 0;
  for (G* g = sched.all_gs.load_acquire(); g; g = g->all_next)
    if (g->tid == tid && g->state.load_acquire() != GState::kDead) return post_signal(g, si.signo, clean), true;
  return true;  // its thread, or the timer, is gone
}

void timers_of_child() { n_timers_of.store_relaxed(0); }

// g waits in the kernel's sigtimedwait on its M: it shall look at the queue (preload/sigwait.cc).
void kick_sigwait(G* g) {
  if (M* m = g->m) os::tgkill(sched.pid, m->tid, preempt_sig);
}

// A signalfd sees what pends in the kernel, not our queue. What all threads block pends there if it is sent to the
// process; a signalfd's reader is nearly always the thread that was meant.
bool for_signalfd(const os::SigInfo& info) {
  u64 bit = os::sig_bit(info.signo);
  if (GMPT_LIKELY(!(signalfd_watches.load_acquire() & bit)) || !(blocked_by_all() & bit)) return false;
  if (info.code < 0 && info.code != kTkill) return os::sys(__NR_rt_sigqueueinfo, sched.pid, info.signo, &info) == 0;
  return os::sys(__NR_kill, sched.pid, info.signo) == 0;  // any other code only the kernel may give
}

// What pends already, for the caller and for the process.
void signalfd_made(G* me, u64 watched) {
  signalfd_watches.fetch_or_acq_rel(watched);
  Rt rt(me);
  os::Guard l(signal_moves);
  os::SigInfo si;
  bool left;
  for (G* to : {me, static_cast<G*>(nullptr)})
    while (dequeue(to, watched & blocked_by_all(), &si, &left)) {
      if (to && !left) to->sigpending.fetch_and_acq_rel(~os::sig_bit(si.signo));
      if (for_signalfd(si)) continue;
      enqueue(si, to, true);  // opened just now
      break;
    }
}

// Thread-directed. The target may be anywhere: parked (ended with kInterrupted), queued (it delivers
// when it next leaves the runtime), or running on another M (kicked).
i64 post_signal(G* g, int sig, const os::SigInfo& info, bool shared) {
  if (!(g->sigwait.load_acquire() & os::sig_bit(sig)) && for_signalfd(info)) return 0;
  if (!enqueue(info, g, false, shared)) return -os::kEAGAIN;
  fence();  // [sigset] with sigwait_begin
  if (g->sigwait.load_acquire() & os::sig_bit(sig)) {
    kick_sigwait(g);
    return 0;
  }
  g->sigpending.fetch_or_acq_rel(os::sig_bit(sig));  // [sigwait]
  fence();  // [give]
  bool dead = g->state.load_relaxed() == GState::kDead;
  if ((g->sigmask & os::sig_bit(sig)) || GMPT_UNLIKELY(dead)) {
    if (shared || dead) give_back(g, os::sig_bit(sig), dead);
    if (signals_waiting()) sched.n_idle_p.load_relaxed() ? wake_for_signals() : hurry_sysmon();
    return 0;
  }
  u32 w = g->waiter.word.load_acquire();
  GList l;
  if (wake_claimed(&g->waiter, g->waiter.claim(w >> 8, Reason::kInterrupted), &l)) {
    M* me = m_of_caller();
    if (!l.empty()) ready_list(&l, me && me->curg);
    return 0;
  }
  M *m = g->m, *me = m ? m_of_caller() : nullptr;
  if (m && m != me && m->curg == g) os::tgkill(sched.pid, m->tid, preempt_sig);
  if (m && m == me) m->pending.fetch_or_acq_rel(kPendSignal);
  return 0;
}

// [sigwait] as post_signal: request; fence; look at the waiter  |  commit; fence; look at the request.
// Asynchronous cancellation ends every wait, and is acted upon when the G has left the runtime (run_errand).
void request_cancel(G* g) {
  as_atomic(reinterpret_cast<u32*>(g->fs + os::tcb.cancelhandling)).fetch_or_acq_rel(8);
  g->cancel_req.store_release(1);
  if (cancel_async(g)) g->errand.store_release(1);
  fence();
  u32 w = g->waiter.word.load_acquire();
  if ((g->cancellable && cancel_due(g)) || cancel_async(g)) {
    GList l;
    if (wake_claimed(&g->waiter, g->waiter.claim(w >> 8, Reason::kInterrupted), &l)) {
      if (!l.empty()) ready_list(&l, m_of_caller() != nullptr);
      return;
    }
  }
  M* m = g->m;
  if (m && m->curg == g && cancel_async(g)) os::tgkill(sched.pid, m->tid, preempt_sig);
}

// The kernel asks the initial thread first whether it takes a signal to the process, and programs count on it: a
// handler there ends main's pause() or accept(). What write() sends to its own thread looks the same, but for the name;
// and what tells of processor time, or comes from a timer, is offered first to whom it interrupts: so profilers see who runs.
static bool to_process(const os::SigInfo& si) {
  bool of_write = (si.signo == os::kSigPipe || si.signo == os::kSigXfsz) && si.code == 0 && si.kill.pid == sched.pid;
  bool of_time = si.code == kFromKernel && (si.signo == os::kSigProf || si.signo == os::kSigVtalrm || si.signo == os::kSigXcpu);
  return si.code != kTkill && si.code != kTimer && !of_write && !of_time;
}

// Is there somebody else whom this signal goes to first?
bool anothers(G* g, const os::SigInfo& si) {
  if (i32 owner = owner_of(si)) return owner != g->tid;
  return main_g && g != main_g && !(main_g->sigmask & os::sig_bit(si.signo)) && to_process(si);
}

bool to_main_instead(const os::SigInfo& si) {
  if (owner_of(si)) return pass_on(nullptr, si);
  return main_g && !(main_g->sigmask & os::sig_bit(si.signo)) && to_process(si) && post_signal(main_g, si.signo, si) == 0;
}

// Some M at rest finds a P for dispatch_signals.
void interrupt_rest() {
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next)
    if (!as_atomic(&m->curg).load_relaxed() && m->tid && m != sched.sysmon && preempt_m(m)) return;
}

// Every P is busy: the G that runs on one of them takes the signal, or makes room for dispatch_signals.
void interrupt_one(u64 bit) {
  M* any = nullptr;
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next) {
    G* g = as_atomic(&m->curg).load_relaxed();
    if (!g || m->preempt_sent.load_relaxed()) continue;
    any = m;
    if (!(g->sigmask & bit)) break;
  }
  if (any) preempt_m(any);
}

}  // namespace gmpt::core
