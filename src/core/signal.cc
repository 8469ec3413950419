// core/signal.cc -- the kernel's handler, delivery on a G's stack, actions and masks.
//
// Rejected
//   Calling the program's handler from the kernel's: it would run on the M's signal stack, could not
//   block, and would need the M until it returns.
#include "core/signal.h"

#include "arch/context.h"
#include "base/mem.h"
#include "core/ownm.h"
#include "core/park.h"
#include "core/preempt.h"
#include "core/sigqueue.h"
#include "core/sys.h"
#include "os/clock.h"
#include "os/fs.h"

namespace gmpt::core {

int preempt_sig = os::kSigUrg;
void (*async_cancel_hook)();

namespace {
Atomic<u32> blocking[64];   // by how many Gs
Atomic<u32> any_blocking;   // by how many Gs is anything blocked
Atomic<u32> begun, settled; // changes of n_gs and blocking that belong together [settled]

SigAction actions[65];
bool taken_over;
u64 installed;       // signals whose kernel action is ours
u64 caught_default;  // signals with the default action that are caught all the same, since threads block them
GMPT_GLOBAL_LOCK(actions_lock);

bool is_synchronous(int sig, const os::SigInfo* si) {
  bool kind = sig == os::kSigSegv || sig == os::kSigBus || sig == os::kSigFpe || sig == os::kSigIll || sig == os::kSigTrap || sig == os::kSigSys;
  return kind && si->code > 0;
}

// Default action of a signal we had to catch (SIGSEGV in lazy mode, the preemption signal).
void default_action(int sig, const os::SigInfo* si) {
  if (sig == preempt_sig && sig == os::kSigUrg) return;  // SIGURG: ignored by default
  os::KSigaction dfl{};
  os::sigaction(sig, &dfl, nullptr);
  if (!is_synchronous(sig, si)) os::tgkill(os::getpid(), os::gettid(), sig);  // not a fault that repeats by itself
}

// Redirects the interrupted G into the program's handler, on the G's stack.
void deliver_on_g(M* m, G* g, int sig, os::SigInfo* si, os::UContext* uc) {
  SigAction a = actions[sig];
  if (reinterpret_cast<uptr>(a.handler) <= 1) return;
  g->handled.store_relaxed(g->handled.load_relaxed() + 1);
  if (!(a.flags & os::kSaRestart)) g->eintr = true;
  if (a.flags & os::kSaResethand) {
    actions[sig].handler = nullptr;
    os::KSigaction dfl{};
    if (!(sig == os::kSigSegv && os::fs_mode == FsMode::kLazy) && sig != preempt_sig) os::sigaction(sig, &dfl, nullptr);
  }
  u64 sp = uc->rsp - 128;  // the red zone belongs to the interrupted function
  if ((a.flags & os::kSaOnstack) && g->altstack.size && !(g->altstack.flags & 2)) {
    uptr lo = reinterpret_cast<uptr>(g->altstack.sp), hi = lo + g->altstack.size;
    if (uc->rsp <= lo || uc->rsp > hi) sp = hi;
  }
  u64 fp_size = 0;
  if (uc->fpstate) {
    const u32* sw = reinterpret_cast<const u32*>(uc->fpstate + 464);
    fp_size = sw[0] == 0x46505853 /* FP_XSTATE_MAGIC1 */ ? sw[1] : 512;
  }
  u64 fp = align_down(sp - fp_size, u64{64});
  u64 frame = align_down(fp - sizeof(os::SigFrame), u64{16}) - 8;
  auto* f = reinterpret_cast<os::SigFrame*>(frame);
  f->pretcode = reinterpret_cast<void*>(&gmpt_sig_landing);
  f->uc = *uc;
  f->info = *si;
  f->info.pad = 0;
  f->uc.sigmask = g->sigmask;
  f->uc.stack = g->altstack;
  if (uc->fpstate) {
    memcpy(reinterpret_cast<void*>(fp), uc->fpstate, fp_size);
    f->uc.fpstate = reinterpret_cast<u8*>(fp);
  }
  u64 mask = g->sigmask | a.mask;
  if (!(a.flags & os::kSaNodefer)) mask |= os::sig_bit(sig);
  mask &= ~(os::sig_bit(os::kSigKill) | os::sig_bit(os::kSigStop));
  u64 fresh = mask & ~g->sigmask;
  mask_counted(g->sigmask, mask);
  g->sigmask = mask;
  fence();  // [give]
  if (GMPT_UNLIKELY(g->sigpending.load_relaxed() & fresh)) give_back(g, fresh, false);
  m->kmask = kernel_mask(mask);
  uc->sigmask = m->kmask;
  uc->rsp = frame;
  uc->rip = reinterpret_cast<u64>(a.handler);
  uc->rdi = static_cast<u64>(sig);
  uc->rsi = reinterpret_cast<u64>(&f->info);
  uc->rdx = reinterpret_cast<u64>(&f->uc);
  uc->rax = 0;
  uc->eflags &= ~u64{0x500};  // direction and trap flags, as the kernel clears them
}

// A kernel thread that is no M: libc's own, or before and after our time. Its handler runs on its own stack.
void native_deliver(int sig, os::SigInfo* si, os::UContext* uc) {
  si->pad = 0;
  if (taken_over && to_main_instead(*si)) return;
  SigAction a = actions[sig];
  if (reinterpret_cast<uptr>(a.handler) <= 1) {
    if (!a.handler) default_action(sig, si);
    return;
  }
  if (a.flags & os::kSaResethand) actions[sig].handler = nullptr;
  os::set_mask(uc->sigmask | a.mask | (a.flags & os::kSaNodefer ? 0 : os::sig_bit(sig)));
  reinterpret_cast<void (*)(int, os::SigInfo*, os::UContext*)>(a.handler)(sig, si, uc);
}

// A kernel thread that libc makes inherits the GS base of the M that made it, but not the signal stack.
M* m_of_handler() {
  M* m = reinterpret_cast<M*>(os::gs_base());
  uptr here = reinterpret_cast<uptr>(__builtin_frame_address(0));
  return m && here - reinterpret_cast<uptr>(m->sigstack.sp) < m->sigstack.size ? m : nullptr;
}

// The kick has SA_RESTART, so the kernel has wound an interrupted call back to its instruction; the program's
// signal has not, so the call is to end. rcx still holds the address that the instruction left there: one
// that has not been executed yet looks different.
void end_call(os::UContext* uc) {
  const u8* pc = reinterpret_cast<const u8*>(uc->rip);
  if (uc->rcx != uc->rip + 2 || pc[0] != 0x0f || pc[1] != 0x05) return;
  uc->rax = static_cast<u64>(-os::kEINTR);
  uc->rip += 2;
}

// m is at rest or on its way there, perhaps past its last look. The kernel restarts its sleep after a signal; it is to
// look again at its mask, and at what waits for dispatch_signals.
void rouse(M* m) {
  m->park.kick();
  if (signals_waiting()) netpoll_break();
}

void on_signal(int sig, os::SigInfo* si, os::UContext* uc) {
  M* m = m_of_handler();
  if (!m || !taken_over) return native_deliver(sig, si, uc);
  if (sig == os::kSigSegv && si->code > 0 && os::fs_repair(m->cur_fs)) {
    sched.stats.fs_repairs++;
    return;
  }
  bool resent = m->resent == sig;
  if (resent) m->resent = 0;
  if (sig == preempt_sig && si->code == kTkill && si->kill.pid == sched.pid && !resent) {
    m->preempt_sent.store_release(0);
    G* g = m->curg;
    os::SigInfo mine;
    // It was a kick, see post_signal; or an M at rest got a signal that this G may take, see interrupt_one.
    if (g && !m->in_rt && !m->resent && claim_queued(g, &mine)) {
      if (!actions[mine.signo].handler) return default_action(mine.signo, &mine);
      if (!(actions[mine.signo].flags & os::kSaRestart)) end_call(uc);
      return deliver_on_g(m, g, mine.signo, &mine, uc);
    }
    if (!g) m->park.kick();  // at rest, see kick_resting: the kernel would go on with the sleep
    on_preempt(m, uc);
    if (!g) rouse(m);
    return;
  }
  if (sig == preempt_sig) m->preempt_sent.store_release(0);  // the program's own; a request of ours may have merged with it
  G* owner = mark_owner(m, si);
  G* g = m->curg;
  SigAction* a = &actions[sig];
  if (is_synchronous(sig, si)) {
    if (m->in_rt || !g || !a->handler || reinterpret_cast<uptr>(a->handler) == 1 || (g->sigmask & os::sig_bit(sig))) {
      os::KSigaction dfl{};
      os::sigaction(sig, &dfl, nullptr);  // the instruction faults again and the process dies as it should
      uc->sigmask &= ~os::sig_bit(sig);
      return;
    }
    return deliver_on_g(m, g, sig, si, uc);
  }
  if (reinterpret_cast<uptr>(a->handler) <= 1) {
    if (a->handler) return;
    // Caught only because this M may have it open while whom it is for blocks it: then it pends. The runtime may have
    // been interrupted in the middle of counting; dispatch_signals will know.
    if (!m->in_rt && !((owner ? owner->sigmask : blocked_by_all()) & os::sig_bit(sig))) return default_action(sig, si);
  }
  bool wrong = g && !resent && anothers(g, *si);
  if (m->in_rt || !g || (g->sigmask & os::sig_bit(sig)) || wrong) {
    put_aside(m, *si, uc);
    m->pending.fetch_or_acq_rel(kPendSignal);
    if (wrong && !m->in_rt && !on_preempt(m, uc)) sched.n_idle_p.load_relaxed() ? interrupt_rest() : hurry_sysmon();
    if (!g) {  // on its way to sleep, perhaps past its last look
      rouse(m);
      if (sched.n_idle_p.load_relaxed() == 0) interrupt_one(os::sig_bit(sig));
    }
    return;
  }
  if (GMPT_UNLIKELY(sig > os::kSigSys && !resent && (signals_waiting() || signal_pending_for(g)))) swap_for_earlier(g, si);
  deliver_on_g(m, g, sig, si, uc);
}

void install(int sig, const SigAction& a) {
  os::KSigaction k{};
  bool need = reinterpret_cast<uptr>(a.handler) > 1 || (!a.handler && (caught_default & os::sig_bit(sig))) || sig == preempt_sig || (sig == os::kSigSegv && os::fs_mode == FsMode::kLazy);
  if (need) {
    installed |= os::sig_bit(sig);
    k.handler = reinterpret_cast<void*>(&on_signal);
    k.flags = os::kSaSiginfo | os::kSaOnstack | os::kSaRestorer | (a.flags & os::kSaRestart) | (a.flags & 3 /* NOCLDSTOP, NOCLDWAIT */);
    if (sig == preempt_sig || sig == os::kSigSegv) k.flags |= os::kSaRestart;
    if (sig == os::kSigSegv) k.flags |= os::kSaNodefer;
    k.restorer = reinterpret_cast<void*>(&gmpt_sig_restorer);
    k.mask = ~os::sig_bit(os::kSigSegv);
  } else {
    k.handler = a.handler;
    k.flags = a.flags & 3;
  }
  os::sigaction(sig, &k, nullptr);
}

// Every thread blocks something now that Ms at rest still take: it would act on the process, or never reach
// the thread that is about to wait for it.
void kick_resting() {
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next)
    if (!as_atomic(&m->curg).load_relaxed() && m != mm()) os::tgkill(sched.pid, m->tid, preempt_sig);
}

// Does an M at rest still take one of these?
bool resting_open(u64 bits) {
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next)
    if (!as_atomic(&m->curg).load_relaxed() && (bits & ~as_atomic(&m->kmask).load_relaxed())) return true;
  return false;
}

// Called by gmpt_sig_landing.
void sig_return_fix(void* frame) {
  auto* f = static_cast<os::SigFrame*>(frame);
  u64 all = ~u64{0} & ~os::sig_bit(os::kSigSegv);
  os::sigprocmask(0, &all, nullptr);  // from here to rt_sigreturn this G stays on this M
  M* m = mm();
  G* g = m->curg;
  u64 back = f->uc.sigmask & ~(os::sig_bit(os::kSigKill) | os::sig_bit(os::kSigStop)), closed = back & ~g->sigmask;
  mask_counted(g->sigmask, back);
  g->sigmask = back;
  mask_raised(closed);  // a handler had opened these
  make_room(m);
  m->kmask = kernel_mask(g->sigmask);
  f->uc.sigmask = m->kmask;
  f->uc.stack = m->sigstack;
  fence();  // [kick]
  if (os::SigInfo si; !m->resent && claim_queued(g, &si)) resend(m, si);  // the next one, as the kernel would, at once
  if (signal_pending_for(g) || signals_waiting()) m->pending.fetch_or_acq_rel(kPendSignal);
}

// Whose default action ends the process, other than faults: HUP INT QUIT USR1 USR2 ALRM TERM STKFLT XCPU VTALRM PROF
// IO PWR and 34..64. A signal that all threads block must pend, but between a thread's blocking it and the last resting
// M's doing so it may still arrive there.
constexpr u64 kEndsProcess = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 9 | 1u << 11 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << 23 | 3u << 25 |
                             3u << 28 | ~u64{0} << 33;

void catch_defaults(u64 fresh) {
  os::Guard l(actions_lock);
  caught_default |= fresh;
  for (u64 d = fresh; d; d &= d - 1) {
    int sig = __builtin_ctzll(d) + 1;
    if (!actions[sig].handler) install(sig, actions[sig]);
  }
}
}  // namespace

void mask_counted(u64 from, u64 to) {
  if (from == to) return;
  for (u64 d = from ^ to; d; d &= d - 1) {
    int i = __builtin_ctzll(d);
    if (to >> i & 1) blocking[i].fetch_add_relaxed(1);
    else blocking[i].fetch_sub_acq_rel(1);
  }
  if (u64 fresh = to & kEndsProcess & ~caught_default; GMPT_UNLIKELY(fresh)) catch_defaults(fresh);
  if (!from) any_blocking.fetch_add_relaxed(1);
  if (!to) any_blocking.fetch_sub_acq_rel(1);
  if (from & ~to) signals_opened();
}

// [settled]  writer: begun; both counts; settled  |  reader: settled; both counts; begun. Equal: nobody was in between.
void counted_at_birth(u64 mask) {
  if (GMPT_UNLIKELY(mask)) begun.fetch_add_acq_rel(1);
  sched.n_gs.fetch_add_acq_rel(1);
  mask_counted(0, mask);
  if (GMPT_UNLIKELY(mask)) settled.fetch_add_acq_rel(1);
  signals_opened();
}

void counted_at_end(u64 mask) {
  if (GMPT_UNLIKELY(mask)) begun.fetch_add_acq_rel(1);
  mask_counted(mask, 0);
  sched.n_gs.fetch_sub_acq_rel(1);
  if (GMPT_UNLIKELY(mask)) settled.fetch_add_acq_rel(1);
  // What it alone had open. Who joins it waits for the answer; others cannot know that it has ended.
  if (u64 fresh = kernel_mask(blocked_by_all()) & ~mask; GMPT_UNLIKELY(fresh) && resting_open(fresh)) kick_resting();
}

u64 blocked_by_all() {
  if (GMPT_LIKELY(!any_blocking.load_acquire())) return 0;
  for (u32 looks = 1;; looks++) {
    u64 m = 0;
    u32 then = settled.load_acquire(), all = sched.n_gs.load_acquire();
    for (int i = 0; i < 64; i++)
      if (blocking[i].load_acquire() >= all) m |= u64{1} << i;
    if (GMPT_LIKELY(begun.load_acquire() == then)) return m;
    if (looks % 64) {
      arch::pause();
      continue;
    }
    os::Ts t = os::to_ts(20 * kUs);  // who is between two counts may need this CPU, and be of a lower priority
    os::sys(__NR_nanosleep, &t, 0);
  }
}

// Closed is what was and stays closed, until the kernel has the rest, too: resting_open believes this. A handler may
// close it altogether meanwhile (put_aside), and that stays.
void switch_mask(M* m, u64 want, bool rests) {
  make_room(m);
  u64 both = m->kmask & want;
  as_atomic(&m->kmask).store_release(both);
  if (rests) {
    fence();  // [rest]
    want |= kernel_mask(blocked_by_all());
  }
  os::set_mask(want);
  as_atomic(&m->kmask).cas_acq_rel(both, want);
}

// [rest]  curg and kmask stored; fence; blocking[] read  |  change_mask: blocking[] raised; fence; curg and kmask read.
// One of the two sees that this M would take what everybody blocks by now.
void open_mask(M* m, u64 also) {
  for (;;) {
    fence();
    u64 want = kernel_mask(blocked_by_all() | also);
    if (GMPT_LIKELY(m->kmask == want)) return;
    switch_mask(m, want, true);
  }
}

void* handler_of(int sig) { return actions[sig].handler; }
void act_by_default(const os::SigInfo& si) { default_action(si.signo, &si); }

u64 kernel_mask(u64 mask) {
  u64 never = os::sig_bit(preempt_sig) | os::sig_bit(os::kSigCancel) | os::sig_bit(os::kSigSetxid);
  if (os::fs_mode == FsMode::kLazy) never |= os::sig_bit(os::kSigSegv);
  return mask & ~never;
}

bool signals_ours() { return taken_over; }

void signals_boot(G* g) {
  main_g = g;
  gmpt_hooks.sig_return_fix = &sig_return_fix;
  sigqueue_reset();
  process_signals.store_relaxed(0);
  any_blocking.store_relaxed(0);
  for (auto& b : blocking) b.store_relaxed(0);
  begun.store_relaxed(0);  // a forked child: another thread may have been in between
  settled.store_relaxed(0);
  for (int s = 1; s <= 64; s++) {
    os::KSigaction k{};
    if (os::sigaction(s, nullptr, &k) != 0) continue;
    actions[s] = SigAction{k.handler, k.flags, k.mask};
  }
  if (g) take_over_pending(g);
  taken_over = true;
  for (int s = 1; s <= 64; s++) {
    if (s == os::kSigKill || s == os::kSigStop || s == os::kSigCancel || s == os::kSigSetxid) continue;
    bool need = reinterpret_cast<uptr>(actions[s].handler) > 1 || s == preempt_sig || (s == os::kSigSegv && os::fs_mode == FsMode::kLazy);
    if (need) install(s, actions[s]);
  }
}

void signals_child(G* g) {
  caught_default = 0;
  taken_over = false;
  process_signals.store_relaxed(0);
  begun.store_relaxed(0);
  settled.store_relaxed(0);
  timers_of_child();
  main_g = nullptr;
  for (u64 d = installed; d; d &= d - 1) {
    int s = __builtin_ctzll(d) + 1;
    os::KSigaction k{};
    if (os::sigaction(s, nullptr, &k) != 0 || k.handler != reinterpret_cast<void*>(&on_signal)) continue;
    k = os::KSigaction{actions[s].handler, actions[s].flags | os::kSaRestorer, reinterpret_cast<void*>(&gmpt_sig_restorer), actions[s].mask};
    os::sigaction(s, &k, nullptr);
  }
  os::SigStack ss = g->altstack;
  if (!ss.size) ss.flags = 2 /* SS_DISABLE */;
  os::sigaltstack(&ss, nullptr);
  os::set_mask(g->sigmask);
}

i64 set_action(int sig, const SigAction* sa, SigAction* old) {
  if (sig < 1 || sig > 64 || (sa && (sig == os::kSigKill || sig == os::kSigStop))) return -os::kEINVAL;
  os::Guard l(actions_lock);
  if (old) *old = actions[sig];
  if (sa) {
    actions[sig] = *sa;
    install(sig, *sa);
  }
  return 0;
}

// What this thread sends next must find them blocking. They answer in some 20 us, unless they are off their CPUs; beside
// real-time threads that may be for good.
// Another thread may open it again meanwhile. A kick may come between an M's last look and its sleep.
void wait_for_resting(u64 bits) {
  u64 begun_at = os::now_ns(), limit = sched.real_time.load_relaxed() ? 20 * kMs : 500 * kMs, kick_at = kMs;
  while ((bits &= kernel_mask(blocked_by_all())) && resting_open(bits)) {
    u64 waited = os::now_ns() - begun_at;
    if (waited >= limit) return;
    if (waited >= kick_at) kick_resting(), kick_at = waited + kMs;
    os::Ts t = os::to_ts(50 * kUs);
    if (waited < kMs) os::sched_yield();
    else os::sys(__NR_nanosleep, &t, 0);
  }
}

void mask_raised(u64 bits) {
  if (GMPT_LIKELY(!bits)) return;
  fence();  // [rest]
  if (u64 fresh = kernel_mask(blocked_by_all()) & bits; fresh && resting_open(fresh)) {
    kick_resting();
    wait_for_resting(fresh);
  }
}

u64 change_mask(G* g, int how, const u64* set) {
  enter();
  M* m = mm();
  u64 old = g->sigmask, fresh = 0;
  if (set) {
    u64 s = *set & ~(os::sig_bit(os::kSigKill) | os::sig_bit(os::kSigStop));
    u64 now = how == 0 ? old | s : how == 1 ? old & ~s : s;
    mask_counted(old, now);
    g->sigmask = now;
    fence();  // [kick] [give] mask, then sigpending; [rest]
    if (GMPT_UNLIKELY(g->sigpending.load_relaxed() & now & ~old)) give_back(g, now & ~old, false);
    if (kernel_mask(now) != m->kmask) {
      make_room(m);
      m->kmask = kernel_mask(now);
      os::set_mask(m->kmask);
    }
    if (signal_pending_for(g) || signals_waiting()) m->pending.fetch_or_acq_rel(kPendSignal);
    if (GMPT_UNLIKELY(now & ~old)) fresh = kernel_mask(blocked_by_all()) & now & ~old;
    if (GMPT_UNLIKELY(fresh) && resting_open(fresh)) kick_resting();
  }
  leave();
  if (GMPT_UNLIKELY(fresh)) wait_for_resting(fresh);
  return old;
}

// The program sent itself a signal whose default action ends it: natively the call does not return. The kernel has our
// handler in place of that action if some thread ever blocked the signal, and would give it to any M, some time.
bool ends_process(int sig) {
  u64 bit = os::sig_bit(sig);
  if (!(as_atomic(&caught_default).load_relaxed() & bit) || actions[sig].handler) return false;
  os::KSigaction dfl{};
  os::sigaction(sig, &dfl, nullptr);
  os::sys(__NR_kill, sched.pid, sig);
  return true;
}

// As post_signal, for any disposition: what has no handler is the kernel's to act upon.
i64 send_to_g(G* g, const os::SigInfo& info) {
  int sig = info.signo;
  void* h = actions[sig].handler;
  if (reinterpret_cast<uptr>(h) > 1 || (g->sigmask & os::sig_bit(sig))) return post_signal(g, sig, info);
  if (h || ends_process(sig)) return 0;              // ignored, or the end
  return os::sys(__NR_kill, sched.pid, sig);         // default: the same for every thread
}

}  // namespace gmpt::core
