// preload/thread.cc -- threads: create, join, end, attributes of a running one, names, ids.
#include "rt/thread.h"

#include "core/boot.h"
#include "preload/interpose.h"
#include "rt/key.h"

using namespace gmpt;

GMPT_API int pthread_create(pthread_t* t, const pthread_attr_t* attr, void* (*start)(void*), void* arg) noexcept {
  if (!rt::ensure_awake()) return os::real().pthread_create(t, attr, start, arg);
  return rt::thread_create(t, attr, start, arg);
}

// A pthread_t of a kernel thread that libc made itself (timers, aio) goes to libc.
#define OURS(t) (rt::on() && core::awake() && rt::g_of(t))

GMPT_API int pthread_join(pthread_t t, void** result) {
  return OURS(t) ? rt::thread_join(t, result, kNever) : os::real().pthread_join(t, result);
}

GMPT_API int pthread_tryjoin_np(pthread_t t, void** result) noexcept {
  return OURS(t) ? rt::thread_tryjoin(t, result) : os::real().pthread_tryjoin_np(t, result);
}

GMPT_API int pthread_clockjoin_np(pthread_t t, void** result, clockid_t clock, const struct timespec* abs) {
  if (!OURS(t)) return os::real().pthread_clockjoin_np(t, result, clock, abs);
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  for (;;) {
    u64 d = abs ? rt::deadline_abs(clock, abs) : kNever;
    if (d == rt::kBadDeadline) return EINVAL;
    int e = rt::thread_join(t, result, d);
    if (e != ETIMEDOUT || clock == CLOCK_MONOTONIC || rt::deadline_abs(clock, abs) == 0) return e;
  }
}

GMPT_API int pthread_timedjoin_np(pthread_t t, void** result, const struct timespec* abs) {
  if (!OURS(t)) return os::real().pthread_timedjoin_np(t, result, abs);
  return pthread_clockjoin_np(t, result, CLOCK_REALTIME, abs);
}

GMPT_API int pthread_detach(pthread_t t) noexcept { return OURS(t) ? rt::thread_detach(t) : os::real().pthread_detach(t); }

GMPT_API int pthread_cancel(pthread_t t) { return OURS(t) ? rt::thread_cancel(t) : os::real().pthread_cancel(t); }

GMPT_API void pthread_exit(void* result) {
  rt::on();
  rt::thread_exit(result);
}

GMPT_API int pthread_getattr_np(pthread_t t, pthread_attr_t* a) noexcept {
  return OURS(t) ? rt::thread_getattr(t, a) : os::real().pthread_getattr_np(t, a);
}

GMPT_API int pthread_setattr_default_np(const pthread_attr_t* a) noexcept {
  int e = os::real().pthread_setattr_default_np(a);
  if (e == 0 && rt::on()) rt::thread_defaults_set();
  return e;
}

GMPT_API int pthread_setname_np(pthread_t t, const char* name) noexcept {
  return OURS(t) ? rt::thread_setname(t, name) : os::real().pthread_setname_np(t, name);
}

GMPT_API int pthread_getname_np(pthread_t t, char* buf, size_t n) noexcept {
  return OURS(t) ? rt::thread_getname(t, buf, n) : os::real().pthread_getname_np(t, buf, n);
}

GMPT_API pid_t gettid() noexcept {
  core::G* g = rt::on() ? rt::self() : nullptr;
  return g ? g->tid : os::gettid();
}

GMPT_API int pthread_key_create(pthread_key_t* k, void (*d)(void*)) noexcept {
  GMPT_NATIVE(pthread_key_create, k, d);
  return rt::key_create(k, d);
}
GMPT_API int __pthread_key_create(pthread_key_t* k, void (*d)(void*)) { return pthread_key_create(k, d); }
GMPT_API int pthread_key_delete(pthread_key_t k) noexcept {
  GMPT_NATIVE(pthread_key_delete, k);
  return rt::key_delete(k);
}
