// preload/sem.cc -- semaphores, libc names.
#include "rt/sem.h"

#include "preload/interpose.h"
#include "rt/offer.h"

using namespace gmpt;

// Who is not a G waits in the kernel by libc's protocol, which our word keeps; so does who waits for another process.
#define OTHERS(s) GMPT_UNLIKELY(!rt::on() || !rt::self() || !rt::sem_is_ours(s))

namespace {
int result(int e) {
  if (GMPT_LIKELY(e == 0)) return 0;
  errno = e;
  return -1;
}
}  // namespace

// Value and flag: libc's way to make one is ours.
GMPT_API int sem_init(sem_t* s, int pshared, unsigned value) noexcept {
  rt::on();
  return os::real().sem_init(s, pshared, value);
}

GMPT_API int sem_destroy(sem_t* s) noexcept {
  rt::on();
  return os::real().sem_destroy(s);
}

GMPT_API int sem_getvalue(sem_t* s, int* value) noexcept {
  rt::on();
  return os::real().sem_getvalue(s, value);
}

GMPT_API int sem_wait(sem_t* s) {
  if (OTHERS(s)) return rt::libc_offered([=] { return os::real().sem_wait(s); });
  return result(rt::sem_wait(s));
}

GMPT_API int sem_timedwait(sem_t* s, const struct timespec* t) {
  if (OTHERS(s)) return rt::libc_offered([=] { return os::real().sem_timedwait(s, t); });
  return result(rt::sem_wait(s, {CLOCK_REALTIME, t}));
}

GMPT_API int sem_clockwait(sem_t* s, clockid_t clock, const struct timespec* t) {
  if (OTHERS(s)) return rt::libc_offered([=] { return os::real().sem_clockwait(s, clock, t); });
  return result(rt::sem_wait(s, {clock, t}));
}

GMPT_API int sem_trywait(sem_t* s) noexcept {
  GMPT_NATIVE(sem_trywait, s);
  return result(rt::sem_take(s) ? 0 : EAGAIN);
}

GMPT_API int sem_post(sem_t* s) noexcept {
  if (GMPT_UNLIKELY(!rt::on() || !rt::sem_is_ours(s))) return os::real().sem_post(s);
  return result(rt::sem_post(s));
}
