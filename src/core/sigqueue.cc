// core/sigqueue.cc -- the queue of signals, its pool, and the rings that the kernel's handlers fill.
//
// Invariants
//   process_signals counts what is queued for no G in particular, in the queue or in a ring, less what is known to
//   have no taker now (signal.cc: stuck).
//   As in the kernel, a signal sent to the process is nobody's before its handler runs: whoever it was chosen for may
//   block it or end first, and then another thread takes it. [give] G: mask or state, fence, sigpending  |
//   sender: queue and sigpending, fence, mask and state: one of the two gives it back.
#include "core/sigqueue.h"

#include "core/sys.h"

namespace gmpt::core {

Atomic<u32> process_signals;

namespace {

struct Queued {
  os::SigInfo info;
  G* to;          // null: process-directed
  bool shared;    // it was, before `to` was chosen
  Queued* next;
};
Queued pool[512];
Queued* pool_free;
u64 pool_size;
Queued *q_head, *q_tail;
GMPT_GLOBAL_LOCK(q_lock);

bool queued(int signo, G* to, bool shared) {
  for (Queued* q = q_head; q; q = q->next)
    if (q->info.signo == signo && q->to == to && q->shared == shared) return true;
  return false;
}

void pool_add(Queued* q, size_t n) {
  pool_size += n;
  for (; n; n--, q++) q->next = pool_free, pool_free = q;
}

// The pool is bounded as the kernel's is.
void pool_grow() {
  constexpr size_t kChunk = 64 << 10;
  u64 limit[2];
  if (os::sys(__NR_prlimit64, 0, 11 /* RLIMIT_SIGPENDING */, nullptr, limit) != 0 || pool_size >= limit[0]) return;
  if (void* p = os::map(kChunk)) pool_add(static_cast<Queued*>(p), min_of<u64>(kChunk / sizeof(Queued), limit[0] - pool_size));
}

// Standard signals coalesce.
bool enqueue_locked(const os::SigInfo& si, G* to, bool shared) {
  if (si.signo < 32 && queued(si.signo, to, shared)) return to != nullptr;  // a count is for one entry
  if (!pool_free) pool_grow();
  Queued* q = pool_free;
  if (!q) return false;
  pool_free = q->next;
  q->info = si;
  q->to = to;
  q->shared = shared;
  q->next = nullptr;
  if (q_tail) q_tail->next = q;
  else q_head = q;
  q_tail = q;
  return true;
}

void collect_locked() {
  for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next)
    for (u32 out = m->sig_out.load_relaxed(); out != m->sig_in.load_acquire(); out++) {
      if (!enqueue_locked(m->sig_ring[out % kSigRing], nullptr, false)) process_signals.fetch_sub_acq_rel(1);
      m->sig_out.store_release(out + 1);
    }
}

}  // namespace

// In the kernel's handler on m: it may have interrupted a holder of the queue's lock, so the signal goes into
// m's own ring (one producer; consumers hold the lock). [ring] sig_in store-release -> load-acquire.
void put_aside(M* m, const os::SigInfo& si) {
  u32 in = m->sig_in.load_relaxed();
  if (in - m->sig_out.load_acquire() >= kSigRing) return;  // as when RLIMIT_SIGPENDING is reached
  m->sig_ring[in % kSigRing] = si;
  m->sig_in.store_release(in + 1);
  process_signals.fetch_add_acq_rel(1);
}

bool enqueue(const os::SigInfo& si, G* to, bool shared) {
  os::Guard l(q_lock);
  return enqueue_locked(si, to, shared);
}

static void unlink(Queued* q, Queued* before) {
  if (before) before->next = q->next;
  else q_head = q->next;
  if (q_tail == q) q_tail = before;
  q->next = pool_free;
  pool_free = q;
}

void give_back(G* g, u64 bits, bool ended) {
  os::Guard l(q_lock);
  u64 left = 0;
  for (Queued *q = q_head, *before = nullptr, *after; q; q = after) {
    after = q->next;
    u64 bit = q->to == g ? os::sig_bit(q->info.signo) : 0;
    if (!(bit & bits) || !(q->shared || ended)) {
      left |= bit;
      before = q;
    } else if (q->shared && !(q->info.signo < 32 && queued(q->info.signo, nullptr, false))) {
      q->to = nullptr;
      q->shared = false;
      process_signals.fetch_add_acq_rel(1);
      before = q;
    } else {
      unlink(q, before);
    }
  }
  g->sigpending.fetch_and_acq_rel(~(bits & ~left));
  if (left) g->sigpending.fetch_or_acq_rel(left);
}

void sigwait_end(G* g, u64 set) {
  g->sigwait.store_release(0);
  fence();  // [sigset] queued, fence, sigwait read  |  sigwait, fence, queue read
  if (GMPT_LIKELY(!__atomic_load_n(&q_head, __ATOMIC_RELAXED))) return;
  Rt rt(g);
  give_back(g, set, false);  // it came too late for this wait
}

// Takes the queued signal for `to` whose bit is in `want`: the lowest number, as the kernel, and of that the oldest. left:
// is the same signal queued again?
bool dequeue(G* to, u64 want, os::SigInfo* out, bool* left) {
  os::Guard l(q_lock);
  if (!to) collect_locked();
  *left = false;
  Queued *prev = nullptr, *hit = nullptr;
  for (Queued *q = q_head, *before = nullptr; q; before = q, q = q->next) {
    if (q->to != to || !(want & os::sig_bit(q->info.signo))) continue;
    if (!hit || q->info.signo < hit->info.signo) hit = q, prev = before, *left = false;
    else if (q->info.signo == hit->info.signo) *left = true;
  }
  if (!hit) return false;
  *out = hit->info;
  unlink(hit, prev);
  return true;
}

bool sigwait_begin(G* g, u64 set, os::SigInfo* out) {
  Rt rt(g);
  g->sigwait.store_release(set);
  fence();  // [sigset]
  bool left;
  bool got = dequeue(g, set, out, &left);
  if (got && !left) g->sigpending.fetch_and_acq_rel(~os::sig_bit(out->signo));
  if (!got) got = dequeue(nullptr, set, out, &left);  // arrived here while everybody blocked it
  if (got) g->sigwait.store_release(0);
  return got;
}

u64 queued_signals(G* g) {
  Rt rt(g);
  os::Guard l(q_lock);
  u64 m = 0;
  for (Queued* q = q_head; q; q = q->next)
    if (!q->to || q->to == g) m |= os::sig_bit(q->info.signo);
  return m;
}

// What pends for the initial kernel thread alone is main's, and main will not stay on M0.
void take_over_pending(G* main_g) {
  u64 pending = 0;
  os::sys(__NR_rt_sigpending, &pending, 8);
  if (!pending) return;
  static os::SigInfo found[64];
  os::Ts none = os::to_ts(0);
  int n = 0;
  while (n < 64 && os::sys(__NR_rt_sigtimedwait, &pending, &found[n], &none, 8) > 0) n++;
  for (int i = 0; i < n; i++) {
    const os::SigInfo& si = found[i];
    if (si.code == -6 /* SI_TKILL */) {
      if (enqueue(si, main_g)) main_g->sigpending.fetch_or_acq_rel(os::sig_bit(si.signo));
    } else {
      os::sys(__NR_rt_sigqueueinfo, sched.pid, si.signo, &si);
    }
  }
}
void sigqueue_reset() {
  pool_free = nullptr;
  pool_size = 0;
  pool_add(pool, sizeof pool / sizeof *pool);
  q_head = q_tail = nullptr;
}

}  // namespace gmpt::core
