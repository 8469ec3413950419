// core/m_start.cc -- Ms: raw clone, own stacks, all signals blocked until both exist.
//
// Invariants
//   Nothing here calls libc: the thread that holds libc's malloc lock may be the very one that a new M is
//   to rescue.
//
// Rejected
//   glibc's pthread_create for Ms: it takes the stack-list lock and allocates.
#include "core/m_start.h"

#include "arch/context.h"
#include "base/fmt.h"
#include "base/options.h"
#include "core/signal.h"
#include "os/clock.h"
#include "os/fs.h"
#include "os/slab.h"

namespace gmpt::core {

namespace {

constexpr size_t kG0Bytes = 64 << 10, kSigBytes = 64 << 10, kRingBytes = kSigRing * sizeof(os::SigInfo);
constexpr u64 kCloneFlags = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000 | 0x100000;
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

M* make_m() {
  M* m = static_cast<M*>(m_slab.take());
  if (!m || !give_stacks(m)) return nullptr;
  m->self = m;
  m->in_rt = 1;
  m->rand = static_cast<u32>(arch::rdtsc()) | 1;
  return m;
}

void publish(M* m) {
  M* head = sched.all_ms.load_acquire();
  do m->all_next = head; while (!sched.all_ms.cas_acq_rel(head, m));
}

// First code of a new kernel thread, on its g0 stack, all signals blocked.
void m_main(void* arg) {
  M* m = static_cast<M*>(arg);
  os::gs_set(reinterpret_cast<uptr>(m));
  os::sigaltstack(&m->sigstack, nullptr);
  m->tid = os::gettid();
  publish(m);
  P* p = m->next_p;
  m->next_p = nullptr;
  wire(m, p);
  os::set_mask(m->kmask);
  schedule();
}

}  // namespace

bool new_m(P* p, bool spinning) {
  static Atomic<u32> warned;
  u32 n = sched.n_ms.fetch_add_acq_rel(1) + 1;
  M* m = n <= options.max_ms ? make_m() : nullptr;
  if (m) {
    m->spinning = spinning;
    m->next_p = p;
    m->kmask = kernel_mask(blocked_by_all());
    u64 all = ~u64{0}, old;
    os::sigprocmask(2, &all, &old);
    i32 tid = 0;
    i64 r = gmpt_clone(kCloneFlags, reinterpret_cast<void*>(m->g0_sp), &tid, reinterpret_cast<void*>(os::fs_initial()), nullptr, &m_main, m);
    os::sigprocmask(2, &old, nullptr);
    if (r > 0) return true;
    os::unmap(static_cast<u8*>(m->sigstack.sp) - kPage, kPage + kSigBytes + kPage + kG0Bytes);
  }
  sched.n_ms.fetch_sub_acq_rel(1);
  if (!warned.exchange_acq_rel(1)) {
    static const char text[] = "libgmp: no more kernel threads (GMPT_MAX_MS, RLIMIT_NPROC); going on with those there are\n";
    os::write_err(text, sizeof text - 1);
  }
  return false;
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

void m_reset() { m_slab.reset(); }

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
