// core/netpoll.h -- descriptors on which Gs wait, over one edge-triggered epoll instance.
//
// What it is
//   A table indexed by descriptor number. Each is registered once, both directions, edge-triggered, with a
//   generation tag; the events latch "ready" bits and claim waiters. rt/io.cc tries the operation, and on
//   EAGAIN comes here to wait.
//
// Who touches what
//   flags     any, by or/and                 edges   any; raised under the descriptor's lock
//   drained   readers, acceptors             lists, gen   under the lock
//
// Invariants
//   N1  edges[d] counts the events of a direction. An attempt begins by sampling it; who then wants to wait
//       shows the sample under the lock, and if an edge came since, tries again instead. So an edge is never
//       lost between an attempt and the wait, however many readers there are.
//   N2  drained = e: after edge e was counted the queue was found empty. While edges[kIn] is still e a reader
//       may wait without asking the kernel. It is never believed once a hang-up or urgent data was seen (kHup):
//       that edge does not come twice, and reads stop before the urgent mark.
//   N3  One edge may stand for many items, so it wakes one consumer; who then succeeded wakes the next
//       (fd_pass_on). A consumer that was woken always makes its attempt before it may leave (cancellation,
//       timeout), else the wake-up would die with it. Watchers (poll, select) are all woken.
//   N4  A descriptor that we did not see being created (not kSeen) is registered again at each wait: it may
//       have been closed and reused inside libc.
//
// Memory orders
//   [edge]  event: kHup or, then edges store-release (lock held)  ->  sampler: edges load-acquire, then flags.
//
// Proof and tests   tests/model/waitfd.pml
#pragma once
#include "core/sys.h"

namespace gmpt::core {

enum Dir : u32 { kIn = 0, kOut = 1 };

enum FdFlag : u32 {
  kSeen = 1u << 0, kReg = 1u << 1, kScm = 1u << 2, kHup = 1u << 4, kListens = 1u << 5,
  kNbKnown = 1u << 6, kNb = 1u << 7, kTypeKnown = 1u << 8, kSocket = 1u << 9, kStream = 1u << 10, kNoPoll = 1u << 11,
  kShared = 1u << 12, kNoCount = 1u << 13, kEpollFd = 1u << 14, kAccepting = 1u << 15,
  kNoNowait = 1u << 16  // and << Dir: the file takes no RWF_NOWAIT; wrong if the number was reused unseen, and then slow
};

struct PollDesc;

struct PollNode {
  PollNode *next = nullptr, *prev = nullptr;
  PollDesc* pd = nullptr;
  Waiter* w = nullptr;
  u32 seq = 0;
  i32 fd = -1;           // the number to use from now on; close() of the waited one changes it
  u32 dir = 0;
  bool claimed = false;  // pd's lock: its turn has come
  bool watcher = false;  // woken by every edge, consumes nothing
  bool linked = false;
};

struct PollDesc {
  GMPT_CACHE_ALIGNED os::Lock lock;
  Atomic<u32> flags;
  Atomic<u32> edges[2];  // N1
  Atomic<u32> drained;   // N2; 0 = no
  u32 gen;               // lock
  u32 moved_users;       // lock: waiters that came here from a closed number
  Atomic<u32> era;       // fork_era when it was opened
  Atomic<u64> pending;   // gen << 32 | connections known to wait; flags' kAccepting
  u32 counted_at;        // the edge from before they were counted; flags' kAccepting
  Atomic<PollNode*> head[2];
  PollNode* tail[2];     // lock
};

PollDesc* fd_desc(int fd);             // null: beyond the table
void fd_opened(int fd, u32 flags);     // just created under our eyes
void fd_closing(int fd);               // before the close: waiters keep the open file through another number
void fd_closed(Rt& rt, PollDesc* pd);  // after it: who began to wait in between waits for nothing, and is woken to learn it
void fd_forget(int fd);                // may have been closed or replaced unseen
void fd_release(PollNode* n);          // after an operation that ended on a moved number

// Before an attempt. Never 0.
inline u32 fd_edge(PollDesc* pd, Dir d) { return pd->edges[d].load_acquire() | 1u << 31; }  // [edge]

// Waits for an edge later than `seen` in this direction. n->fd is what to use next. kWoken: try again (a later edge
// came, or a consumer passed the wake-up on). kClosed: epoll refuses this file.
Reason fd_wait(Rt& rt, PollDesc* pd, PollNode* n, int fd, Dir dir, u32 seen, u64 deadline, Why why);

// Watchers: link the node (registering fd); false if epoll refuses the file. Then Wait::block, then unlink.
bool fd_watch(PollNode* n, int fd, Dir dir, Waiter* w, u32 seq);
void fd_unwatch(PollNode* n);

inline bool fd_has_waiters(PollDesc* pd, Dir d) { return pd->head[d].load_relaxed() != nullptr; }
void fd_pass_on(Rt& rt, PollDesc* pd, Dir dir);

void fd_more(PollDesc* pd, Dir dir);   // as if an edge had come: there may be more to take

// The program closes what it likes: our own numbers are not its to close, and to dup2 something to them it may have them.
bool netpoll_owns(int fd);
int netpoll_own(u32 i);                // 0 or 1; -1: none
void netpoll_vacate(int fd);

void netpoll_child();                  // forked child: forget the parent's epoll instance
// A fork shares every file that is open then; what is opened later is this process's own. Counted before and
// after, so that a number that comes while it happens counts as shared.
extern Atomic<u32> fork_era;
inline void fds_shared() { fork_era.fetch_add_acq_rel(1); }

// Nobody else, no process and no other number, can change the file's flags or take what comes.
inline bool fd_private(PollDesc* pd) {
  return (pd->flags.load_acquire() & (kSeen | kShared)) == kSeen && pd->era.load_relaxed() == fork_era.load_relaxed();
}

}  // namespace gmpt::core
