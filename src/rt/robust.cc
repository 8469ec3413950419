// rt/robust.cc -- what the kernel does for the robust list of a kernel thread that exits, done for a G.
//
// What it is
//   Robust mutexes are locked by libc's own code (rt/mutex.cc does not take them over), which links each
//   held one into the list in the control block, and leaves "owner died" to the kernel. A G's end is no
//   kernel thread's end, so it is done here, with the kernel's protocol. A program may also ask for the
//   list's head, or set one of its own: what the kernel would tell is its M's, which is nobody's. The word
//   of set_tid_address is the same case: on an M it would be cleared when that M ends.
//
// Invariants
//   The list's links may have bit 0 set (priority inheritance); the list ends at its head. At most 2048
//   entries are followed, as in the kernel, so a broken list cannot hold up the exit.
//   Who waits in the kernel for one that inherits priorities gets it for sure, and learns that its owner died
//   unless it is back from the kernel before us: only for its own threads the kernel says it in one step.
//   The word to clear may be unmapped by now: the kernel writes it. One on the thread's own stack is left
//   alone, because the thread still runs there; nobody else may use that memory any more.
//
// Proof and tests   tests/posix/mutex_robust.c, cond_mutex_kinds.c, pshared_protocols.c
#include "rt/robust.h"

#include "core/spawn.h"
#include "os/tcb.h"
#include "rt/futex.h"
#include "rt/kerneltid.h"
#include "rt/thread.h"
#include "rt/usermem.h"

namespace gmpt::rt {

namespace {
constexpr u32 kOwnerDied = 0x40000000, kWaiters = 0x80000000, kTidMask = 0x3fffffff;
constexpr int kLimit = 2048;

// tid: the G's, or its M's (rt/kerneltid.h).
void mark(uptr entry, bool inherits, i64 offset, i32 tid, i32 kernel_tid) {
  u32* word = reinterpret_cast<u32*>(entry + static_cast<uptr>(offset));
  u32 w = as_atomic(word).load_acquire();
  while ((w & kTidMask) == static_cast<u32>(tid) || (w & kTidMask) == static_cast<u32>(kernel_tid)) {
    if (inherits && (w & kWaiters)) {
      // Who waits is in the kernel's queue behind this M, which lives on: the lock must be given to it.
      os::sys(__NR_futex, word, 7 /* UNLOCK_PI */, 0, 0, 0, 0);
      as_atomic(word).fetch_or_acq_rel(kOwnerDied);
      return;
    }
    if (!as_atomic(word).cas_acq_rel(w, (w & kWaiters) | kOwnerDied)) continue;
    // Shared wake: the mutex may be process-shared, and a private waiter sleeps on the same key space
    // only if woken with the private flag too.
    if (w & kWaiters) {
      os::sys(__NR_futex, word, 1 /* WAKE */, 1);
      os::sys(__NR_futex, word, 129 /* WAKE|PRIVATE */, 1);
    }
    return;
  }
}

uptr own_list(G* g) { return os::tcb.robust ? g->fs + os::tcb.tid + 16 : 0; }
uptr list_of(G* g) { return thread_of(g)->robust_list ? thread_of(g)->robust_list : own_list(g); }

constexpr size_t kHeadSize = 24;
}  // namespace

i64 raw_get_robust_list(i32 tid, uptr* head, size_t* size) {
  G* g = self();
  if (!g) return os::sys(__NR_get_robust_list, tid, head, size);
  if (tid != 0 && tid != g->tid) {
    for (g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
      if (g->tid == tid && g->state.load_acquire() != core::GState::kDead) break;
    if (!g) return os::sys(__NR_get_robust_list, tid, head, size);
  }
  if (!writable(head, sizeof *head) || !writable(size, sizeof *size)) return -EFAULT;
  *head = list_of(g);
  *size = kHeadSize;
  return 0;
}

i64 raw_set_robust_list(uptr head, size_t size) {
  if (!self()) return os::sys(__NR_set_robust_list, head, size);
  if (size != kHeadSize) return -EINVAL;
  thread_of(self())->robust_list = head;
  return 0;
}

i64 raw_set_tid_address(u32* word) {
  if (!self()) return os::sys(__NR_set_tid_address, word);
  thread_of(self())->clear_tid = word;
  return self()->tid;
}

void clear_tid_word(G* g) {
  u32* word = thread_of(g)->clear_tid;
  uptr at = reinterpret_cast<uptr>(word);
  if (GMPT_LIKELY(!word) || (at >= g->stack_lo && at < g->stack_hi)) return;
  // WAKE_OP: *word = 0, wake one kernel thread that sleeps on it (and none more, whatever it was).
  if (os::sys(__NR_futex, word, 5, 1, 0, word, 0) >= 0) futex(word, 1 /* WAKE */, 1, nullptr, nullptr, 0);
}

void robust_owner_died(G* g) {
  uptr head = list_of(g);
  if (!head) return;
  uptr link = os::get_word(head, 0), entry = link & ~uptr{1};
  if (entry == head) return;
  i64 offset = static_cast<i64>(os::get_word(head, 8));
  i32 kernel_tid = g->pins ? os::gettid() : g->tid;
  uptr pending = os::get_word(head, 16) & ~uptr{1};
  for (int i = 0; i < kLimit && entry && entry != head; i++) {
    uptr next = os::get_word(entry, 0);
    if (entry != pending) mark(entry, link & 1, offset, g->tid, kernel_tid);
    link = next;
    entry = next & ~uptr{1};
  }
  if (pending) mark(pending, os::get_word(head, 16) & 1, offset, g->tid, kernel_tid);
  os::set_word(head, 0, head);
  os::set_word(head, 16, 0);
  while (thread_of(g)->robust_holds) robust_list_from_kernel();
}

}  // namespace gmpt::rt
