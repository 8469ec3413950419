// preload/cond.cc -- condition variables, libc names.
#include "rt/cond.h"

#include "preload/interpose.h"

using namespace gmpt;

namespace {
bool shared(const pthread_cond_t* c) { return c->__data.__wrefs & 1; }

template <class F>
int kernel_wait(F call) {
  if (!rt::self()) return call();
  core::sys_begin();
  int r = call();
  core::sys_end();
  return r;
}
}  // namespace

GMPT_API int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* a) noexcept {
  GMPT_NATIVE(pthread_cond_init, c, a);
  return rt::cond_init(c, a);
}

GMPT_API int pthread_cond_destroy(pthread_cond_t* c) noexcept {
  GMPT_NATIVE(pthread_cond_destroy, c);
  return rt::cond_destroy(c);
}

GMPT_API int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  GMPT_NATIVE(pthread_cond_wait, c, m);
  if (shared(c)) return kernel_wait([=] { return os::real().pthread_cond_wait(c, m); });
  return rt::cond_wait(c, m, nullptr, -1);
}

GMPT_API int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const struct timespec* t) {
  GMPT_NATIVE(pthread_cond_timedwait, c, m, t);
  if (shared(c)) return kernel_wait([=] { return os::real().pthread_cond_timedwait(c, m, t); });
  return rt::cond_wait(c, m, t, -1);
}

GMPT_API int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const struct timespec* t) {
  GMPT_NATIVE(pthread_cond_clockwait, c, m, clock, t);
  if (shared(c)) return kernel_wait([=] { return os::real().pthread_cond_clockwait(c, m, clock, t); });
  if (clock < 0) return EINVAL;
  return rt::cond_wait(c, m, t, clock);
}

GMPT_API int pthread_cond_signal(pthread_cond_t* c) noexcept {
  GMPT_NATIVE(pthread_cond_signal, c);
  return rt::cond_signal(c);
}

GMPT_API int pthread_cond_broadcast(pthread_cond_t* c) noexcept {
  GMPT_NATIVE(pthread_cond_broadcast, c);
  return rt::cond_broadcast(c);
}
