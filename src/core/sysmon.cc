// core/sysmon.cc -- the monitor: a kernel thread without a P that takes Ps from Ms asleep in the kernel,
// asks for preemption, and does the timers and polling that busy Ps do not get to.
//
// Invariants
//   Y1  It sleeps 20 µs to 10 ms, doubling after 50 rounds without anything to do, never past the next
//       timer that no poller waits for. When every P is idle it looks every millisecond, and after kIdleLooks
//       looks between which nothing ran it sleeps for good: an idle process makes no wake-ups at all, and one
//       that rests for moments only does not pay for waking the monitor after each.
//   Y2  Taking the P of an M that runs on is safe (sys.h); the checks below are policy, so a wrong guess
//       costs time, never correctness.
//   Y3  To signals it is an M at rest that never works: when every other M runs threads that block a signal, it is
//       the one that takes it for the thread that does not.
//   Y4  Its table of descriptors is its own and holds the poller's two: what it opens in /proc never has a number
//       that the program expects next.
//
// Who touches what
//   The since/looked/asked fields of P and M are its own.
//
// Rejected
//   Ms of a real-time priority whenever they are in the runtime: two system calls for each switch.
//
// Lineage   Go's sysmon and retake; looking into /proc, wake-up preemption and adaptive slices are ours.
#include "arch/context.h"
#include "base/fmt.h"
#include "base/options.h"
#include "core/m_start.h"
#include "core/ownm.h"
#include "core/preempt.h"
#include "core/realclock.h"
#include "core/sched.h"
#include "core/signal.h"
#include "core/trace.h"
#include "os/clock.h"
#include "os/fs.h"

namespace gmpt::core {

namespace {

constexpr u64 kMinTurn = 250 * kUs;      // nobody is preempted for a waking thread before this
constexpr u64 kLookAfter = 500 * kUs;    // in program code this long with others waiting: asleep in the kernel?
constexpr u64 kLookEvery = 1 * kMs;
constexpr u64 kTakeAnyway = 10 * kMs;    // unanswered preemption: the M runs on without its P
constexpr u64 kQuickNap = 2 * kMs;       // between looks at Ps that turn quickly
constexpr u64 kPollEvery = 1 * kMs;
constexpr u64 kIdleNap = 1 * kMs;
constexpr u64 kPollIdle = 10 * kMs;      // while nothing runs but, perhaps, real-time threads
constexpr u64 kAfterIdle = 100 * kUs;
constexpr u32 kIdleLooks = 2;
constexpr u64 kPollAnyway = 10 * kMs;
constexpr u64 kBoostAfter = 1 * kMs;

// /proc/…/syscall says "running", also of one that is ready to, or the call and its arguments.
bool asleep(i32 tid) {
  char buf[256];
  Fmt f(buf, sizeof buf);
  f.str("/proc/self/task/").dec(tid).str("/syscall");
  i64 fd = os::sys(__NR_openat, -100, f.c_str(), 02000000, 0);
  if (fd < 0) return false;
  i64 n = os::sys(__NR_read, fd, buf, sizeof buf);
  os::sys(__NR_close, fd);
  return n > 0 && buf[0] != 'r';
}

u64 runnable_count() {
  u64 n = sched.globq_size.load_relaxed();
  for (u32 i = 0; i < sched.n_procs; i++) {
    P* p = sched.ps[i];
    n += p->runq.size() + (p->runq.next.load_relaxed() != nullptr);
  }
  return n;
}

// As long as the kernel's turns, not Go's 10 ms: programs whose threads spin for each other, such as redis with I/O
// threads, are tuned to those. A preemption costs some 5 us.
constexpr u64 kSlice = 2 * kMs, kShortest = 1 * kMs;
u64 slice_ns(u64 runnable) {
  if (options.slice_us) return options.slice_us * kUs;
  u64 per_p = runnable / sched.n_procs;
  return max_of(kSlice / (per_p ? per_p : 1), kShortest);
}

bool take(P* p, u64 word) {
  if (!p->word.cas_acq_rel(word, kTaken)) return false;
  M* m = p_owner(word);
  m->lost = true;
  m->lost_since = os::now_ns();
  sched.stats.handoffs++;
  p->since = 0;
  hand_off_p(p);
  return true;
}

// An ordinary M that holds a P in the runtime and gets no further, beside a real-time thread that has the CPU: another
// real-time thread may wait for what it is about to do. It is lent a priority until it is seen elsewhere; an ordinary G
// has the rest of that as well, a millisecond at most.
constexpr i32 kOther = 0, kFifo = 1, kResetOnFork = 0x40000000;
u32 n_boosted;

bool set_policy(i32 tid, i32 policy, i32 priority) { return os::sys(__NR_sched_setscheduler, tid, policy, &priority) == 0; }

void boost(M* m) {
  i32 priority = sched.boost.load_relaxed(), tid = m->tid;
  if (!priority || !tid || m->boosted || os::sys(__NR_sched_getscheduler, tid) != kOther) return;
  if (!set_policy(tid, kFifo | kResetOnFork, priority)) return;
  m->boosted = priority;
  n_boosted++;
}

void end_boosts() {
  if (GMPT_LIKELY(!n_boosted)) return;
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next) {
    if (!m->boosted) continue;
    P* p = m->p;
    if (p && p->word.load_acquire() == reinterpret_cast<u64>(m)) continue;
    i32 tid = m->tid, now = 0;
    // Its G may have asked for a policy of its own meanwhile.
    bool ours = tid && os::sys(__NR_sched_getparam, tid, &now) == 0 && now == m->boosted;
    if (ours && !set_policy(tid, kOther, 0)) set_policy(tid, kOther | kResetOnFork, 0);
    m->boosted = 0;
    n_boosted--;
  }
}

// One P. True if something was done.
bool retake(P* p, u64 now, u64 slice, bool others_wait) {
  u64 word = p->word.load_acquire();
  M* m = p_owner(word);
  if (!m) {  // idle, or in a thief's hand
    p->since = 0;
    return false;
  }
  bool in_user = word & kUserTag;
  u32 tick = p->sched_tick.load_relaxed(), sys_tick = m->sys_tick.load_relaxed();
  if (!p->since || p->seen_tick != tick || p->seen_owner != m) {
    p->seen_tick = tick;
    p->seen_owner = m;
    p->seen_sys_tick = sys_tick;
    p->since = p->looked_at = now;
    p->asked_at = p->looked_cpu = 0;
    p->asleep = false;
    return false;
  }
  // A pair that readies each other shares one slice (runnext), in the runtime or out of it: so the tick
  // counts, not the tag.
  if (!in_user && now - p->since > kBoostAfter && GMPT_UNLIKELY(sched.real_time.load_relaxed())) boost(m);
  bool queued = others_wait || !p->runq.empty();
  bool work = queued || (netpoll_has_waiters() && sched.last_poll.load_relaxed() != 0) || p->timers.next.load_relaxed() != kNever;
  if (!work && sched.n_idle_p.load_relaxed()) return false;
  u64 ran = now - p->since;
  if (in_user) {
    bool same_call = m->in_sys.load_relaxed() && p->seen_sys_tick == sys_tick;  // for one tick of ours, 20 us or more
    p->seen_sys_tick = sys_tick;
    if (same_call && (work || ran > 10 * kMs)) return take(p, word);
    if (!work) return false;
    if (ran > kLookAfter && now - p->looked_at >= kLookEvery) {
      p->looked_at = now;
      // A moment in the kernel (a page, a lock) is no sleep: no processor time since the last look is. That also
      // spares the look into /proc, 20 times the price, for threads that compute.
      u64 cpu = os::clock_ns(~m->tid << 3 | 6 /* of that thread: run time */);
      bool still = cpu == p->looked_cpu;
      p->looked_cpu = cpu;
      p->asleep = still && asleep(m->tid);
      if (p->asleep) return take(p, word);
    }
  }
  if (ran < slice || !queued) return false;
  if (in_user && m->in_sys.load_relaxed()) return true;  // no signal into a call that may be half done: the next look takes the P
  if (!p->asked_at) p->asked_at = now;
  if (in_user && now - p->asked_at > kTakeAnyway) return take(p, word);
  if (options.preempt && !(in_user && p->asleep)) preempt_m(m);
  return true;
}

// Ms whose P was taken and who run on in program code: bring them in.
void kick_lost(u64 now) {
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next) {
    if (!m->lost || now - m->lost_since < 10 * kMs || now - m->last_kick < 10 * kMs) continue;
    m->last_kick = now;
    if (m->in_sys.load_relaxed() || asleep(m->tid)) continue;
    if (options.preempt) preempt_m(m);
  }
}

// Somebody woke while every P is busy: the P whose G had the longest turn gives way.
void make_room(u64 now) {
  P* best = nullptr;
  for (u32 i = 0; i < sched.n_procs; i++) {
    P* p = sched.ps[i];
    u64 word = p->word.load_acquire();
    if (!(word & kUserTag) || word == kTaken) continue;
    M* m = p_owner(word);
    // An M that has not answered yet may be off its CPU: ask the next one instead.
    if (m->preempt_sent.load_relaxed() || m->in_sys.load_relaxed()) continue;
    if (p->since && p->seen_owner == m && now - p->since >= kMinTurn && (!best || p->since < best->since)) best = p;
  }
  if (!best) return;
  u64 word = best->word.load_acquire();
  M* m = p_owner(word);
  if ((word & kUserTag) && word != kTaken && options.preempt) preempt_m(m);
}

// Expired timers of all Ps. Their Gs go ahead of the global queue.
bool late_timers(u64 now) {
  bool any = false;
  for (u32 i = 0; i < sched.n_procs; i++) {
    P* p = sched.ps[i];
    if (p->timers.next.load_acquire() > now) continue;
    G *head = nullptr, *tail = nullptr;
    sched.stats.timers_fired += p->timers.run(now, &head, &tail);
    while (head) {
      G* after = head->link;
      head->state.store_release(GState::kRunnable);
      globq_push_woken(head);
      head = after;
      any = true;
    }
  }
  return any;
}

void late_clock() {
  GList l;
  real_clock_look(os::now_ns(), &l);
  while (!l.empty()) globq_push_woken(l.pop());
}

void poll_into_wokenq() {
  GList l;
  netpoll(0, &l);
  while (!l.empty()) globq_push_woken(l.pop());
}

void late_poll(u64 now) {
  u64 last = sched.last_poll.load_acquire();
  if (!netpoll_started() || !netpoll_has_waiters()) return;
  if (last == 0 && sched.real_time.load_relaxed()) {  // whoever is asleep in the poller may not get the CPU
    static u64 looked;
    if (now - looked < kPollEvery) return;
    looked = now;
    return poll_into_wokenq();
  }
  if (last == 0 || now - last < kPollEvery) return;
  // A P between short turns does it itself, and puts what it finds behind those who already wait.
  for (u32 i = 0; i < sched.n_procs && now - last < kPollAnyway; i++) {
    P* p = sched.ps[i];
    if (!p_owner(p->word.load_relaxed()) || (p->since && p->seen_tick == p->sched_tick.load_relaxed() && now - p->since >= kMinTurn)) continue;
    sched.poll_wanted.store_relaxed(1);
    return;
  }
  if (sched.last_poll.cas_acq_rel(last, now)) poll_into_wokenq();
}

u64 earliest_timer() {
  u64 t = kNever;
  for (u32 i = 0; i < sched.n_procs; i++) t = min_of(t, sched.ps[i]->timers.next.load_acquire());
  return t;
}

// Every P that runs had many turns since the last look: they find their timers and sockets themselves, and nobody
// has to give way. Each look costs them two switches, 4 % of a busy CPU at a look every half millisecond.
bool quick_turns() {
  bool any = false;
  for (u32 i = 0; i < sched.n_procs; i++) {
    P* p = sched.ps[i];
    if (!p_owner(p->word.load_relaxed())) continue;
    if (p->sched_tick.load_relaxed() - p->seen_tick < 16) return false;
    any = true;
  }
  return any;
}

u32 turns() {
  u32 n = 0;
  for (u32 i = 0; i < sched.n_procs; i++) n += sched.ps[i]->sched_tick.load_relaxed();
  return n;
}

// Only where somebody else minds what may come: without kernel threads to be had, Gs and timers may wait beside idle Ps.
// Real-time threads may keep the CPU from the M in the netpoller; then it is not for long. False: it is time to look.
bool deep_sleep(M* m) {
  sched.lock.lock();
  bool polled = sched.last_poll.load_relaxed() == 0;
  bool idle = sched.n_idle_p.load_relaxed() == sched.n_procs && !sched.globq_size.load_relaxed() &&
              (polled || (earliest_timer() == kNever && !netpoll_has_waiters()));
  if (idle) {
    m->park.clear();
    sched.sysmon_waits.store_release(kSysmonUnlimited);
  }
  sched.lock.unlock();
  if (!idle) return false;
  fence();  // [poller] in privatep.cc
  u64 limit = kNever;
  if (sched.real_time.load_relaxed() && netpoll_has_waiters()) {
    u32 unlimited = kSysmonUnlimited;
    sched.sysmon_waits.cas_acq_rel(unlimited, 1);
    limit = kPollIdle;
  }
  if (rest_until_woken(m, limit)) return true;
  if (!sched.sysmon_waits.exchange_acq_rel(0)) rest_until_woken(m);  // the wake is on its way
  return false;
}

// A short request of time lets the kernel (EEVDF, 6.12 and later) run the monitor soon after it wakes, ahead of
// Ms in the middle of a long turn. No privilege is needed; where it is not known it changes nothing.
void ask_for_short_slice() {
  struct { u32 size, policy; u64 flags; i32 nice; u32 priority; u64 runtime, deadline, period; u32 util_min, util_max; } a;
  if (os::sys(315 /* sched_getattr */, 0, &a, sizeof a, 0) != 0 || a.policy != 0) return;
  a.runtime = 100 * kUs;
  os::sys(314 /* sched_setattr */, 0, &a, 0);
}

void sysmon_main(void* arg) {
  M* m = static_cast<M*>(arg);
  m_begins(m);
  // The trace goes to the program's standard error. An M of sysmon's making would have its table.
  if (!options.schedtrace_ms && template_tid()) m->changed = netpoll_private_table();
  sched.sysmon_up.store_release(1);
  os::futex_wake(&sched.sysmon_up, 1);
  ask_for_short_slice();
  n_boosted = 0;
  for (M* o = sched.all_ms.load_acquire(); o; o = o->all_next) o->boosted = 0;
  u64 delay = 20 * kUs, next_trace = 0;
  u32 quiet = 0, idle_looks = 0, turns_before = 0;
  bool quick = false, was_idle = false;
  u64 blocked_before = ~u64{0};
  for (;;) {
    bool trace = options.schedtrace_ms != 0;
    u64 blocked = blocked_by_all();
    open_mask(m, blocked_before);  // what a thread opens for a moment, as in ppoll(), is that thread's to take
    blocked_before = blocked;
    bool idle = sched.n_idle_p.load_relaxed() == sched.n_procs;
    if (u32 t = turns(); idle && t == turns_before) {
      idle_looks++;
    } else {
      idle_looks = 0;
      turns_before = t;
      if (!idle && was_idle) {
        quiet = 0;
        delay = min_of(delay, kAfterIdle);
      }
    }
    was_idle = idle;
    if (!trace && idle_looks > kIdleLooks && deep_sleep(m)) {
      delay = 20 * kUs;
      quiet = idle_looks = 0;
      idle = false;
    }
    u64 sleep = idle ? kIdleNap : delay, now = os::now_ns();
    if (sched.real_time.load_relaxed() || !netpoll_started() || sched.last_poll.load_relaxed() != 0) {  // nobody sleeps in the poller until then
      u64 t = earliest_timer();
      if (t != kNever) sleep = t > now ? min_of(sleep, max_of(t - now, 20 * kUs)) : 20 * kUs;
      if (netpoll_has_waiters()) sleep = min_of(sleep, kPollEvery);
    }
    if (options.slice_us) sleep = min_of(sleep, max_of(options.slice_us * kUs / 2, 20 * kUs));
    else if (quick) sleep = kQuickNap;
    sched.sysmon_until.store_relaxed(quick ? 0 : now + sleep);
    fence();  // [until]
    if (quick || earliest_timer() >= now + sleep) os::futex_wait(&sched.sysmon_poke, 0, sleep);
    sched.sysmon_until.store_relaxed(0);
    sched.sysmon_poke.store_relaxed(0);
    now = os::now_ns();
    bool did = false;
    netpoll_follow();
    late_timers(now);
    late_clock();
    late_poll(now);
    bool signals = signals_waiting();
    if (signals) {  // every P is busy, or all rest and the M that got it slept on
      wake_for_signals();
      did = true;
    }
    // What woke has to be let in: by an idle P, or by whoever had the longest turn. That may take more than
    // one round (every turn too young, a thread in libc), so the wish stands until all are gone.
    bool room_wanted = sched.woken_size.load_relaxed() != 0 || signals;
    if (room_wanted) {
      bool idle_p = sched.n_idle_p.load_relaxed() != 0;
      if (idle_p) wake_p();
      if (!idle_p || sched.real_time.load_relaxed()) make_room(now);
    }
    quick = !options.slice_us && quick_turns();
    u64 runnable = runnable_count(), slice = slice_ns(runnable);
    bool waiting = sched.globq_size.load_relaxed() != 0 || signals;
    for (u32 i = 0; i < sched.n_procs; i++) did |= retake(sched.ps[i], now, slice, waiting);
    if (waiting && sched.n_idle_p.load_relaxed()) wake_p();
    kick_lost(now);
    end_boosts();
    if (trace && now >= next_trace) {
      trace_line(now);
      next_trace = now + options.schedtrace_ms * kMs;
    }
    if (did) {
      quiet = 0;
      delay = 20 * kUs;
    } else if (++quiet > 50) {
      delay = min_of(delay * 2, 10 * kMs);
    }
    if (room_wanted && delay > kMinTurn / 2) delay = kMinTurn / 2;
    if (GMPT_UNLIKELY(sched.real_time.load_relaxed())) delay = min_of(delay, kBoostAfter);
    if (runnable && delay > slice / 2) delay = max_of(slice / 2, 20 * kUs);
  }
}

}  // namespace

void start_sysmon() {
  M* m = make_m();
  GMPT_CHECK(m, "no memory for the monitor");
  sched.sysmon = m;
  u64 all = ~u64{0}, old;
  os::sigprocmask(2, &all, &old);
  i32 tid;
  i64 r = gmpt_clone(kMCloneFlags, reinterpret_cast<void*>(m->g0_sp), &tid, reinterpret_cast<void*>(os::fs_initial()), nullptr, &sysmon_main, m);
  os::sigprocmask(2, &old, nullptr);
  GMPT_CHECK(r > 0, "cannot start the monitor");
  while (!sched.sysmon_up.load_acquire()) os::futex_wait(&sched.sysmon_up, 0);  // its copies of descriptors are closed
}

}  // namespace gmpt::core
