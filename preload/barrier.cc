// preload/barrier.cc -- barriers, libc names.
#include "rt/barrier.h"

#include "preload/interpose.h"

using namespace gmpt;

#define OTHERS(b) GMPT_UNLIKELY(!rt::on() || !rt::barrier_is_ours(b))

// Count, flag and zeros: libc's way to make one is ours.
GMPT_API int pthread_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t* a, unsigned count) noexcept {
  rt::on();
  return os::real().pthread_barrier_init(b, a, count);
}

GMPT_API int pthread_barrier_destroy(pthread_barrier_t* b) noexcept {
  if (OTHERS(b)) return rt::kernel_call([=] { return os::real().pthread_barrier_destroy(b); });
  return rt::barrier_destroy(b);
}

GMPT_API int pthread_barrier_wait(pthread_barrier_t* b) noexcept {
  if (OTHERS(b)) return rt::kernel_call([=] { return os::real().pthread_barrier_wait(b); });
  return rt::barrier_wait(b);
}
