// preload/cond.cc -- condition variables, libc names.
#include "rt/cond.h"

#include "preload/interpose.h"
#include "rt/kerneltid.h"
#include "rt/waiting.h"

using namespace gmpt;

namespace {
// Process-shared, and so is the mutex.
bool libcs(const pthread_cond_t* c, const pthread_mutex_t* m) { return GMPT_UNLIKELY(c->__data.__wrefs & 1) && !rt::mutex_is_ours(m); }

template <class F>
int kernel_wait(const pthread_mutex_t* m, F call) {
  if (!rt::self() || !rt::mutex_wants_kernel_tid(m)) return rt::kernel_call(call);
  bool robust = rt::mutex_is_robust(m);
  int e = rt::as_kernel_thread(call);
  if (e == ENOTRECOVERABLE) rt::hold_ends(robust);
  return e;
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
  if (libcs(c, m)) return kernel_wait(m, [=] { return os::real().pthread_cond_wait(c, m); });
  return rt::cond_wait(c, m, nullptr, -1);
}

GMPT_API int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const struct timespec* t) {
  GMPT_NATIVE(pthread_cond_timedwait, c, m, t);
  if (libcs(c, m)) return kernel_wait(m, [=] { return os::real().pthread_cond_timedwait(c, m, t); });
  return rt::cond_wait(c, m, t, -1);
}

GMPT_API int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const struct timespec* t) {
  GMPT_NATIVE(pthread_cond_clockwait, c, m, clock, t);
  if (libcs(c, m)) return kernel_wait(m, [=] { return os::real().pthread_cond_clockwait(c, m, clock, t); });
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
