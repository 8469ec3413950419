// rt/sleep.cc -- nanosleep and its family.
//
// Invariants
//   Never early: the deadline is compared on the caller's own clock before returning 0.
#include "rt/sleep.h"

#include "core/cputime.h"
#include "os/clock.h"
#include "rt/cpuclock.h"
#include "rt/policy.h"
#include "rt/usermem.h"

namespace gmpt::rt {

namespace {

constexpr u64 kCpuStep = kSec / 1000;

// Until g has used that much processor time. It cannot use more of it than time passes, so what is missing is
// slept, and then looked at again; the kernel is no more exact than a tick, and neither is this.
int sleep_on_cpu(G* g, bool absolute, const timespec* t, timespec* rem) {
  G* me = self();
  if (g == me) return EINVAL;
  if (t->tv_sec < 0 || t->tv_nsec < 0 || t->tv_nsec >= static_cast<long>(kSec)) return EINVAL;
  auto used = [=] {
    Rt rt(me);
    return core::cpu_of(g, false);
  };
  u64 until = (absolute ? 0 : used()) + static_cast<u64>(t->tv_sec) * kSec + static_cast<u64>(t->tv_nsec);
  for (;;) {
    cancellation_point();
    u64 now = used();
    if (now >= until) return 0;
    u64 left = until - now, nap = max_of(left, kCpuStep);
    timespec slice = {static_cast<time_t>(nap / kSec), static_cast<long>(nap % kSec)};
    if (int e = sleep_until(CLOCK_MONOTONIC, 0, &slice, nullptr); e == EINTR) {
      if (!absolute && rem) *rem = {static_cast<time_t>(left / kSec), static_cast<long>(left % kSec)};
      return e;
    }
  }
}

// CPU-time clocks, alarm clocks, bad ones: the kernel's own business, errors included. Only the program's handlers end
// it, not what the runtime sends to its kernel threads.
int sleep_in_kernel(clockid_t clock, int flags, const timespec* t, timespec* rem) {
  timespec left;
  for (;;) {
    u32 before = self()->handled.load_relaxed();
    core::sys_begin();
    int e = os::real().clock_nanosleep(clock, flags, t, &left);
    core::sys_end();
    bool relative = !(flags & TIMER_ABSTIME);
    if (e == EINTR && self()->handled.load_relaxed() == before) {
      if (relative) t = &left;
      continue;
    }
    if (e == EINTR && relative && rem) {
      if (!writable(rem, sizeof *rem)) return EFAULT;
      *rem = left;
    }
    return e;
  }
}

}  // namespace

int sleep_until(clockid_t clock, int flags, const timespec* t, timespec* rem) {
  bool absolute = flags & TIMER_ABSTIME;
  bool plain = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
  bool given = readable(t, sizeof *t);
  if (G* g = plain || !given ? nullptr : g_of_cpu_clock(clock)) return sleep_on_cpu(g, absolute, t, rem);
  if (!plain || !given) return sleep_in_kernel(clock, flags, t, rem);
  // CLOCK_REALTIME relative sleeps are not affected by steps of the clock: POSIX measures an interval.
  u64 deadline = absolute ? deadline_abs(clock, t) : deadline_rel(t);
  if (deadline == kBadDeadline || (absolute && t->tv_sec < 0)) return EINVAL;
  cancellation_point();
  for (;;) {
    Reason r;
    {
      Rt rt(self());
      if (deadline <= os::now_ns()) {
        core::yield();
        r = Reason::kTimeout;
      } else {
        core::Wait w(rt.g());
        r = w.block(deadline, Why::kSleep, nullptr);
      }
    }
    cancellation_point();
    if (r == Reason::kInterrupted) {
      u64 now = os::now_ns();
      if (!absolute && rem && deadline != kNever) {
        if (!writable(rem, sizeof *rem)) return EFAULT;
        u64 left = deadline > now ? deadline - now : 0;
        rem->tv_sec = static_cast<time_t>(left / kSec);
        rem->tv_nsec = static_cast<long>(left % kSec);
      }
      return EINTR;
    }
    if (!absolute || clock == CLOCK_MONOTONIC) return 0;
    u64 again = deadline_abs(clock, t);
    if (again == 0) return 0;  // its own clock says so
    deadline = again;
  }
}

// A spinner that waits for another process must not keep the CPU from it, and Ms of real-time or pinned threads
// may share a CPU on which only a yield changes who runs. Not an announced call: with its P taken away meanwhile, a
// thread would not be there when the other one yields in turn.
void give_turn() {
  G* g = self();
  bool by_kernel = ordered_by_kernel(g);
  if (GMPT_UNLIKELY(by_kernel)) os::sched_yield();  // first: an M that was woken for a G may be waiting for this CPU
  bool others, seldom;
  {
    Rt rt(g);
    others = core::yield();
    seldom = !others && ++core::mm()->idle_yields % 16 == 0;
  }
  if (GMPT_UNLIKELY(seldom && !by_kernel)) os::sched_yield();
}

}  // namespace gmpt::rt
