// preload/clock.cc -- CPU-time clocks of threads; all other clocks go straight to libc.
#include "core/cputime.h"

#include "core/boot.h"
#include "preload/interpose.h"

using namespace gmpt;

namespace {

// The clock id that pthread_getcpuclockid makes of a tid: ~tid in the upper 29 bits, 110 below.
core::G* g_of_clock(clockid_t c) {
  if ((c & 7) != 6) return nullptr;
  i32 tid = ~(c >> 3);
  if (tid <= 1 << 22) return nullptr;
  for (core::G* g = core::sched.all_gs.load_acquire(); g; g = g->all_next)
    if (g->tid == tid && g->state.load_acquire() != core::GState::kDead) return g;
  return nullptr;
}

}  // namespace

GMPT_API int clock_gettime(clockid_t c, struct timespec* t) noexcept {
  if (GMPT_LIKELY(c >= 0 && c != CLOCK_THREAD_CPUTIME_ID)) {
    GMPT_NATIVE(clock_gettime, c, t);
    return os::real().clock_gettime(c, t);
  }
  GMPT_NOT_A_G(clock_gettime, c, t);
  core::G* me = rt::self();
  core::G* g = c == CLOCK_THREAD_CPUTIME_ID ? me : g_of_clock(c);
  if (c < 0 && (c & 7) == 6 && ~(c >> 3) == me->tid) g = me;
  if (!g) return os::real().clock_gettime(c, t);
  core::enter();
  u64 ns = core::cpu_of(g, g == me);
  core::leave();
  t->tv_sec = static_cast<time_t>(ns / kSec);
  t->tv_nsec = static_cast<long>(ns % kSec);
  return 0;
}

GMPT_API int getrusage(__rusage_who_t who, struct rusage* u) noexcept {
  int r = os::real().getrusage(who, u);
  if (r != 0 || who != RUSAGE_THREAD || !rt::on() || !rt::self()) return r;
  core::enter();
  u64 ns = core::cpu_of(rt::self(), true);
  core::leave();
  // One number is kept; programs that add the two get it right.
  u->ru_utime.tv_sec = static_cast<time_t>(ns / kSec);
  u->ru_utime.tv_usec = static_cast<suseconds_t>(ns % kSec / 1000);
  u->ru_stime.tv_sec = u->ru_stime.tv_usec = 0;
  return 0;
}
