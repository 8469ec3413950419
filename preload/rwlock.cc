// preload/rwlock.cc -- read-write locks, libc names.
#include "rt/rwlock.h"

#include "preload/interpose.h"

using namespace gmpt;

#define OTHERS(rw) GMPT_UNLIKELY(!rt::on() || !rt::rwlock_is_ours(rw))

// Flags and zeros: libc's way to make one is ours.
GMPT_API int pthread_rwlock_init(pthread_rwlock_t* rw, const pthread_rwlockattr_t* a) noexcept {
  rt::on();
  return os::real().pthread_rwlock_init(rw, a);
}

GMPT_API int pthread_rwlock_destroy(pthread_rwlock_t* rw) noexcept {
  if (OTHERS(rw)) return os::real().pthread_rwlock_destroy(rw);
  return 0;
}

GMPT_API int pthread_rwlock_rdlock(pthread_rwlock_t* rw) noexcept {
  if (OTHERS(rw)) return rt::kernel_call([=] { return os::real().pthread_rwlock_rdlock(rw); });
  return rt::rwlock_rdlock(rw);
}

GMPT_API int pthread_rwlock_wrlock(pthread_rwlock_t* rw) noexcept {
  if (OTHERS(rw)) return rt::kernel_call([=] { return os::real().pthread_rwlock_wrlock(rw); });
  return rt::rwlock_wrlock(rw);
}

GMPT_API int pthread_rwlock_tryrdlock(pthread_rwlock_t* rw) noexcept {
  if (OTHERS(rw)) return os::real().pthread_rwlock_tryrdlock(rw);
  return rt::rwlock_tryrdlock(rw);
}

GMPT_API int pthread_rwlock_trywrlock(pthread_rwlock_t* rw) noexcept {
  if (OTHERS(rw)) return os::real().pthread_rwlock_trywrlock(rw);
  return rt::rwlock_trywrlock(rw);
}

GMPT_API int pthread_rwlock_timedrdlock(pthread_rwlock_t* rw, const struct timespec* t) noexcept {
  if (OTHERS(rw)) return rt::kernel_call([=] { return os::real().pthread_rwlock_timedrdlock(rw, t); });
  return rt::rwlock_rdlock(rw, {CLOCK_REALTIME, t});
}

GMPT_API int pthread_rwlock_timedwrlock(pthread_rwlock_t* rw, const struct timespec* t) noexcept {
  if (OTHERS(rw)) return rt::kernel_call([=] { return os::real().pthread_rwlock_timedwrlock(rw, t); });
  return rt::rwlock_wrlock(rw, {CLOCK_REALTIME, t});
}

GMPT_API int pthread_rwlock_clockrdlock(pthread_rwlock_t* rw, clockid_t clock, const struct timespec* t) noexcept {
  if (OTHERS(rw)) return rt::kernel_call([=] { return os::real().pthread_rwlock_clockrdlock(rw, clock, t); });
  return rt::rwlock_rdlock(rw, {clock, t});
}

GMPT_API int pthread_rwlock_clockwrlock(pthread_rwlock_t* rw, clockid_t clock, const struct timespec* t) noexcept {
  if (OTHERS(rw)) return rt::kernel_call([=] { return os::real().pthread_rwlock_clockwrlock(rw, clock, t); });
  return rt::rwlock_wrlock(rw, {clock, t});
}

GMPT_API int pthread_rwlock_unlock(pthread_rwlock_t* rw) noexcept {
  if (OTHERS(rw)) return os::real().pthread_rwlock_unlock(rw);
  return rt::rwlock_unlock(rw);
}

GMPT_API int __pthread_rwlock_init(pthread_rwlock_t* rw, const pthread_rwlockattr_t* a) { return pthread_rwlock_init(rw, a); }
GMPT_API int __pthread_rwlock_destroy(pthread_rwlock_t* rw) { return pthread_rwlock_destroy(rw); }
GMPT_API int __pthread_rwlock_rdlock(pthread_rwlock_t* rw) { return pthread_rwlock_rdlock(rw); }
GMPT_API int __pthread_rwlock_tryrdlock(pthread_rwlock_t* rw) { return pthread_rwlock_tryrdlock(rw); }
GMPT_API int __pthread_rwlock_wrlock(pthread_rwlock_t* rw) { return pthread_rwlock_wrlock(rw); }
GMPT_API int __pthread_rwlock_trywrlock(pthread_rwlock_t* rw) { return pthread_rwlock_trywrlock(rw); }
GMPT_API int __pthread_rwlock_unlock(pthread_rwlock_t* rw) { return pthread_rwlock_unlock(rw); }
