// core/realclock.cc -- noticing that the clock was set, and ending the waits that counted on it.
#include "core/realclock.h"

#include "core/park.h"
#include "core/sched.h"
#include "os/clock.h"

namespace gmpt::core {

Atomic<u32> clock_era;

namespace {

constexpr u64 kArmed = u64{1} << 32;  // in G::real_wait, beside the wait's seq
constexpr u64 kStep = kMs;            // a smaller step is none; two readings are apart by less
constexpr u64 kFar = u64{1} << 33;    // seconds
Atomic<u32> used;                     // some deadline was on the real clock
bool watched;                         // sysmon's own
u64 offset;                           // sysmon's own

void watch() {
  if (!netpoll_start()) return;
  struct { os::Ts interval, value; } at{};
  at.value = os::to_ts(0);
  at.value.tv_sec = kFar;
  i64 fd = os::sys(__NR_timerfd_create, 0 /* CLOCK_REALTIME */, 02004000);
  if (fd < 0) return;
  if (os::sys(__NR_timerfd_settime, fd, 3 /* ABSTIME, CANCEL_ON_SET */, &at, 0) != 0 || !netpoll_watch_clock(static_cast<int>(fd)))
    os::sys(__NR_close, fd);
}

}  // namespace

void real_clock_used(G* g) {
  g->real_era = clock_era.load_acquire();
  if (GMPT_LIKELY(used.load_relaxed())) return;
  used.store_release(1);
  wake_sysmon();
  hurry_sysmon();
}

bool real_clock_arm(G* g, u32 seq) {
  g->real_wait.store_release(kArmed | seq);
  fence();  // [era]
  return clock_era.load_relaxed() == g->real_era;
}

void real_clock_was_set(GList* l) {
  clock_era.fetch_add_acq_rel(1);
  fence();  // [era]
  GList ended;
  for (G* g = sched.all_gs.load_acquire(); g; g = g->all_next)
    if (u64 w = g->real_wait.load_acquire()) wake_claimed(&g->waiter, g->waiter.claim(static_cast<u32>(w), Reason::kTimeout), &ended);
  while (!ended.empty()) {
    G* g = ended.pop();
    g->state.store_release(GState::kRunnable);
    l->push(g);
  }
}

void real_clock_look(u64 now, GList* l) {
  if (GMPT_LIKELY(!used.load_acquire())) return;
  u64 real = os::clock_ns(0), again = os::now_ns();
  if (again - now > kStep / 2) return;  // this thread was off its CPU in between
  u64 before = offset;
  offset = real - again;
  if (!watched) {
    watched = true;
    watch();
  } else if (offset - before + kStep > 2 * kStep) {
    real_clock_was_set(l);
  }
}

void real_clock_child() {
  used.store_relaxed(0);
  watched = false;
}

}  // namespace gmpt::core
