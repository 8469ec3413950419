// preload/mutex.cc -- mutexes, libc names.
#include "rt/mutex.h"

#include "preload/interpose.h"
#include "rt/kerneltid.h"
#include "rt/waiting.h"

using namespace gmpt;

namespace {

// Kinds that live in the kernel's protocol: the real function, the P on offer while it blocks.
template <class F>
int kernel_lock(pthread_mutex_t* m, F call) {
  if (!rt::self()) return call();
  if (rt::mutex_wants_kernel_tid(m)) return rt::lock_with_kernel_tid(m, call);
  core::sys_begin();
  int r = call();
  core::sys_end();
  return r;
}

int timed(pthread_mutex_t* m, clockid_t clock, const struct timespec* abs) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
  int e = rt::mutex_trylock(m);  // a free mutex is taken whatever the time says
  if (e == 0) return 0;
  for (;;) {
    u64 d = rt::deadline_abs(clock, abs);
    if (d == rt::kBadDeadline) return EINVAL;
    e = rt::mutex_lock(m, d);
    if (e != ETIMEDOUT || clock == CLOCK_MONOTONIC || rt::deadline_abs(clock, abs) == 0) return e;
  }
}

}  // namespace

// A private robust mutex is libc's to lock; with priority inheritance libc would name the G's id to the kernel,
// which knows no such thread. Gs have no priorities to inherit, so the protocol is dropped (rt/mutex.cc).
GMPT_API int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* a) noexcept {
  int e = os::real().pthread_mutex_init(m, a);
  if (e == 0 && rt::on()) rt::mutex_init_fix(m, a);
  return e;
}
GMPT_API int __pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* a) { return pthread_mutex_init(m, a); }

GMPT_API int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
  GMPT_NATIVE(pthread_mutex_lock, m);
  if (GMPT_UNLIKELY(!rt::mutex_is_ours(m))) return kernel_lock(m, [=] { return os::real().pthread_mutex_lock(m); });
  return rt::mutex_lock(m);
}

GMPT_API int pthread_mutex_trylock(pthread_mutex_t* m) noexcept {
  GMPT_NATIVE(pthread_mutex_trylock, m);
  if (GMPT_UNLIKELY(!rt::mutex_is_ours(m))) return kernel_lock(m, [=] { return os::real().pthread_mutex_trylock(m); });
  return rt::mutex_trylock(m);
}

GMPT_API int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
  GMPT_NATIVE(pthread_mutex_unlock, m);
  if (GMPT_UNLIKELY(!rt::mutex_is_ours(m))) {
    auto unlock = [=] { return os::real().pthread_mutex_unlock(m); };
    return rt::self() && rt::mutex_wants_kernel_tid(m) ? rt::unlock_with_kernel_tid(m, unlock) : unlock();
  }
  return rt::mutex_unlock(m);
}

GMPT_API int pthread_mutex_timedlock(pthread_mutex_t* m, const struct timespec* abs) noexcept {
  GMPT_NATIVE(pthread_mutex_timedlock, m, abs);
  if (!rt::mutex_is_ours(m)) return kernel_lock(m, [=] { return os::real().pthread_mutex_timedlock(m, abs); });
  return timed(m, CLOCK_REALTIME, abs);
}

GMPT_API int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const struct timespec* abs) noexcept {
  GMPT_NATIVE(pthread_mutex_clocklock, m, clock, abs);
  if (!rt::mutex_is_ours(m)) return kernel_lock(m, [=] { return os::real().pthread_mutex_clocklock(m, clock, abs); });
  return timed(m, clock, abs);
}

GMPT_API int __pthread_mutex_lock(pthread_mutex_t* m) { return pthread_mutex_lock(m); }
GMPT_API int __pthread_mutex_trylock(pthread_mutex_t* m) { return pthread_mutex_trylock(m); }
GMPT_API int __pthread_mutex_unlock(pthread_mutex_t* m) { return pthread_mutex_unlock(m); }

// Writes the caller's id where lock wrote it.
GMPT_API int pthread_mutex_consistent(pthread_mutex_t* m) noexcept {
  GMPT_NATIVE(pthread_mutex_consistent, m);
  auto call = [=] { return os::real().pthread_mutex_consistent(m); };
  return rt::self() && rt::mutex_wants_kernel_tid(m) ? rt::as_kernel_thread(call) : call();
}
// The headers of today rename it.
GMPT_API int gmpt_consistent_np(pthread_mutex_t* m) noexcept __asm__("pthread_mutex_consistent_np");
GMPT_API int gmpt_consistent_np(pthread_mutex_t* m) noexcept { return pthread_mutex_consistent(m); }

GMPT_API int pthread_mutex_setprioceiling(pthread_mutex_t* m, int ceiling, int* old) noexcept {
  GMPT_NATIVE(pthread_mutex_setprioceiling, m, ceiling, old);
  // It locks and unlocks: nothing stays held.
  auto call = [=] { return os::real().pthread_mutex_setprioceiling(m, ceiling, old); };
  if (!rt::self()) return call();
  if (!rt::mutex_wants_kernel_tid(m)) return rt::kernel_call(call);
  core::pin(rt::self());
  int e = rt::as_kernel_thread(call);
  core::unpin(rt::self());
  return e;
}
