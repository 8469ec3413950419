// preload/clock.cc -- CPU-time clocks of threads, and timers that are a thread's; all other clocks go straight to libc.
#include "core/cputime.h"

#include "core/boot.h"
#include "core/signal.h"
#include "preload/interpose.h"
#include "rt/cpuclock.h"
#include "rt/policy.h"
#include "rt/usermem.h"

using namespace gmpt;

GMPT_API int clock_gettime(clockid_t c, struct timespec* t) noexcept {
  if (GMPT_LIKELY(c >= 0 && c != CLOCK_THREAD_CPUTIME_ID)) {
    GMPT_NATIVE(clock_gettime, c, t);
    return os::real().clock_gettime(c, t);
  }
  GMPT_NOT_A_G(clock_gettime, c, t);
  core::G* me = rt::self();
  core::G* g = c == CLOCK_THREAD_CPUTIME_ID ? me : rt::g_of_cpu_clock(c);
  if (!g || !rt::writable(t, sizeof *t)) return os::real().clock_gettime(g ? CLOCK_PROCESS_CPUTIME_ID : c, t);
  core::enter();
  u64 ns = core::cpu_of(g, g == me);
  core::leave();
  t->tv_sec = static_cast<time_t>(ns / kSec);
  t->tv_nsec = static_cast<long>(ns % kSec);
  return 0;
}

GMPT_API int clock_getres(clockid_t c, struct timespec* t) noexcept {
  if (rt::on() && rt::self() && rt::g_of_cpu_clock(c)) c = CLOCK_THREAD_CPUTIME_ID;
  return os::real().clock_getres(c, t);
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

// A timer whose signal goes to one thread. And one that counts a thread's own CPU time: the M's is that thread's
// alone if the thread stays on it.
GMPT_API int timer_create(clockid_t c, struct sigevent* ev, timer_t* out) noexcept {
  GMPT_NATIVE(timer_create, c, ev, out);
  core::G* me = core::awake() ? rt::self() : nullptr;
  core::G* pinned = me && (c == CLOCK_THREAD_CPUTIME_ID || rt::g_of_cpu_clock(c) == me) ? me : nullptr;
  if (pinned) core::pin(me), c = CLOCK_THREAD_CPUTIME_ID;
  core::G* g = core::awake() && ev && ev->sigev_notify == SIGEV_THREAD_ID ? rt::g_of_tid(ev->_sigev_un._tid) : nullptr;
  struct sigevent e;
  if (g) {
    e = *ev;
    e.sigev_notify = SIGEV_SIGNAL;
    ev = &e;
  }
  int r = os::real().timer_create(c, ev, out);
  if (r == 0 && (g || pinned)) {
    bool noted;
    {
      core::Rt visit(me);
      noted = core::timer_is_of(static_cast<i32>(reinterpret_cast<uptr>(*out)), g ? g->tid : 0, pinned);
    }
    if (!noted) {
      os::real().timer_delete(*out);
      errno = EAGAIN;
      r = -1;
    }
  }
  if (r != 0 && pinned) core::unpin(me);
  return r;
}
GMPT_API int timer_delete(timer_t t) noexcept {
  GMPT_NATIVE(timer_delete, t);
  int r = os::real().timer_delete(t);
  if (r == 0 && core::awake()) {
    core::Rt visit(rt::self());
    core::timer_ends(static_cast<i32>(reinterpret_cast<uptr>(t)));
  }
  return r;
}
