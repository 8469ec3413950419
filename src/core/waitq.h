// core/waitq.h -- the wait table: one user-level futex for everything that is a word in memory.
//
// What it is
//   Mutexes, condition variables, semaphores, … and the futex call wait here, by address: a fixed number
//   of buckets, each a lock and a FIFO of waiters of many addresses. The words themselves keep glibc's
//   meaning; this table only parks and wakes.
//
// Who may call it
//   Inside an Rt (sys.h). A bucket's lock is a leaf; Gs claimed under it are readied after it is released.
//
// Invariants
//   Q1  A waiter is in the list exactly while its claim is open, or until it unlinks itself after a timeout
//       or an interruption (it takes the bucket's lock for that).
//   Q2  After a thread has been claimed by wake() the waker does not touch the object any more: it may be
//       freed by the woken.
//
// Proof and tests   tests/model/park.pml
#pragma once
#include "core/sys.h"

namespace gmpt::core {

struct WaitNode {
  WaitNode *next = nullptr, *prev = nullptr;
  uptr key = 0;
  Waiter* w = nullptr;
  u32 seq = 0;
  u32 bits = ~0u;       // futex bitset; rt uses it to tell readers from writers
  u64 since = 0;        // when it began, for hand-off after 1 ms; 0 = not measured
  bool linked = false;
};

struct Bucket {
  GMPT_CACHE_ALIGNED os::Lock lock;
  WaitNode* head = nullptr;
  WaitNode* tail = nullptr;

  void push(WaitNode* n);
  void push_front(WaitNode* n);
  void unlink(WaitNode* n);
  void replace(WaitNode* old, WaitNode* by);       // in the same place, for the same key
  WaitNode* first(uptr key);                       // oldest waiter for key
  WaitNode* next_of(WaitNode* n, uptr key);
};

Bucket* bucket_of(const void* addr);

// Queues the caller on b (locked), unlocks b, waits, and makes sure the node is unlinked. `front`: ahead
// of others, for a waiter that was woken and lost the race.
// Result: kWoken/kHandoff by a waker, kTimeout, kInterrupted (a signal handler has to run; leave() does).
Reason wait_on(Bucket* b, WaitNode* n, const void* addr, Rt& rt, u64 deadline, Why why, bool front = false);

// Wakes up to `n` waiters of addr whose bits meet `bits`; b is locked. Claimed Gs go on *l. Returns how many.
u32 wake_locked(Bucket* b, const void* addr, u32 n, u32 bits, GList* l);
u32 wake(const void* addr, u32 n, Rt& rt, u32 bits = ~0u);  // the same with its own locking and readying

// Waits while *word == expect. kNone: it was not.
Reason wait_while(const u32* word, u32 expect, Rt& rt, u64 deadline, Why why, u32 bits = ~0u);

void waitq_reset();  // forked child: the other waiters do not exist here

}  // namespace gmpt::core
