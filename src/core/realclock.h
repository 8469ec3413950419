// core/realclock.h -- deadlines on a clock that can be set.
//
// What it is
//   Waits end by CLOCK_MONOTONIC. A deadline on CLOCK_REALTIME is converted when the wait begins, and when the clock is
//   set while a thread waits, that conversion is void: the thread's wait is ended as timed out, and rt looks at its own
//   clock and waits on if it has to. So a clock that is set forward ends waits at once, as natively.
//
// Who notices
//   sysmon compares the two clocks at each look. While all rest, whoever sleeps in the poller does: sysmon puts a
//   timerfd into it that the kernel cancels when the clock is set, and keeps it in its own table of descriptors.
//
// Memory orders
//   [era]  waiter: era read, clocks read, …, real_wait stored, fence, era read again  |  notice: era bumped, fence,
//          real_wait read. Either the waiter sees the new era and does not sleep, or its wait is found and ended.
//
// Rejected
//   A heap of real-time deadlines beside the monotonic one: a second set of timers for each P, for an event of the year.
#pragma once
#include "core/g.h"

namespace gmpt::core {

extern Atomic<u32> clock_era;

void real_clock_used(G* g);         // on a G, outside the runtime, before the clocks are read for its deadline
bool real_clock_arm(G* g, u32 seq); // on the way to sleep until g->real_deadline: false, it is void
void real_clock_was_set(GList* l);  // ends the waits; the Gs are kRunnable, on no queue
void real_clock_look(u64 now, GList* l);  // sysmon
void real_clock_child();

constexpr u64 kClockTag = ~u64{0} - 1;  // the timerfd's event

}  // namespace gmpt::core
