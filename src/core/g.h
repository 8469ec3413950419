// core/g.h -- G: a thread of the program.
//
// What it is
//   G = stack + thread-control block + saved registers + wait record. It keeps its stack and block for
//   life and is recycled with them (core/spawn.cc); memory is type-stable.
//
// Invariants
//   State by ownership:
//     kDead      on a free list, or being made or unmade; whoever took it owns it
//     kRunnable  on exactly one run queue (or in the hand of one M); nobody is on its stack
//     kRunning   some M runs on its stack; that M usually holds a P, but may have lost it (sys.h)
//     kWaiting   parked; its Waiter is published somewhere that can claim it
//
// Tags: own = the G itself or the M that runs it; any = atomic; once = constant while alive.
#pragma once
#include "arch/offsets.h"
#include "core/timers.h"
#include "core/wait.h"
#include "os/sig.h"
#include "os/stack.h"

namespace gmpt::core {

struct M;
struct StackPool;

enum class GState : u32 { kDead, kRunnable, kRunning, kWaiting };

struct G {
  u64 sp = 0;                    // asm
  u64 unused = 0;
  uptr fs = 0;                   // once: FS base = thread-control block = pthread_t
  Atomic<GState> state;          // any
  i32 tid = 0;                   // once: what gettid() says
  G* link = nullptr;             // the queue it is on
  M* m = nullptr;                // own
  M* locked_m = nullptr;         // own: pinned to this M
  u32 pins = 0;                  // own: how often
  bool private_p = false;        // own: its M holds a P of its own, see privatep.h
  Waiter waiter;                 // any, see wait.h
  Timer timer;                   // heap lock
  u32 wait_seq = 0;              // own: seq of the wait in progress
  Why why = Why::kNone;          // own, read by dumps
  u64 real_deadline = 0;         // own: what its last deadline on the real clock became, see realclock.h
  u32 real_era = 0;              // own
  Atomic<u64> real_wait;         // any: the wait with such a deadline, 0 if none
  u64 since = 0;                 // own, read by dumps
  const void* what = nullptr;    // own, read by dumps: the object waited for

  uptr stack_lo = 0, stack_hi = 0;  // once: what the thread may use (the program's own stack if it gave one)
  uptr top = 0;                  // once: where its first frame goes
  StackPool* pool = nullptr;     // once: where the slot came from; null for main
  os::StackSlot slot{};          // once

  u64 sigmask = 0;               // own: the mask the program sees
  Atomic<u64> sigpending;        // any: thread-directed signals not yet delivered
  Atomic<u32> errand;            // any: see ownm.h
  Atomic<u64> sigwait;           // any: the set it waits for in the kernel's sigtimedwait
  os::SigStack altstack{};       // own
  Atomic<u32> handled;           // own: program handlers run so far in this thread
  void* xblocks = nullptr;       // own, see preempt.cc
  bool eintr = false;            // own: one of them had no SA_RESTART since this was cleared

  bool owns_fds = false;         // own: descriptors send it signals (F_SETOWN_EX); it has an M of its own then

  Atomic<u32> cancel_req;        // any: pthread_cancel was called for this thread
  bool cancellable = false;      // own: the wait in progress is a cancellation point

  Atomic<u64> cpu_ns, cpu_cycles, cpu_mark;      // own, read by any, see cputime.h
  Atomic<u64> cpu_told;                          // any: the most that was answered to another thread

  void (*entry)(G*) = nullptr;   // once: runs on the G's stack
  void (*on_exit)(G*) = nullptr; // on g0, after the last instruction on its stack
  u64 id = 0;                    // never reused
  G* all_next = nullptr;         // list of all Gs ever made
  alignas(8) u8 rt[320] = {};    // rt's part (rt/thread.h)
};

static_assert(offsetof(G, sp) == GMPT_G_SP);

// A list of Gs linked through G::link.
struct GList {
  G *head = nullptr, *tail = nullptr;
  u32 n = 0;
  bool empty() const { return !head; }
  void push(G* g) {
    g->link = nullptr;
    if (tail) tail->link = g;
    else head = g;
    tail = g;
    n++;
  }
  G* pop() {
    G* g = head;
    head = g->link;
    if (!head) tail = nullptr;
    n--;
    return g;
  }
};

}  // namespace gmpt::core
