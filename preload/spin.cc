// preload/spin.cc -- spin locks, libc names.
#include "rt/spin.h"

#include "preload/interpose.h"

using namespace gmpt;

GMPT_API int pthread_spin_init(pthread_spinlock_t* s, int) noexcept {
  rt::spin_unlock(s);
  return 0;
}

GMPT_API int pthread_spin_destroy(pthread_spinlock_t*) noexcept { return 0; }

GMPT_API int pthread_spin_lock(pthread_spinlock_t* s) noexcept {
  GMPT_NATIVE(pthread_spin_lock, s);
  rt::spin_lock(s);
  return 0;
}

GMPT_API int pthread_spin_trylock(pthread_spinlock_t* s) noexcept { return rt::spin_trylock(s) ? 0 : EBUSY; }

GMPT_API int pthread_spin_unlock(pthread_spinlock_t* s) noexcept {
  rt::spin_unlock(s);
  return 0;
}
