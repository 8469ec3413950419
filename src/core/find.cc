// core/find.cc -- where the next G comes from: the order of places, stealing, and the retire side of the
// wake protocol.
//
// Invariants
//   The order is Go's, but for the second: due timers · who woke while every P was busy (late timers, sockets) ·
//   every 61st slice a batch of the global queue (not one G as in Go: a ring that never empties would hold up
//   the others 61-fold) · own runnext and ring ·
//   a batch of the global queue · a look at the netpoller · four rounds of stealing · give the P back ·
//   (spinners) look at every queue once more · block in the netpoller · sleep.
//   Who woke late goes ahead of the ring kWokenInRow times, then the ring has a turn: a server that is never
//   idle has somebody waking all the time, and whoever waits in the ring must not wait for the end of that.
//   Nor for the end of runnext: Gs that ready each other share a slice, but when each loses the P in a call, the next
//   one has a new slice, and two that wake each other so would keep the ring waiting for good. So when nothing was
//   looked for in the ring for the length of a slice, it goes first. That time begins when the turn of what was found
//   there last is over: in a ring of Gs that use their slices up those who woke would have no turn at all.
//
// Memory orders
//   [dekker] see sched.h. Every spinner re-scans after its decrement, not only the last one: wake_p makes
//            transient increments that are undone without a re-scan.
//   [need]   need_spinning set; fence; n_idle_p read (idle.cc: wake_p)  |  P idle; fence; need_spinning read.
//
// Rejected
//   A re-scan by Ms that did not spin: it burns CPU for nothing (Go removed it); need_spinning closes the
//   window it was for.
#include "core/find_order.h"
#include "core/privatep.h"
#include "core/sched.h"
#include "core/signal.h"
#include "os/clock.h"

namespace gmpt::core {

namespace {
void globq_counted_locked() {
  sched.woken_size.store_relaxed(sched.wokenq.n);
  sched.globq_size.store_relaxed(sched.globq.n + sched.wokenq.n);
}
}  // namespace

void globq_push_locked(G* g, bool woken) {
  (woken ? sched.wokenq : sched.globq).push(g);
  globq_counted_locked();
}

void globq_push(G* g) {
  if (GMPT_UNLIKELY(g->private_p)) return wake_private(g);
  os::Guard l(sched.lock);
  globq_push_locked(g);
}

void globq_push_woken(G* g) {
  if (GMPT_UNLIKELY(g->private_p)) return wake_private(g);
  os::Guard l(sched.lock);
  globq_push_locked(g, true);
}

namespace {

constexpr u32 kWokenInRow = 4;
constexpr u64 kRingWait = 6000000;  // cycles, 2 to 3 ms
constexpr u64 kWaited = 15000;  // cycles, 5 us: an epoll_wait that finds events at once takes one

G* globq_pop_locked(GList* q) {
  if (q->empty()) return nullptr;
  G* g = q->pop();
  globq_counted_locked();
  return g;
}

// One to run, and up to half a ring's worth of others into p's ring.
G* globq_batch_locked(P* p) {
  u32 size = sched.globq.n;
  if (!size) return globq_pop_locked(&sched.wokenq);
  u32 n = min_of(min_of(RunQueue::kCap / 2, size), size / sched.n_procs + 1);
  G* g = globq_pop_locked(&sched.globq);
  while (--n && !sched.globq.empty() && p->runq.push(sched.globq.head)) sched.globq.pop();
  globq_counted_locked();
  return g;
}

}  // namespace

// Owner only. With next, g runs next and the G it displaces goes to the ring's tail.
void runq_put(P* p, G* g, bool next) {
  if (GMPT_UNLIKELY(g->private_p)) return wake_private(g);
  if (GMPT_UNLIKELY(p->is_private)) {
    globq_push(g);
    return wake_p();
  }
  if (next) {
    G* old = p->runq.next.exchange_acq_rel(g);
    if (!old) return;
    g = old;
  }
  for (;;) {
    if (p->runq.push(g)) return;
    GList batch;
    if (!p->runq.pop_half(&batch)) continue;
    batch.push(g);
    os::Guard l(sched.lock);
    while (!batch.empty()) globq_push_locked(batch.pop());
    return;
  }
}

// Puts a list of Gs where they will be run. With a P: some go to the global queue, one M started for each
// idle P (they are known to have work, so they need not spin), the rest to p's ring.
void inject(GList* l, P* p) {
  pass_private(l);
  if (l->empty()) return;
  u32 idle = sched.n_idle_p.load_relaxed();
  {
    os::Guard g(sched.lock);
    // Without a P all go to the global queue, and a P that went idle before they were there has to be started: so
    // the count is not sampled before the push, each idle P is asked for after it.
    u32 n = p ? min_of(idle, l->n) : l->n;
    if (!p) idle = n;
    for (u32 i = 0; i < n; i++) globq_push_locked(l->pop());
    if (n < idle) idle = n;
  }
  for (; idle; idle--) {
    sched.lock.lock();
    P* ip = p_idle_get_locked();
    sched.lock.unlock();
    if (!ip) break;
    start_m(ip, false);
  }
  if (p && !l->empty()) {
    p->runq.push_list(l);
    while (!l->empty()) globq_push(l->pop());
    wake_p();
  }
}

namespace {

u32 next_rand(M* m) {  // xorshift32, per M
  u32 x = m->rand;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return m->rand = x;
}

// Readies what timers of p expired. True if anything did.
bool run_timers(P* p, P* mine, u64 now) {
  G *head = nullptr, *tail = nullptr;
  u32 n = p->timers.run(now, &head, &tail);
  if (!n) return false;
  mine->stats.timers_fired += n;
  for (G* g = head; g;) {
    G* after = g->link;
    g->state.store_release(GState::kRunnable);
    runq_put(mine, g, true);  // a timer's thread runs next: behind others it could wait for their slices
    g = after;
  }
  if (n > 1) wake_p();
  return true;
}

// runnext belongs to its owner, who is probably about to run it: a producer and its consumer stay together. In a G's
// turn of a few microseconds that is over; a G behind a longer turn is taken. Where the owner had other turns by then it
// gets on without us: out of its way, for the 50 us that the kernel makes of 3. Not watched: each look would take the
// line from the owner.
G* take_stale_next(P* v) {
  constexpr u64 kOwners = 10000;  // cycles, 3 to 5 us
  u64 turns = __atomic_load_n(&v->stats.switches, __ATOMIC_RELAXED);
  for (u64 t = arch::rdtsc(); arch::rdtsc() - t < kOwners;) arch::pause();
  if (__atomic_load_n(&v->stats.switches, __ATOMIC_RELAXED) == turns) return v->runq.take_next();
  os::Ts t = os::to_ts(3 * kUs);
  os::sys(__NR_nanosleep, &t, 0);
  return nullptr;
}

G* steal_work(M* m, P* p, bool* inherit) {
  for (u32 round = 0; round < 4; round++) {
    bool last = round == 3;
    StealOrder order(sched.n_procs, next_rand(m));
    for (u32 i; order.step(&i);) {
      P* v = sched.ps[i];
      if (v == p) continue;
      if (last && v->timers.next.load_acquire() != kNever) {
        u64 now = os::now_ns();
        if (v->timers.next.load_acquire() <= now && run_timers(v, p, now))
          if (G* g = p->runq.pop()) return g;
      }
      if (G* g = v->runq.steal_into(&p->runq)) {
        p->stats.steals++;
        return g;
      }
      if (last && v->runq.next.load_acquire()) {
        if (G* g = take_stale_next(v)) {
          p->stats.steals++;
          return g;
        }
      }
    }
  }
  *inherit = false;
  return nullptr;
}

bool any_queue_has_work() {
  for (u32 i = 0; i < sched.n_procs; i++)
    if (!sched.ps[i]->runq.empty()) return true;
  return false;
}

u64 earliest_timer() {
  u64 t = kNever;
  for (u32 i = 0; i < sched.n_procs; i++) t = min_of(t, sched.ps[i]->timers.next.load_acquire());
  return t;
}

void become_spinning(M* m) {
  m->spinning = true;
  sched.n_spinning.fetch_add_acq_rel(1);
}

// Gives p back, unless the global queue or need_spinning says that there is work after all: a G is
// returned, or m keeps p and spins. need_spinning is looked at after the P went idle, across a fence:
// its setter looks at n_idle_p again after setting it (idle.cc), so one of the two sees the other.
G* rest_p(M* m, P* p) {
  os::Guard l(sched.lock);
  if (G* g = globq_batch_locked(p)) return g;
  unwire(m);
  p_idle_put_locked(p);
  fence();  // [need]
  if (m->spinning || !sched.need_spinning.load_relaxed()) {
    sched.n_resting++;
    return nullptr;
  }
  sched.need_spinning.store_relaxed(0);
  wire(m, p_idle_get_locked());
  become_spinning(m);
  return nullptr;
}

// A look at the netpoller without waiting. Only one M at a time, and not while one is blocked in it. When the last look
// found nothing and no other P runs, the M is about to block in the netpoller anyway: one call instead of two, until
// that one finds events without waiting.
G* poll_now(M* m) {
  if (!netpoll_started() || !netpoll_has_waiters() || sched.last_poll.load_acquire() == 0) return nullptr;
  if (m->p->poll_missed && sched.n_idle_p.load_relaxed() + 1 == sched.n_procs && !m->spinning) return nullptr;
  if (sched.polling.exchange_acq_rel(1)) return nullptr;
  GList l;
  netpoll(0, &l);
  u64 was = sched.last_poll.load_relaxed();
  if (was) sched.last_poll.cas_acq_rel(was, os::now_ns());
  sched.polling.store_release(0);
  m->p->stats.polls++;
  m->p->poll_missed = l.empty();
  if (l.empty()) return nullptr;
  G* g = l.pop();
  inject(&l, m->p);
  return g;
}

}  // namespace

G* find_runnable(M* m, bool* inherit) {
top:
  P* p = m->p;
  GMPT_CHECK(!p->is_private, "an M with a private P looks for work");
  *inherit = false;
  if (GMPT_UNLIKELY(signals_waiting())) dispatch_signals();
  u64 poll_until = p->timers.next.load_acquire();
  if (poll_until != kNever) {
    u64 now = os::now_ns();
    if (poll_until <= now) run_timers(p, p, now);
    poll_until = p->timers.next.load_acquire();
  }
  if (GMPT_UNLIKELY(sched.poll_wanted.load_relaxed())) {
    // To the end of the line, unlike what sysmon finds; so not while the line goes on in the global queue.
    sched.poll_wanted.store_relaxed(0);
    p->poll_missed = false;
    if (!sched.globq_size.load_relaxed() && p->runq.size() <= RunQueue::kCap / 2)
      if (G* g = poll_now(m)) runq_put(p, g, false);
  }
  u32 tick = p->sched_tick.load_relaxed();
  u64 tsc = m->switch_tsc ? m->switch_tsc : arch::rdtsc();
  if (!p->ring_tsc) {
    p->ring_tsc = tsc;
  } else if (GMPT_UNLIKELY(tsc - p->ring_tsc > kRingWait)) {
    p->ring_tsc = 0;
    if (G* g = p->runq.pop()) return g;
    if (sched.globq_size.load_relaxed()) {
      os::Guard l(sched.lock);
      if (G* g = globq_batch_locked(p)) return g;
    }
  }
  if (GMPT_UNLIKELY(sched.woken_size.load_relaxed()) && p->woken_in_row < kWokenInRow) {
    p->woken_in_row++;
    os::Guard l(sched.lock);
    if (G* g = globq_pop_locked(&sched.wokenq)) return g;
  }
  p->woken_in_row = 0;
  if (GMPT_UNLIKELY(tick % 61 == 0 && sched.globq_size.load_relaxed())) {
    os::Guard l(sched.lock);
    if (G* g = globq_batch_locked(p)) return g;
  }
  if (G* g = p->runq.take_next()) {
    *inherit = true;
    return g;
  }
  p->ring_tsc = 0;
  if (G* g = p->runq.pop()) return g;
  if (sched.globq_size.load_relaxed()) {
    os::Guard l(sched.lock);
    if (G* g = globq_batch_locked(p)) return g;
  }
  m->switch_tsc = 0;  // the search is nobody's time
  if (G* g = poll_now(m)) return g;

  if (m->spinning || 2 * static_cast<u32>(sched.n_spinning.load_relaxed()) < sched.n_procs - sched.n_idle_p.load_relaxed()) {
    if (!m->spinning) become_spinning(m);
    if (sched.n_procs > 1) {
      if (G* g = steal_work(m, p, inherit)) return g;
      if (!p->runq.empty()) goto top;  // a thief's round ran timers
    }
  }

  if (G* g = rest_p(m, p)) return g;
  if (m->p) goto top;

  bool was_spinning = m->spinning, resting = true;
  if (was_spinning) {
    m->spinning = false;
    i32 n = sched.n_spinning.fetch_sub_acq_rel(1);
    GMPT_CHECK(n > 0, "negative count of spinning Ms");
    fence();  // [dekker] retire: the decrement, then every source again
    if (sched.globq_size.load_acquire() || any_queue_has_work()) {
      bool offered;
      P* got = rest_end(m, true, &offered);
      if (got) {
        wire(m, got);
        if (!m->spinning) become_spinning(m);  // submitters relied on this look: whatever P it is, the search goes on
        goto top;
      }
      resting = false;
    }
  }
  fence();  // a timer added after our look at the heap: its adder sees last_poll, or we see the timer
  poll_until = earliest_timer();

  if ((poll_until != kNever && netpoll_start()) || (netpoll_started() && netpoll_has_waiters())) {
    u64 old = sched.last_poll.exchange_acq_rel(0);
    if (old != 0) {
      bool offered = false;
      P* offer = resting ? rest_end(m, false, &offered) : nullptr;
      resting = false;
      if (offer) {
        // Another M may have gone to sleep trusting us to poll. Its P is idle: it went idle before its exchange
        // saw our zero, and so before wake_p's fence.
        sched.last_poll.store_release(old);
        wire(m, offer);
        wake_p();
        goto top;
      }
      sched.poll_until.store_release(poll_until);
      fence();  // [unserved], and:
      // Re-read after publishing poll_until: an adder who saw the former value did not break the poll.
      u64 again = earliest_timer();
      if (again < poll_until) {
        poll_until = again;
        sched.poll_until.store_release(again);
      }
      i64 delay = -1;
      if (poll_until != kNever) {
        u64 now = os::now_ns();
        delay = poll_until > now ? static_cast<i64>(poll_until - now) : 0;
      }
      if (delay != 0) open_mask(m);
      if (signals_waiting() || sched.unserved.load_relaxed()) delay = 0;
      GList l;
      u64 before = arch::rdtsc();
      netpoll(delay, &l);
      bool waited = arch::rdtsc() - before > kWaited;
      m->cur_fs = 0;
      sched.poll_until.store_release(0);
      sched.last_poll.store_release(os::now_ns());
      sched.lock.lock();
      P* got = p_idle_get_locked();
      sched.unserved.store_relaxed(0);
      sched.lock.unlock();
      if (!got) {
        inject(&l, nullptr);
        poke_sysmon(earliest_timer());  // without a P this M cannot serve the timer it woke for
        stop_m(false);
        goto top;
      }
      wire(m, got);
      got->poll_missed = waited;
      got->stats.polls++;
      poke_sysmon(earliest_timer());  // no longer ours to wake for
      if (!l.empty()) {
        G* g = l.pop();
        inject(&l, got);
        return g;
      }
      if (was_spinning) become_spinning(m);
      goto top;
    }
    u64 until = sched.poll_until.load_acquire();
    if (poll_until != kNever && (until == 0 || poll_until < until)) netpoll_break();
  }
  if (signals_waiting() && resting) {
    bool offered;
    P* got = rest_end(m, true, &offered);
    if (got) {
      wire(m, got);
      if (!offered) become_spinning(m);
      goto top;
    }
    resting = false;
  }
  stop_m(resting);
  goto top;
}

}  // namespace gmpt::core
