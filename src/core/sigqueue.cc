// core/sigqueue.cc -- the queue of signals, its pool, and the rings that the kernel's handlers fill.
//
// Invariants
//   Q1  process_signals or stuck counts what is queued for no G in particular, in the queue or in a ring: the latter
//       what nobody takes now. Too high is harmless (a look finds nothing), too low is not.
//   Q2  A ring never overflows: when it is half full its M takes no more from the kernel, and who opens the M's mask
//       empties it first.
//   Q3  As in the kernel, a signal sent to the process is nobody's before its handler runs: whoever it was chosen for may
//       block it or end first, and then another thread takes it.
//
// Memory orders
//   [open]  a mask is opened: blocking[] lowered; fence; stuck read  |  stuck stored; fence; blocking[] read.
//   [give]  the chosen one: mask or state; fence; sigpending read  |  sender: queued, sigpending; fence; mask and state read.
//           One of the two gives it back.
//   [ring]  sig_in store-release -> load-acquire.
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
struct List { Queued *head, *tail; };

constexpr u32 kFirst = 256;
constexpr size_t kMore = 64 << 10;
Queued pool[kFirst];
Queued* pool_free;
u32 made;                // entries there are
u32 n_process;           // entries for no G in particular
List lists[65];          // by number: order counts only among signals of one
GMPT_GLOBAL_LOCK(q_lock);
Atomic<u32> stuck;       // see Q1
Atomic<u64> next_seq;

// As many as the kernel would keep, which counts them in each process of the user; here it is this one's.
bool more_entries() {
  u64 limit[2] = {};
  os::sys(__NR_prlimit64, 0, 11 /* RLIMIT_SIGPENDING */, 0, limit);
  if (made >= limit[0]) return false;
  auto* q = static_cast<Queued*>(os::map(kMore));
  if (!q) return false;
  for (u32 i = 0; i < kMore / sizeof(Queued); i++, made++) q[i].next = pool_free, pool_free = &q[i];
  return true;
}

// Standard signals coalesce. `first`: it was in the queue before.
bool queued(int signo, G* to, bool shared) {
  for (Queued* q = lists[signo].head; q; q = q->next)
    if (q->to == to && q->shared == shared) return true;
  return false;
}

bool enqueue_locked(const os::SigInfo& si, G* to, bool first, bool shared) {
  List& l = lists[si.signo];
  if (si.signo < 32 && queued(si.signo, to, shared)) return to != nullptr;  // coalesced; a count is for one entry
  if (!pool_free && !more_entries()) return false;
  Queued* q = pool_free;
  pool_free = q->next;
  q->info = si;
  q->to = to;
  q->shared = shared;
  q->next = first ? l.head : nullptr;
  if (first) l.head = q;
  else if (l.tail) l.tail->next = q;
  else l.head = q;
  if (!first || !l.tail) l.tail = q;
  if (!to) n_process++;
  return true;
}

// The rings' signals in the order in which they came. How many of them were merged with earlier ones, and not counted any more.
u32 collect_locked() {
  for (u32 merged = 0;;) {
    M* first = nullptr;
    u64 seq = 0;
    for (M* m = sched.all_ms.load_acquire(); m; m = m->all_next) {
      u32 out = m->sig_out.load_relaxed();
      if (out == m->sig_in.load_acquire()) continue;
      u64 its = m->sig_seq[out % kSigRing];
      if (!first || its < seq) first = m, seq = its;
    }
    if (!first) return merged;
    u32 out = first->sig_out.load_relaxed();
    if (!enqueue_locked(first->sig_ring[out % kSigRing], nullptr, false, false)) process_signals.fetch_sub_acq_rel(1), merged++;
    first->sig_out.store_release(out + 1);
  }
}

}  // namespace

// In the kernel's handler on m: it may have interrupted a holder of the queue's lock, so the signal goes into
// m's own ring (one producer; consumers hold the lock).
void put_aside(M* m, const os::SigInfo& si, os::UContext* uc) {
  u32 in = m->sig_in.load_relaxed(), full = in - m->sig_out.load_acquire();
  if (full >= kSigRing) return;  // Q2: cannot be
  m->sig_ring[in % kSigRing] = si;
  m->sig_seq[in % kSigRing] = next_seq.fetch_add_relaxed(1);
  m->sig_in.store_release(in + 1);
  process_signals.fetch_add_acq_rel(1);
  if (full >= kSigRing / 2) uc->sigmask = m->kmask = kernel_mask(~u64{0});
}

void make_room(M* m) {
  if (GMPT_LIKELY(m->sig_in.load_relaxed() - m->sig_out.load_acquire() < kSigRing / 2)) return;
  os::Guard l(q_lock);
  collect_locked();
}

bool enqueue(const os::SigInfo& si, G* to, bool first, bool shared) {
  os::Guard l(q_lock);
  if (!to && !first) collect_locked();  // what came before it
  return enqueue_locked(si, to, first, shared);
}

static void unlink(List* list, Queued* q, Queued* before) {
  (before ? before->next : list->head) = q->next;
  if (list->tail == q) list->tail = before;
  q->next = pool_free;
  pool_free = q;
}

void give_back(G* g, u64 bits, bool ended) {
  os::Guard l(q_lock);
  u64 left = 0;
  for (; bits; bits &= bits - 1) {
    int sig = __builtin_ctzll(bits) + 1;
    u64 bit = os::sig_bit(sig);
    for (Queued *q = lists[sig].head, *before = nullptr, *after; q; q = after) {
      after = q->next;
      if (q->to != g || !(q->shared || ended)) {
        if (q->to == g) left |= bit;
        before = q;
      } else if (q->shared && !(sig < 32 && queued(sig, nullptr, false))) {
        q->to = nullptr;
        q->shared = false;
        n_process++;
        process_signals.fetch_add_acq_rel(1);
        before = q;
      } else {
        unlink(&lists[sig], q, before);
      }
    }
    if (left & bit) g->sigpending.fetch_or_acq_rel(bit);
    else g->sigpending.fetch_and_acq_rel(~bit);
  }
}

// Takes the queued signal for `to` whose bit is in `want`: the lowest number, as the kernel, and of that the oldest. left:
// is the same signal queued again?
bool dequeue(G* to, u64 want, os::SigInfo* out, bool* left) {
  os::Guard l(q_lock);
  if (!to) collect_locked();
  *left = false;
  for (; want; want &= want - 1) {
    List& list = lists[__builtin_ctzll(want) + 1];
    Queued *q = list.head, *before = nullptr;
    while (q && q->to != to) before = q, q = q->next;
    if (!q) continue;
    for (Queued* r = q->next; r && !*left; r = r->next) *left = r->to == to;
    *out = q->info;
    unlink(&list, q, before);
    if (!to) n_process--;
    return true;
  }
  return false;
}

// Counted is what is in the queue or in a ring by then, so the count is read before the rings: what comes later stays counted.
bool nobody_takes() {
  u64 queued = 0;
  {
    os::Guard l(q_lock);
    u32 counted = process_signals.load_acquire(), merged = collect_locked();
    for (int i = 1; i <= 64; i++)
      for (Queued* q = lists[i].head; q; q = q->next)
        if (!q->to) queued |= os::sig_bit(i);
    stuck.store_release(n_process);
    if (counted > merged) process_signals.fetch_sub_acq_rel(counted - merged);
  }
  fence();  // [open]
  if (!(queued & ~blocked_by_all())) return true;
  signals_opened();
  return false;
}

void signals_opened() {
  if (GMPT_LIKELY(!stuck.load_acquire())) return;  // [open]
  if (u32 n = stuck.exchange_acq_rel(0)) process_signals.fetch_add_acq_rel(n);
}

bool sigwait_begin(G* g, u64 set, os::SigInfo* out) {
  Rt rt(g);
  g->sigwait.store_release(set);
  fence();  // [sigset]
  os::Guard l(signal_moves);
  bool left;
  bool got = dequeue(g, set, out, &left);
  if (got && !left) g->sigpending.fetch_and_acq_rel(~os::sig_bit(out->signo));
  if (!got) got = dequeue(nullptr, set, out, &left);  // arrived here while everybody blocked it
  if (got) g->sigwait.store_release(0);
  return got;
}

void sigwait_end(G* g, u64 set) {
  g->sigwait.store_release(0);
  fence();  // [sigset] queued; fence; sigwait read  |  sigwait; fence; queue read
  bool any = false;
  for (u64 s = set; s && !any; s &= s - 1) any = __atomic_load_n(&lists[__builtin_ctzll(s) + 1].head, __ATOMIC_RELAXED);
  if (GMPT_LIKELY(!any)) return;
  Rt rt(g);
  give_back(g, set, false);  // it came too late for this wait
}

u64 queued_signals(G* g) {
  Rt rt(g);
  os::Guard l(q_lock);
  u64 m = 0;
  collect_locked();
  for (List& list : lists)
    for (Queued* q = list.head; q; q = q->next)
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
      if (enqueue(si, main_g, false)) main_g->sigpending.fetch_or_acq_rel(os::sig_bit(si.signo));
    } else {
      os::sys(__NR_rt_sigqueueinfo, sched.pid, si.signo, &si);
    }
  }
}

void sigqueue_reset() {
  pool_free = nullptr;
  made = kFirst;
  n_process = 0;
  stuck.store_relaxed(0);
  for (Queued& q : pool) q.next = pool_free, pool_free = &q;
  for (List& l : lists) l = List{};
}

}  // namespace gmpt::core
