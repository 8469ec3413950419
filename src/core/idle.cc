// core/idle.cc -- Ms and Ps at rest, and waking just enough of them.
//
// Invariants
//   I1  At most one wake-up is under way: wake_p raises n_spinning from 0 to 1 before it wakes anybody.
//   I2  A P on the idle list has an empty run queue.
//   I4  An M on its way to sleep is "resting". A P that needs an M goes to a resting one as an offer before a
//       new kernel thread is made, and nobody leaves the resting state without looking for an offer (all
//       under the lock), so n_offers <= n_resting and none is forgotten. Without this, wakes that come
//       faster than Ms get to sleep would start a kernel thread each.
//   I3  n_idle_p == n_procs means that nothing runs; then sysmon sleeps too.
//
// Memory orders
//   [dekker] submit side: the caller has pushed to a queue; fence() below; then n_spinning, n_idle_p.
//   [need]   the pair of find.cc's rest_p: need_spinning set, fence, n_idle_p read again. Go does this under
//            the scheduler's lock; here a busy process never takes that lock to wake nobody.
//   [unserved] no_m: unserved set (and the P idle), fence, last_poll read  |  poller: last_poll = 0, fence, unserved
//            read. Either it does not wait and takes the P, or it is woken to take it.
#include "core/m_start.h"
#include "core/sched.h"
#include "core/signal.h"
#include "os/clock.h"

namespace gmpt::core {

void p_idle_put_locked(P* p) {
  GMPT_DCHECK(p->runq.empty(), "idle P with work");
  p->word.store_release(0);
  p->idle = true;
  p->link = sched.idle_ps;
  sched.idle_ps = p;
  sched.n_idle_p.store_release(sched.n_idle_p.load_relaxed() + 1);
}

P* p_idle_get_locked() {
  P* p = sched.idle_ps;
  if (!p) return nullptr;
  sched.idle_ps = p->link;
  p->idle = false;
  sched.n_idle_p.store_release(sched.n_idle_p.load_relaxed() - 1);
  if (sched.sysmon_waits.load_acquire()) wake_sysmon();
  return p;
}

// For an M that saw work and needs a P for it: if there is none, the next M about to rest must look again.
P* p_idle_get_spinning_locked() {
  P* p = p_idle_get_locked();
  if (!p) sched.need_spinning.store_relaxed(1);
  return p;
}

void wire(M* m, P* p) {
  m->p = p;
  p->word.store_release(reinterpret_cast<u64>(m));
}

P* unwire(M* m) {
  P* p = m->p;
  m->p = nullptr;
  return p;
}

void wake_sysmon() {
  if (sched.sysmon_waits.exchange_acq_rel(0)) sched.sysmon->park.wake();
}

void poke_sysmon(u64 when) {
  fence();  // [until]
  if (netpoll_started() && sched.last_poll.load_relaxed() == 0) {  // the poller minds it, if it wakes in time
    if (when < sched.poll_until.load_acquire()) netpoll_break();
    if (GMPT_LIKELY(!sched.real_time.load_relaxed())) return;
  }
  if (GMPT_LIKELY(when >= sched.sysmon_until.load_relaxed())) return;
  hurry_sysmon();
}

void hurry_sysmon() {
  if (sched.sysmon_poke.exchange_acq_rel(1) == 0) os::futex_wake(&sched.sysmon_poke, 1);
}

void wake_p() {
  fence();  // [dekker] submit
  while (sched.n_idle_p.load_relaxed() == 0) {
    if (sched.n_spinning.load_relaxed() != 0) return;  // it will look again when it stops spinning
    // An M may be between "found nothing" and "gave its P back". Tell it, then look once more.
    if (sched.need_spinning.load_relaxed()) return;
    sched.need_spinning.store_relaxed(1);
    fence();  // [need]
    if (sched.n_idle_p.load_relaxed() == 0) return;
  }
  i32 zero = 0;
  if (sched.n_spinning.load_relaxed() != 0 || !sched.n_spinning.cas_acq_rel(zero, 1)) return;
  sched.lock.lock();
  P* p = p_idle_get_spinning_locked();
  if (!p) sched.n_spinning.fetch_sub_acq_rel(1);  // under the lock: nobody may act on need_spinning and meet this count
  sched.lock.unlock();
  if (p) start_m(p, true);
}

// m stops resting: because it sleeps (want = false), blocks in the netpoller (false) or saw work (true).
// Returns a P for it: an offer (then it must not sleep; *offered; m->spinning is set as the offer says), or
// with `want` an idle one.
P* rest_end(M* m, bool want, bool* offered) {
  os::Guard l(sched.lock);
  sched.n_resting--;
  *offered = false;
  if (P* p = sched.offers) {
    sched.offers = p->link;
    sched.n_offers--;
    m->spinning = p->offer_spins;
    *offered = true;
    return p;
  }
  return want ? p_idle_get_spinning_locked() : nullptr;
}

void start_m(P* p, bool spinning) {
  sched.lock.lock();
  M* m = sched.idle_ms;
  if (m) {
    sched.idle_ms = m->idle_link;
    sched.n_idle_m--;
  } else if (sched.n_resting > sched.n_offers) {
    p->offer_spins = spinning;
    p->link = sched.offers;
    sched.offers = p;
    sched.n_offers++;
    sched.lock.unlock();
    return;
  }
  sched.lock.unlock();
  sched.stats.wakes++;
  if (m) {
    m->spinning = spinning;
    m->next_p = p;
    m->park.wake();
    return;
  }
  if (!new_m(p, spinning)) no_m(p, spinning);
}

// No more kernel threads: going on with those there are. The P rests, and work in its ring moves to where running Ms
// look. But perhaps none runs: the last one may have been past every look, on its way to sleep, when start_m saw it
// neither asleep nor resting. So what it is by now counts; if still neither, it will come by stop_m or on
// its way into the netpoller and find `unserved`, or it is in there and is woken.
void no_m(P* p, bool spinning) {
  sched.lock.lock();
  if (sched.idle_ms || sched.n_resting > sched.n_offers) {
    sched.lock.unlock();
    return start_m(p, spinning);
  }
  while (G* g = p->runq.take_next()) globq_push_locked(g);
  while (G* g = p->runq.pop()) globq_push_locked(g);
  p_idle_put_locked(p);
  sched.unserved.store_relaxed(1);
  if (spinning) sched.n_spinning.fetch_sub_acq_rel(1);
  sched.lock.unlock();
  fence();  // [unserved]
  if (netpoll_started() && sched.last_poll.load_relaxed() == 0) netpoll_break();
}

// A signal came to an M at rest: some M with a P has to find the G that takes it.
void wake_for_signals() {
  sched.lock.lock();
  P* p = p_idle_get_locked();
  sched.lock.unlock();
  if (p) start_m(p, false);
}

// A kick (signal.cc) ends the sleep without waking, for a new mask.
bool rest_until_woken(M* m, u64 limit_ns) {
  while (!m->park.woken()) {
    m->park.clear_kick();
    open_mask(m);
    if (signals_waiting()) wake_for_signals();
    if (!m->park.sleep_for(limit_ns) && limit_ns != kNever) return false;
  }
  m->switch_tsc = 0;
  m->park.clear();
  return true;
}

void stop_m(bool resting) {
  M* m = mm();
  GMPT_CHECK(!m->spinning, "an M goes to sleep while it spins");
  sched.lock.lock();
  if (resting) {
    sched.n_resting--;
    if (P* p = sched.offers) {
      sched.offers = p->link;
      sched.n_offers--;
      m->spinning = p->offer_spins;
      sched.lock.unlock();
      return wire(m, p);
    }
  }
  if (GMPT_UNLIKELY(sched.unserved.load_relaxed())) {
    sched.unserved.store_relaxed(0);
    if (P* p = p_idle_get_locked()) {
      sched.lock.unlock();
      return wire(m, p);
    }
  }
  m->idle_link = sched.idle_ms;
  sched.idle_ms = m;
  sched.n_idle_m++;
  sched.lock.unlock();
  rest_until_woken(m);
  m->cur_fs = 0;
  P* p = m->next_p;
  m->next_p = nullptr;
  wire(m, p);
}

// Gives away a P whose M is blocked. An M is started in every case in which find_runnable would find
// something to do.
void hand_off_p(P* p) {
  if (!p->runq.empty() || sched.globq_size.load_acquire() || signals_waiting()) return start_m(p, false);
  fence();
  i32 zero = 0;
  if (sched.n_spinning.load_relaxed() + static_cast<i32>(sched.n_idle_p.load_relaxed()) == 0 && sched.n_spinning.cas_acq_rel(zero, 1))
    return start_m(p, true);
  sched.lock.lock();
  if (sched.globq_size.load_relaxed() || !p->runq.empty()) {
    sched.lock.unlock();
    return start_m(p, false);
  }
  // The last running P: somebody must be left to poll.
  u64 when = p->timers.next.load_acquire();
  if (sched.n_idle_p.load_relaxed() == sched.n_procs - 1 && sched.last_poll.load_acquire() != 0 && (when != kNever || netpoll_started())) {
    sched.lock.unlock();
    return start_m(p, false);
  }
  p_idle_put_locked(p);
  fence();  // [need] as in rest_p: a submitter may have counted on the spinner we saw, and on us
  bool need = sched.need_spinning.load_relaxed();
  sched.lock.unlock();
  if (need) wake_p();
  if (when != kNever) {
    u64 until = sched.poll_until.load_acquire();
    if (sched.last_poll.load_acquire() == 0 ? (until == 0 || when < until) : false) netpoll_break();
    else if (sched.last_poll.load_acquire() != 0) wake_p();
  }
}

}  // namespace gmpt::core
