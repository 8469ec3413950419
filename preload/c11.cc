// preload/c11.cc -- C11 threads: other names and results for POSIX objects, as in glibc.
//
// The objects are the same, byte for byte. A thrd_start_t returns int and is called as if it returned a
// pointer: both come back in the same register, and thrd_join keeps the low half.
#include "core/boot.h"
#include "preload/interpose.h"
#include "rt/cond.h"
#include "rt/key.h"
#include "rt/sleep.h"
#include "rt/thread.h"
#include "rt/waiting.h"

using namespace gmpt;

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(thrd_t) == sizeof(pthread_t) && sizeof(tss_t) == sizeof(pthread_key_t));

namespace {

pthread_mutex_t* mutex(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* cond(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }

int result(int e) {
  switch (e) {
    case 0: return thrd_success;
    case ENOMEM: return thrd_nomem;
    case ETIMEDOUT: return thrd_timedout;
    case EBUSY: return thrd_busy;
    default: return thrd_error;
  }
}

bool ours(thrd_t t) { return rt::on() && core::awake() && rt::g_of(t); }

}  // namespace

// mtx_init and mtx_destroy only write kind and zeros: libc's serve.
GMPT_API int mtx_lock(mtx_t* m) {
  GMPT_NATIVE(mtx_lock, m);
  return result(rt::mutex_lock(mutex(m)));
}

GMPT_API int mtx_trylock(mtx_t* m) {
  GMPT_NATIVE(mtx_trylock, m);
  return result(rt::mutex_trylock(mutex(m)));
}

GMPT_API int mtx_timedlock(mtx_t* m, const struct timespec* t) {
  GMPT_NATIVE(mtx_timedlock, m, t);
  int e = rt::mutex_trylock(mutex(m));  // a free mutex is taken whatever the time says
  if (e != EBUSY) return result(e);
  rt::Limit limit{CLOCK_REALTIME, t};
  if (limit.bad()) return thrd_error;
  for (;;) {
    u64 deadline = limit.deadline();
    if (deadline == 0) return thrd_timedout;
    e = rt::mutex_lock(mutex(m), deadline);
    if (e != ETIMEDOUT) return result(e);
  }
}

GMPT_API int mtx_unlock(mtx_t* m) {
  GMPT_NATIVE(mtx_unlock, m);
  return result(rt::mutex_unlock(mutex(m)));
}

GMPT_API int cnd_init(cnd_t* c) {
  GMPT_NATIVE(cnd_init, c);
  return result(rt::cond_init(cond(c), nullptr));
}

GMPT_API void cnd_destroy(cnd_t* c) {
  GMPT_NATIVE(cnd_destroy, c);
  rt::cond_destroy(cond(c));
}

GMPT_API int cnd_signal(cnd_t* c) {
  GMPT_NATIVE(cnd_signal, c);
  return result(rt::cond_signal(cond(c)));
}

GMPT_API int cnd_broadcast(cnd_t* c) {
  GMPT_NATIVE(cnd_broadcast, c);
  return result(rt::cond_broadcast(cond(c)));
}

GMPT_API int cnd_wait(cnd_t* c, mtx_t* m) {
  GMPT_NATIVE(cnd_wait, c, m);
  return result(rt::cond_wait(cond(c), mutex(m), nullptr, -1));
}

GMPT_API int cnd_timedwait(cnd_t* c, mtx_t* m, const struct timespec* t) {
  GMPT_NATIVE(cnd_timedwait, c, m, t);
  return result(rt::cond_wait(cond(c), mutex(m), t, -1));
}

GMPT_API int thrd_create(thrd_t* t, thrd_start_t start, void* arg) {
  if (!rt::ensure_awake()) return os::real().thrd_create(t, start, arg);
  void* (*as_pthread)(void*) = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<uptr>(start));
  return result(rt::thread_create(t, nullptr, as_pthread, arg));
}

GMPT_API int thrd_join(thrd_t t, int* res) {
  if (!ours(t)) return os::real().thrd_join(t, res);
  void* r = nullptr;
  int e = rt::thread_join(t, &r, kNever);
  if (e == 0 && res) *res = static_cast<int>(reinterpret_cast<uptr>(r));
  return result(e);
}

GMPT_API int thrd_detach(thrd_t t) { return ours(t) ? result(rt::thread_detach(t)) : os::real().thrd_detach(t); }

GMPT_API void thrd_exit(int res) {
  rt::on();
  rt::thread_exit(reinterpret_cast<void*>(static_cast<i64>(res)));
}

GMPT_API void thrd_yield() {
  GMPT_NOT_A_G(thrd_yield);
  rt::give_turn();
}

GMPT_API int thrd_sleep(const struct timespec* t, struct timespec* rem) {
  GMPT_NOT_A_G(thrd_sleep, t, rem);
  int e = rt::sleep_until(CLOCK_REALTIME, 0, t, rem);
  return e == 0 ? 0 : e == EINTR ? -1 : -2;
}

GMPT_API int tss_create(tss_t* key, tss_dtor_t destructor) {
  GMPT_NATIVE(tss_create, key, destructor);
  return result(rt::key_create(key, destructor));
}

GMPT_API void tss_delete(tss_t key) {
  GMPT_NATIVE(tss_delete, key);
  rt::key_delete(key);
}
