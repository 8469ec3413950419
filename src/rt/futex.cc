// rt/futex.cc -- the futex system call over the wait table.
//
// What it is
//   A G waits in the table, keyed as Linux does: by address for private futexes, and by address + 1 for
//   shared ones, which never meet. A shared futex of which no other process can know, because its page is
//   private memory, is waited for in the table too: programs use shared calls where private ones would do
//   (libstdc++'s atomic waits). Else the wait is the kernel's, with the P on offer.
//   Kernel threads that are not Gs wait in the kernel. Who wakes serves the table first, then the kernel.
//
// Invariants
//   F1  The value is compared, and changed by FUTEX_WAKE_OP, under the lock of the bucket, before the kernel
//       is asked: a waiter is in the table or in the kernel, or sees the new value.
//   F2  A requeued node's key changes with both buckets locked (core/waitq.cc looks it up again).
//   F3  That a page is private is believed until the next mapping of shared memory begins or ends being made.
//
// Rejected
//   Asking the kernel about the page each time: three system calls, ten times the cost of the wait.
//   Priority inheritance in the table: the kernel wants its own thread ids. Those calls are passed on.
//
// Proof and tests   tests/posix/futex_syscall.c, cxx_atomic_wait.cc
#include "rt/futex.h"

#include <linux/futex.h>

#include "core/boot.h"
#include "core/park.h"
#include "os/clock.h"
#include "rt/offer.h"

namespace gmpt::rt {

namespace {

using core::Bucket;
using core::GList;
using core::WaitNode;

u32 load(const u32* p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }

i64 kernel(u32* addr, int op, u32 val, const void* t, u32* addr2, u32 val3) {
  return offered([=] { return os::sys(__NR_futex, addr, op, val, t, addr2, val3); });
}

Atomic<u32> epoch;          // F3
Atomic<u64> known[256];     // page number << 28 | epoch it was private in

// /proc/self/pagemap, one word a page: bit 63 present, bit 61 a file's page or shared memory.
bool page_is_private(const void* p) {
  u64 page = reinterpret_cast<u64>(p) / kPage, fact = page << 28 | (epoch.load_acquire() & 0xfffffff);
  Atomic<u64>& slot = known[page % 256];
  if (slot.load_acquire() == fact) return true;
  i64 fd = os::sys(__NR_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  u64 w = 0;
  i64 n = os::sys(__NR_pread64, fd, &w, 8, page * 8);
  os::sys(__NR_close, fd);
  bool is = n == 8 && (w >> 63 & 1) && !(w >> 61 & 1);
  if (is) slot.store_release(fact);
  return is;
}

const void* key_of(const u32* addr, bool shared) { return reinterpret_cast<const char*>(addr) + (shared ? 1 : 0); }

i64 interrupted(G* g, u32 handled, bool timed) {
  if (g->handled.load_relaxed() == handled) return 0;  // not the program's business
  return timed || g->eintr ? -EINTR : 0;
}

i64 wait_in_table(u32* addr, bool shared, u32 val, clockid_t clock, bool absolute, const timespec* t, u32 bits) {
  u64 deadline = !t ? kNever : absolute ? deadline_abs(clock, t) : deadline_rel(t);
  if (deadline == kBadDeadline || (t && t->tv_sec < 0)) return -EINVAL;
  G* g = self();
  g->eintr = false;
  u32 handled = g->handled.load_relaxed();
  const void* key = key_of(addr, shared);
  for (;;) {
    if (load(addr) != val) return -EAGAIN;  // a bad address faults here, not inside
    Reason r = Reason::kTimeout;
    {
      Rt rt(g);
      Bucket* b = core::bucket_of(key);
      b->lock.lock();
      if (load(addr) != val) {  // F1
        b->lock.unlock();
        return -EAGAIN;
      }
      if (deadline != kNever && deadline <= os::now_ns()) {
        b->lock.unlock();
      } else {
        WaitNode n;
        n.bits = bits;
        r = core::wait_on(b, &n, key, rt, deadline, core::Why::kFutex);
      }
    }
    switch (r) {
      case Reason::kTimeout:
        if (absolute && clock != CLOCK_MONOTONIC && (deadline = deadline_abs(clock, t)) > os::now_ns()) continue;
        return -ETIMEDOUT;
      case Reason::kInterrupted:
        if (i64 e = interrupted(g, handled, t != nullptr)) return e;
        continue;
      default: return 0;
    }
  }
}

i64 wait(u32* addr, int op, u32 val, const timespec* t, u32 bits) {
  if (!bits) return -EINVAL;
  bool shared = !(op & FUTEX_PRIVATE_FLAG), absolute = (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  if (self() && load(addr) == val && (!shared || page_is_private(addr)))
    return wait_in_table(addr, shared, val, op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, absolute, t, bits);
  Left left(absolute ? nullptr : t);
  return offered([&] { return os::sys(__NR_futex, addr, op, val, absolute ? t : left.get(), nullptr, bits); });
}

i64 wake(u32* addr, int op, u32 val, u32 bits) {
  if (!bits) return -EINVAL;
  int flag = op & FUTEX_PRIVATE_FLAG;
  u32 want = static_cast<i32>(val) < 1 ? 1 : val;  // Linux wakes one for these
  u32 done;
  {
    Rt rt(self());
    done = core::wake(key_of(addr, !flag), want, rt, bits);
  }
  if (done >= want) return done;
  i64 r = os::sys(__NR_futex, addr, FUTEX_WAKE_BITSET | flag, want - done, nullptr, nullptr, bits);
  return r >= 0 ? done + r : done ? i64{done} : r;
}

// Two buckets, always in the same order.
class Both {
 public:
  Both(Bucket* a, Bucket* b) : a_(a < b ? a : b), b_(a < b ? b : a) {
    a_->lock.lock();
    if (b_ != a_) b_->lock.lock();
  }
  ~Both() {
    if (b_ != a_) b_->lock.unlock();
    a_->lock.unlock();
  }
  Both(const Both&) = delete;

 private:
  Bucket *a_, *b_;
};

i64 requeue(u32* addr, int op, u32 n_wake, u32 n_move, u32* to, u32 val3) {
  if (static_cast<i32>(n_wake) < 0 || static_cast<i32>(n_move) < 0) return -EINVAL;
  bool shared = !(op & FUTEX_PRIVATE_FLAG), compare = (op & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE;
  const void *from_key = key_of(addr, shared), *to_key = key_of(to, shared);
  if (compare && load(addr) != val3) return -EAGAIN;
  u32 woken, moved = 0;
  {
    Rt rt(self());
    Bucket *from = core::bucket_of(from_key), *dest = core::bucket_of(to_key);
    GList l;
    {
      Both both(from, dest);
      if (compare && load(addr) != val3) return -EAGAIN;
      woken = n_wake ? core::wake_locked(from, from_key, n_wake, ~0u, &l) : 0;
      uptr key = reinterpret_cast<uptr>(from_key);
      for (WaitNode* n = from->first(key); n && moved < n_move && to_key != from_key; moved++) {
        WaitNode* after = from->next_of(n, key);
        from->unlink(n);
        as_atomic(&n->key).store_release(reinterpret_cast<uptr>(to_key));  // F2
        dest->push(n);
        n = after;
      }
    }
    rt.ready(&l);
  }
  // The kernel's waiters come after ours; if the value changed meanwhile its answer is late, not wrong.
  i64 r = os::sys(__NR_futex, addr, op, n_wake - woken, u64{n_move - moved}, to, val3);
  i64 done = i64{woken} + moved;
  return r >= 0 ? done + r : done ? done : r;
}

// The encoded operation of FUTEX_WAKE_OP; applies it and says whether the second wake is due.
bool apply(u32* p, u32 code) {
  u32 arg = static_cast<u32>(static_cast<i32>(code << 8) >> 20), cmp_arg = static_cast<u32>(static_cast<i32>(code << 20) >> 20);
  u32 op = code >> 28, cmp = code >> 24 & 15;
  if (op & FUTEX_OP_OPARG_SHIFT) arg = 1u << (arg & 31);
  i32 old = 0;
  switch (op & 7) {
    case FUTEX_OP_SET: old = static_cast<i32>(__atomic_exchange_n(p, arg, __ATOMIC_SEQ_CST)); break;
    case FUTEX_OP_ADD: old = static_cast<i32>(__atomic_fetch_add(p, arg, __ATOMIC_SEQ_CST)); break;
    case FUTEX_OP_OR: old = static_cast<i32>(__atomic_fetch_or(p, arg, __ATOMIC_SEQ_CST)); break;
    case FUTEX_OP_ANDN: old = static_cast<i32>(__atomic_fetch_and(p, ~arg, __ATOMIC_SEQ_CST)); break;
    case FUTEX_OP_XOR: old = static_cast<i32>(__atomic_fetch_xor(p, arg, __ATOMIC_SEQ_CST)); break;
  }
  i32 than = static_cast<i32>(cmp_arg);
  switch (cmp) {
    case FUTEX_OP_CMP_EQ: return old == than;
    case FUTEX_OP_CMP_NE: return old != than;
    case FUTEX_OP_CMP_LT: return old < than;
    case FUTEX_OP_CMP_LE: return old <= than;
    case FUTEX_OP_CMP_GT: return old > than;
    default: return old >= than;
  }
}

i64 wake_op(u32* addr, int op, u32 n1, u32 n2, u32* addr2, u32 code) {
  if ((code >> 28 & 7) > FUTEX_OP_XOR || (code >> 24 & 15) > FUTEX_OP_CMP_GE) return -ENOSYS;
  bool shared = !(op & FUTEX_PRIVATE_FLAG), second;
  int flag = op & FUTEX_PRIVATE_FLAG;
  const void *k1 = key_of(addr, shared), *k2 = key_of(addr2, shared);
  n1 = static_cast<i32>(n1) < 1 ? 1 : n1;
  n2 = static_cast<i32>(n2) < 1 ? 1 : n2;
  (void)*const_cast<volatile u32*>(addr2);  // a bad address faults here, not inside
  u32 done1, done2 = 0;
  {
    Rt rt(self());
    Bucket *b1 = core::bucket_of(k1), *b2 = core::bucket_of(k2);
    GList l;
    {
      Both both(b1, b2);
      second = apply(addr2, code);
      done1 = core::wake_locked(b1, k1, n1, ~0u, &l);
      if (second) done2 = core::wake_locked(b2, k2, n2, ~0u, &l);
    }
    rt.ready(&l);
  }
  i64 sum = i64{done1} + done2;
  if (done1 < n1) sum += max_of(os::sys(__NR_futex, addr, FUTEX_WAKE | flag, n1 - done1, nullptr, nullptr, 0), i64{0});
  if (second && done2 < n2) sum += max_of(os::sys(__NR_futex, addr2, FUTEX_WAKE | flag, n2 - done2, nullptr, nullptr, 0), i64{0});
  return sum;
}

}  // namespace

void memory_shared() { epoch.fetch_add_acq_rel(1); }

i64 futex(u32* addr, int op, u32 val, const timespec* timeout, u32* addr2, u32 val3) {
  u32 val2 = static_cast<u32>(reinterpret_cast<uptr>(timeout));
  int cmd = op & FUTEX_CMD_MASK, clock_flag = op & FUTEX_CLOCK_REALTIME;
  bool ours = core::awake() && addr && (reinterpret_cast<uptr>(addr) & 3) == 0;
  if (ours) switch (cmd) {
    case FUTEX_WAIT: return wait(addr, op, val, timeout, FUTEX_BITSET_MATCH_ANY);
    case FUTEX_WAIT_BITSET: return wait(addr, op, val, timeout, val3);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      if (clock_flag) break;
      return wake(addr, op, val, cmd == FUTEX_WAKE ? FUTEX_BITSET_MATCH_ANY : val3);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP:
      if (clock_flag || !addr2 || (reinterpret_cast<uptr>(addr2) & 3)) break;
      return cmd == FUTEX_WAKE_OP ? wake_op(addr, op, val, val2, addr2, val3) : requeue(addr, op, val, val2, addr2, val3);
  }
  return kernel(addr, op, val, timeout, addr2, val3);
}

}  // namespace gmpt::rt
