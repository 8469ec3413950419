// core/m_start.cc -- Ms: raw clone, own stacks, all signals blocked until both exist.
//
// Invariants
//   Nothing here calls libc: the thread that holds libc's malloc lock may be the very one that a new M is
//   to rescue.
//   An M that ended stays on all_ms with tid 0 until its memory serves a new one, which it may once `gone` is 1.
//
// Rejected
//   glibc's pthread_create for Ms: it takes the stack-list lock and allocates.
#include "core/m_start.h"

#include "arch/context.h"
#include "base/fmt.h"
#include "base/options.h"
#include "core/ownm.h"
#include "core/privatep.h"
#include "core/signal.h"
#include "os/clock.h"
#include "os/fs.h"
#include "os/slab.h"

namespace gmpt::core {

namespace {

constexpr size_t kG0Bytes = 64 << 10, kSigBytes = 64 << 10, kRingBytes = kSigRing * sizeof(os::SigInfo);
os::Slab m_slab(align_up(sizeof(M), size_t{128}), 64 << 10);

// [guard | signal stack | guard | g0)
bool give_stacks(M* m) {
  size_t total = kPage + kSigBytes + kPage + kG0Bytes;
  u8* p = static_cast<u8*>(os::map(total, true));
  if (!p) return false;
  os::sys(__NR_mprotect, p, kPage, 0);
  os::sys(__NR_mprotect, p + kPage + kSigBytes, kPage, 0);
  m->sigstack = os::SigStack{p + kPage, 0, 0, kSigBytes - kRingBytes};
  m->sig_ring = reinterpret_cast<os::SigInfo*>(p + kPage + kSigBytes - kRingBytes);
  m->g0_sp = reinterpret_cast<u64>(p + total);
  return true;
}

GMPT_GLOBAL_LOCK(dead_lock);
M* dead_ms;  // dead_lock

M* take_dead() {
  os::Guard l(dead_lock);
  for (M** at = &dead_ms; *at; at = &(*at)->idle_link) {
    M* m = *at;
    if (!m->gone.load_acquire()) continue;  // still on its stack
    *at = m->idle_link;
    return m;
  }
  return nullptr;
}

void publish(M* m) {
  if (m->known) return;
  m->known = true;
  M* head = sched.all_ms.load_acquire();
  do m->all_next = head; while (!sched.all_ms.cas_acq_rel(head, m));
}

// First code of a new kernel thread, on its g0 stack, all signals blocked.
void m_main(void* arg) {
  M* m = static_cast<M*>(arg);
  m_begins(m);
  open_mask(m);
  if (!m->locked_g) {  // else schedule() waits until somebody brings its G's turn
    if (GMPT_UNLIKELY(m->spare)) {
      m->spare = false;
      rest_until_woken(m);
    }
    P* p = m->next_p;
    m->next_p = nullptr;
    wire(m, p);
  }
  schedule();
}

Atomic<u32> n_coming;

}  // namespace

void m_begins(M* m) {
  os::gs_set(reinterpret_cast<uptr>(m));
  os::sigaltstack(&m->sigstack, nullptr);
  m->tid = os::gettid();
  publish(m);
}

M* make_m() {
  M* m = take_dead();
  if (m) {
    m->gone.store_relaxed(0);
    m->pending.store_relaxed(0);
    m->in_sys.store_relaxed(0);
    m->preempt_sent.store_relaxed(0);
    m->park.clear();
    m->curg = m->locked_g = nullptr;
    m->next_p = nullptr;
    m->cur_fs = 0;
    m->spinning = m->lost = m->changed = m->ends = m->own_policy = m->spare = m->from_call = false;
    m->switch_tsc = 0;  // the time in between is nobody's
    m->resent = 0;
    m->kmask = ~u64{0};
    m->in_rt = 1;
    return m;
  }
  m = static_cast<M*>(m_slab.take());
  if (!m || !give_stacks(m)) return nullptr;
  m->self = m;
  m->kmask = ~u64{0};  // as m_main finds it
  m->in_rt = 1;
  m->rand = static_cast<u32>(arch::rdtsc()) | 1;
  return m;
}

bool clone_m(M* m) {
  u64 all = ~u64{0}, old;
  os::sigprocmask(2, &all, &old);
  i64 r = gmpt_clone(kMCloneFlags, reinterpret_cast<void*>(m->g0_sp), &m->tid, reinterpret_cast<void*>(os::fs_initial()), nullptr, &m_main, m);
  os::sigprocmask(2, &old, nullptr);
  return r > 0;
}

void drop_m(M* m) {
  sched.n_ms.fetch_sub_acq_rel(1);
  os::Guard l(dead_lock);
  m->idle_link = dead_ms;
  dead_ms = m;
}

bool new_m(P* p, bool spinning) {
  static Atomic<u32> warned;
  u32 n = sched.n_ms.fetch_add_acq_rel(1) + 1;
  M* m = n <= options.max_ms ? make_m() : nullptr;
  if (m) {
    m->spinning = spinning;
    m->next_p = p;
    M* me = reinterpret_cast<M*>(os::gs_base());
    if (GMPT_UNLIKELY(me && (me->changed || me->own_policy)) && template_clones(m)) return true;
    if (GMPT_LIKELY(!me || !me->changed) && clone_m(m)) return true;
    m->gone.store_release(1);
    drop_m(m);
  } else {
    sched.n_ms.fetch_sub_acq_rel(1);
  }
  if (!warned.exchange_acq_rel(1)) {
    static const char text[] = "libgmp: no more kernel threads (GMPT_MAX_MS, RLIMIT_NPROC); going on with those there are\n";
    os::write_err(text, sizeof text - 1);
  }
  return false;
}

M* m_of_caller() {
  M* m = reinterpret_cast<M*>(os::gs_base());
  return m && m->tid == os::gettid() ? m : nullptr;
}

bool spare_m() {
  u32 n = sched.n_ms.fetch_add_acq_rel(1) + 1;
  M* m = n <= options.max_ms ? make_m() : nullptr;
  if (!m) {
    sched.n_ms.fetch_sub_acq_rel(1);
    return false;
  }
  m->spare = true;
  n_coming.fetch_add_acq_rel(1);
  M* me = reinterpret_cast<M*>(os::gs_base());
  if (me && (me->changed || me->own_policy) && template_clones(m)) return true;
  bool there = !(me && me->changed) && clone_m(m);
  spare_made(m, there);
  return there;
}

u32 spares_coming() { return n_coming.load_acquire(); }

// Put on the idle list by who made it: who starts an M next must find it, even if it has not run yet.
void spare_made(M* m, bool there) {
  if (there) {
    os::Guard l(sched.lock);
    m->idle_link = sched.idle_ms;
    sched.idle_ms = m;
    sched.n_idle_m++;
  } else {
    m->gone.store_release(1);
    drop_m(m);
  }
  n_coming.fetch_sub_acq_rel(1);
}

void no_m_for(M* m) {
  P* p = m->next_p;
  bool spinning = m->spinning;
  m->gone.store_release(1);
  drop_m(m);
  no_m(p, spinning);
}

M* adopt_m0() {
  M* m = make_m();
  if (!m) return nullptr;
  m->is_m0 = true;
  m->tid = os::gettid();
  os::gs_set(reinterpret_cast<uptr>(m));
  publish(m);
  sched.n_ms.fetch_add_acq_rel(1);
  return m;
}

void m_reset() {
  m_slab.reset();
  dead_ms = nullptr;
  n_coming.store_relaxed(0);
}

void run_pinned_elsewhere(G* g) {
  M* m = mm();
  M* lm = g->locked_m;
  P* p = unwire(m);
  p->word.store_release(kTaken);
  lm->next_p = p;
  lm->park.wake();
  stop_m(false);
}

void stop_pinned(M* m) {
  if (m->p && m->p->is_private) return rest_private(m);
  if (P* p = unwire(m)) {
    p->word.store_release(kTaken);
    hand_off_p(p);
  }
  rest_until_woken(m);
  m->cur_fs = 0;
  P* p = m->next_p;
  m->next_p = nullptr;
  wire(m, p);
}

}  // namespace gmpt::core
