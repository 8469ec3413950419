// core/privatep.cc -- private Ps: giving, taking back, and their Ms at rest.
//
// Memory orders
//   [note]  wake_private: the G's state stored, then the note's exchange  |  its M: the note, then execute().
//   [poller] the waiter is counted, fence, last_poll read  |  poller: last_poll != 0 stored, later its M's way to sleep:
//            fence (find.cc), the waiters counted. One of the two sees that somebody has to poll.
//            So with sysmon, that rests without a limit: sysmon_waits stored, fence, the waiters counted.
//
// Proof and tests   tests/model/private.pml; tests/posix/realtime_order, realtime_waits, realtime_wakes
#include "core/privatep.h"

#include "core/m_start.h"
#include "core/signal.h"
#include "core/sys.h"
#include "os/clock.h"
#include "os/slab.h"

namespace gmpt::core {

namespace {

constinit os::Slab p_slab(align_up(sizeof(P), size_t{128}), 64 << 10);
GMPT_GLOBAL_LOCK(free_lock);
P* free_ps;         // free_lock; linked by P::link
Atomic<u32> n_private;

P* take_p() {
  {
    os::Guard l(free_lock);
    if (P* p = free_ps) {
      free_ps = p->link;
      return p;
    }
  }
  P* p = static_cast<P*>(p_slab.take());
  if (!p) return nullptr;
  p->timers.next.store_relaxed(kNever);
  p->is_private = true;
  p->id = kMaxProcs;
  return p;
}

void put_p(P* p) {
  n_private.fetch_sub_acq_rel(1);
  os::Guard l(free_lock);
  p->link = free_ps;
  free_ps = p;
}

// The netpoller is run by Ms that share. If they sleep and none of them is in it, it has to be begun for us.
void need_poller() {
  if (!netpoll_started() || !netpoll_has_waiters()) return;
  fence();  // [poller]
  if (sched.last_poll.load_relaxed() != 0) wake_p();
  else if (sched.sysmon_waits.load_relaxed() == kSysmonUnlimited) wake_sysmon();  // that M may be an ordinary one
}

}  // namespace

bool private_p_begin(G* g) {
  enter();
  P* mine = take_p();
  if (mine) {
    M* m = mm();
    P* p = unwire(m);
    p->word.store_release(kTaken);
    wire(m, mine);
    g->private_p = true;
    n_private.fetch_add_relaxed(1);
    hand_off_p(p);
  }
  leave();
  return mine != nullptr;
}

void private_p_end(G* g) {
  enter();
  M* m = mm();
  P* mine = unwire(m);
  g->private_p = false;
  put_p(mine);
  enter_slow();
  leave();
}

bool give_private(G* g, M* m) {
  P* p = take_p();
  if (!p) return false;
  wire(m, p);
  g->private_p = true;
  n_private.fetch_add_relaxed(1);
  return true;
}

void drop_private(G* g, M* m) {
  if (!m->p || !m->p->is_private) return;
  put_p(unwire(m));
  if (g) g->private_p = false;
}

void rest_private(M* m) {
  P* p = m->p;
  while (!m->park.woken()) {
    m->park.clear_kick();
    open_mask(m);
    if (signals_waiting()) wake_for_signals();
    u64 next = p->timers.next.load_acquire(), now = next == kNever ? 0 : os::now_ns();
    if (next <= now) {
      G *head = nullptr, *tail = nullptr;
      p->stats.timers_fired += p->timers.run(now, &head, &tail);
      if (head) break;  // the only one whose timer is here; nobody else claimed it
      continue;
    }
    need_poller();
    m->park.sleep_for(next == kNever ? kNever : next - now);
  }
  m->switch_tsc = 0;
  m->park.clear();
  m->cur_fs = 0;
}

void wake_private(G* g) { g->locked_m->park.wake(); }

void pass_private(GList* l) {
  if (GMPT_LIKELY(!n_private.load_relaxed())) return;
  GList rest;
  while (!l->empty()) {
    G* g = l->pop();
    if (g->private_p) wake_private(g);
    else rest.push(g);
  }
  *l = rest;
}

void private_ps_child() {
  p_slab.reset();
  free_ps = nullptr;
  n_private.store_relaxed(0);
}

}  // namespace gmpt::core
