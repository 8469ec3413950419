// preload/sleep.cc -- sleeping and giving the turn away, libc names.
#include "rt/sleep.h"

#include "preload/interpose.h"

using namespace gmpt;

GMPT_API int sched_yield() noexcept {
  GMPT_NOT_A_G(sched_yield);
  rt::give_turn();
  return 0;
}
GMPT_API int __sched_yield() { return sched_yield(); }
// Programs linked before glibc 2.34 call it; the headers have made it sched_yield since.
GMPT_API int gmpt_pthread_yield() noexcept __asm__("pthread_yield");
GMPT_API int gmpt_pthread_yield() noexcept { return sched_yield(); }

GMPT_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec* t, struct timespec* rem) {
  GMPT_NOT_A_G(clock_nanosleep, clock, flags, t, rem);
  return rt::sleep_until(clock, flags, t, rem);
}

GMPT_API int nanosleep(const struct timespec* t, struct timespec* rem) {
  GMPT_NOT_A_G(nanosleep, t, rem);
  return static_cast<int>(rt::ret(-rt::sleep_until(CLOCK_MONOTONIC, 0, t, rem)));
}
GMPT_API int __nanosleep(const struct timespec* t, struct timespec* rem) { return nanosleep(t, rem); }

GMPT_API int usleep(useconds_t us) {
  GMPT_NOT_A_G(usleep, us);
  struct timespec t = {static_cast<time_t>(us / 1000000), static_cast<long>(us % 1000000) * 1000};
  return nanosleep(&t, nullptr);
}

// Interrupted: the unslept seconds, rounded as glibc does (whole seconds left).
GMPT_API unsigned sleep(unsigned seconds) {
  GMPT_NOT_A_G(sleep, seconds);
  int saved = errno;
  struct timespec t = {static_cast<time_t>(seconds), 0}, rem = {0, 0};
  if (nanosleep(&t, &rem) == 0) {
    errno = saved;
    return 0;
  }
  return static_cast<unsigned>(rem.tv_sec);
}
