// core/ownm.cc -- keeping, making and ending changed Ms; the template; errands.
//
// Memory orders
//   [kick] as in signal.cc: errand set; fence; g->m read  |  g->m stored; fence; errand read (loop.cc).
//   `gone` is stored last: after it nothing touches the M's stacks, so they may be used again.
//
// Rejected
//   Trying a change on the template and taking it back: a kernel thread cloned in between would have it. Trying it on
//   one that ends then: it needs the CPU to end, and may have asked for one that it does not get.
//   Giving a changed M back its former state: most kinds cannot be taken back, and to know which can is to
//   know every option of prctl().
#include "core/ownm.h"

#include "arch/context.h"
#include "base/options.h"
#include "core/m_start.h"
#include "core/privatep.h"
#include "core/signal.h"
#include "core/sys.h"
#include "os/fs.h"

namespace gmpt::core {

void (*errand_hook)(G*);

namespace {

constexpr size_t kBareStack = 16 << 10;
GMPT_GLOBAL_LOCK(template_lock);
M* asked;                  // template_lock
os::Note asked_note;
Atomic<i32> template_id;   // its kernel id; 0 = none

M* next_asked() {
  os::Guard l(template_lock);
  M* m = asked;
  if (m) asked = m->idle_link;
  return m;
}

i64 clone_bare(void (*fn)(void*));

constexpr u32 kNoTrial = ~u32{0};
Atomic<u32> trial_id;      // its kernel id; 0 = none yet; or none could be made
Atomic<u32> trial_wanted;
void trial_main(void*) {
  static os::Note never;
  for (;;) never.sleep();
}
void make_trial() {
  i64 r = clone_bare(&trial_main);
  trial_id.store_release(r > 0 ? static_cast<u32>(r) : kNoTrial);
  os::futex_wake(&trial_id, 1 << 30);
}

void template_main(void*) {
  for (;;) {
    asked_note.clear();
    if (trial_wanted.exchange_acq_rel(0)) make_trial();
    while (M* m = next_asked()) {
      bool spare = m->spare, there = clone_m(m);
      if (spare) spare_made(m, there);
      else if (!there) no_m_for(m);
    }
    asked_note.sleep();
  }
}

// A kernel thread without signals but for the one that changes credentials.
i64 clone_bare(void (*fn)(void*)) {
  u8* s = static_cast<u8*>(os::map(kBareStack));
  if (!s) return -1;
  u64 all = ~os::sig_bit(os::kSigSetxid), old;
  os::sigprocmask(2, &all, &old);
  i32 tid;
  i64 r = gmpt_clone(kMCloneFlags, s + kBareStack, &tid, reinterpret_cast<void*>(os::fs_initial()), nullptr, fn, nullptr);
  os::sigprocmask(2, &old, nullptr);
  if (r <= 0) os::unmap(s, kBareStack);
  return r;
}

}  // namespace

i32 template_tid() {
  if (i32 t = template_id.load_acquire()) return t;
  os::Guard l(template_lock);
  if (i32 t = template_id.load_relaxed()) return t;
  i64 r = clone_bare(&template_main);
  if (r <= 0) return 0;
  template_id.store_release(static_cast<i32>(r));
  return static_cast<i32>(r);
}

i32 trial_tid() {
  if (!template_tid()) return 0;
  u32 t = kNoTrial;
  trial_id.cas_acq_rel(t, 0);  // there may be room by now
  while ((t = trial_id.load_acquire()) == 0) {
    trial_wanted.store_release(1);
    asked_note.wake();
    os::futex_wait(&trial_id, 0);
  }
  return t == kNoTrial ? 0 : static_cast<i32>(t);
}

bool template_clones(M* m) {
  if (!template_id.load_acquire()) return false;
  {
    os::Guard l(template_lock);
    m->idle_link = asked;
    asked = m;
  }
  asked_note.wake();
  return true;
}

void template_child() {
  asked = nullptr;
  asked_note.clear();
  template_id.store_relaxed(0);
  trial_id.store_relaxed(0);
  trial_wanted.store_relaxed(0);
}

bool own_begin(G* g) {
  if (!template_tid()) return false;
  pin(g);
  mm()->changed = true;
  return true;
}

void own_undo(G* g) {
  mm()->changed = false;
  unpin(g);
}

bool own_m_for(G* g, bool with_p, i32 policy, i32 priority) {
  M* m = make_m();
  if (!m) return false;
  m->changed = mm()->changed;
  m->ends = true;
  m->locked_g = g;
  m->own_policy = mm()->own_policy || policy >= 0;
  if (with_p) give_private(g, m);
  sched.n_ms.fetch_add_acq_rel(1);
  if (!clone_m(m)) {
    drop_private(g, m);
    m->gone.store_release(1);
    drop_m(m);
    return false;
  }
  if (policy >= 0) os::sys(__NR_sched_setscheduler, m->tid, policy, &priority);  // g tries it again when it begins
  g->locked_m = m;
  g->pins = policy >= 0 ? 2 : 1;
  return true;
}

void own_m_ends() {
  M* m = mm();
  drop_private(nullptr, m);
  if (P* p = unwire(m)) {
    p->word.store_release(kTaken);
    hand_off_p(p);
  }
  os::set_mask(~os::sig_bit(os::kSigSetxid));
  m->kmask = ~os::sig_bit(os::kSigSetxid);
  if (signals_waiting()) wake_for_signals();
  m->park.clear();  // a kick that came before
  while (m->is_m0) m->park.sleep_for(kNever);
  os::set_mask(m->kmask = ~u64{0});
  m->tid = 0;
  drop_m(m);
  gmpt_thread_gone(m->gone.raw());
}

void post_errand(G* g) {
  g->errand.store_release(1);
  fence();  // [kick]
  M* m = g->m;
  if (m && m == m_of_caller()) m->pending.fetch_or_acq_rel(kPendSignal);
  else if (m && m->curg == g) os::tgkill(sched.pid, m->tid, preempt_sig);
}

void run_errand(G* g) {
  g->errand.store_release(0);
  if (g->pins) {
    enter();
    u32 over = timer_pins_over(g, false);
    leave();
    while (over--) unpin(g);
  }
  if (cancel_async(g) && async_cancel_hook) async_cancel_hook();
  if (errand_hook) errand_hook(g);
}

}  // namespace gmpt::core
