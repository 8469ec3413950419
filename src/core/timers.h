// core/timers.h -- the timers of one P: a 4-ary heap of waits that end at a time.
//
// What it is
//   Each G has one Timer, armed while it waits with a deadline. It sits in the heap of the P that armed
//   it; expiry claims the G's Waiter with kTimeout. Run by the owner of the P in the scheduler, by a
//   thief in its last round, and by sysmon when every P is busy. There is no timer thread.
//
// Who touches what
//   heap, n, cap, Timer::pos    under lock
//   next                        written under lock, read by anyone
//
// Invariants
//   T1  timer->pos is its index in the heap of timer->heap, -1, or kListed.
//   T2  next is the earliest deadline in the heap and the list, kNever when both are empty.
//   T3  When there is no memory for a larger heap, a timer goes on a list that is walked: a sleep cannot fail.
//
// Rejected
//   Go's lazy deletion (zombies swept later): Go's timers outlive their waits, ours are one per G and
//   know their place, so removal is one sift and needs no sweeping.
#pragma once
#include "core/wait.h"

namespace gmpt::core {

struct TimerHeap;

struct Timer {
  u64 when = 0;
  TimerHeap* heap = nullptr;
  i32 pos = -1;
  u32 seq = 0;
  Waiter* waiter = nullptr;
  Timer* more = nullptr;  // next on the list
};

struct TimerHeap {
  struct Entry { u64 when; Timer* t; };
  os::Lock lock;
  Entry* heap = nullptr;
  u32 n = 0, cap = 0;
  Timer* listed = nullptr;
  Atomic<u64> next{kNever};

  void add(Timer* t, u64 when, Waiter* w, u32 seq);  // caller in the runtime
  // Expires what is due at `now`; appends Gs to be readied to *list (linked through G::link).
  u32 run(u64 now, G** list_head, G** list_tail);

 private:
  void up(u32 i);
  void down(u32 i);
  void remove_at(u32 i);
  void remove(Timer* t);
  bool grow();
  Timer* first_listed() const;
  Timer* first() const;
  void publish();
  static constexpr i32 kListed = -2;
  friend void timer_del(Timer*);
};

// Removes t if it is armed. After it returns no expiry of this arming is in progress that could still
// find t in a heap; a claim already under way fails on seq (wait.h W1).
void timer_del(Timer* t);

}  // namespace gmpt::core
