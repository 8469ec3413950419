// rt/robust.cc -- what the kernel does for the robust list of a kernel thread that exits, done for a G.
//
// What it is
//   Robust mutexes are locked by libc's own code (rt/mutex.cc does not take them over), which links each
//   held one into the list in the control block, and leaves "owner died" to the kernel. A G's end is no
//   kernel thread's end, so it is done here, with the kernel's protocol.
//
// Invariants
//   The list's links may have bit 0 set (priority inheritance); the list ends at its head. At most 2048
//   entries are followed, as in the kernel, so a broken list cannot hold up the exit.
//   Who waits in the kernel for one that inherits priorities gets it for sure, and learns that its owner died
//   unless it is back from the kernel before us: only for its own threads the kernel says it in one step.
//
// Proof and tests   tests/posix/mutex_robust.c, cond_mutex_kinds.c, pshared_protocols.c
#include "rt/robust.h"

#include "os/tcb.h"
#include "rt/kerneltid.h"
#include "rt/thread.h"

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
}  // namespace

void robust_owner_died(G* g) {
  if (!os::tcb.robust) return;
  uptr head = g->fs + os::tcb.tid + 16;
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
