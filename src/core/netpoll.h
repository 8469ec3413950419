// core/netpoll.h -- descriptors on which Gs wait, over one edge-triggered epoll instance.
//
// What it is
//   A table indexed by descriptor number. Each is registered once, both directions, edge-triggered, with a
//   generation tag; the events latch "ready" bits and claim waiters. rt/io.cc tries the operation, and on
//   EAGAIN comes here to wait.
//
// Who touches what
//   flags     any, by compare-and-swap or or/and    lists, gen   under the descriptor's lock
//
// Invariants
//   N1  ready is cleared before an attempt, never after it: an edge that comes during the attempt stays.
//   N2  drained means: at some moment since the last clear the queue was empty, and no edge was processed
//       since. With drained and not ready a reader may wait without asking the kernel. A hang-up seen once
//       (hup) forbids that for good, as its edge does not come twice.
//   N3  One edge may stand for many items, so it wakes one consumer; who then succeeded wakes the next
//       (fd_pass_on). Watchers (poll, select) are all woken.
//   N4  A descriptor that we did not see being created (not kSeen) is registered again at each wait: it may
//       have been closed and reused inside libc.
//
// Memory orders
//   [drain]  the epoch in flags changes with every clear; drained is set by a CAS from the value after the
//            clear, so a slow reader cannot declare empty what a later reader left data in.
//
// Proof and tests   tests/model/waitfd.pml
#pragma once
#include "core/sys.h"

namespace gmpt::core {

enum Dir : u32 { kIn = 0, kOut = 1 };

enum FdFlag : u32 {
  kSeen = 1u << 0, kReg = 1u << 1, kReadyIn = 1u << 2, kReadyOut = 1u << 3, kHup = 1u << 4, kDrained = 1u << 5,
  kNbKnown = 1u << 6, kNb = 1u << 7, kTypeKnown = 1u << 8, kSocket = 1u << 9, kStream = 1u << 10, kNoPoll = 1u << 11,
  kShared = 1u << 12, kTimeo = 1u << 13, kEpollFd = 1u << 14, kEpoch = 1u << 20
};

struct PollDesc;

struct PollNode {
  PollNode *next = nullptr, *prev = nullptr;
  PollDesc* pd = nullptr;
  Waiter* w = nullptr;
  u32 seq = 0;
  i32 fd = -1;           // the number to use from now on; close() of the waited one changes it
  u32 dir = 0;
  bool watcher = false;  // woken by every edge, consumes nothing
  bool linked = false;
};

struct PollDesc {
  GMPT_CACHE_ALIGNED os::Lock lock;
  Atomic<u32> flags;
  u32 gen;               // lock
  u32 moved_users;       // lock: waiters that came here from a closed number
  Atomic<PollNode*> head[2];
  PollNode* tail[2];     // lock
};

PollDesc* fd_desc(int fd);             // null: beyond the table
void fd_opened(int fd, u32 flags);     // just created under our eyes
void fd_closing(int fd);               // before the close: waiters keep the open file through another number
void fd_forget(int fd);                // may have been closed or replaced unseen
void fd_release(PollNode* n);          // after an operation that ended on a moved number

// Waits until an edge in this direction. n->fd is what to use next. kClosed: epoll refuses this file.
// drained_only: the caller did not try, it relies on kDrained; kWoken if that no longer holds.
Reason fd_wait(Rt& rt, PollDesc* pd, PollNode* n, int fd, Dir dir, u64 deadline, Why why, bool drained_only);

// Watchers: link the node (registering fd); false if epoll refuses the file. Then Wait::block, then unlink.
bool fd_watch(PollNode* n, int fd, Dir dir, Waiter* w, u32 seq);
void fd_unwatch(PollNode* n);

inline bool fd_has_waiters(PollDesc* pd, Dir d) { return pd->head[d].load_relaxed() != nullptr; }
void fd_pass_on(Rt& rt, PollDesc* pd, Dir dir);

// Before an attempt: clears ready (and drained), returns the flags after it, for fd_drained().
u32 fd_clear(PollDesc* pd, Dir dir);
inline void fd_drained(PollDesc* pd, u32 flags_after_clear) {  // [drain]
  u32 f = flags_after_clear;
  if (!(f & kDrained)) pd->flags.cas_acq_rel(f, f | kDrained);
}

void netpoll_child();                  // forked child: forget the parent's epoll instance
extern bool fds_shared;                // the process forked once: every open file may be shared

}  // namespace gmpt::core
