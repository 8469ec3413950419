// posix/mutex_types.c -- normal, recursive, errorcheck and adaptive mutexes give each the return codes glibc gives.
#include "expect.h"

struct job { pthread_mutex_t* m; int want_try, want_unlock, want_timed; };
static void* other(void* a) {
  struct job* j = (struct job*)a;
  EXPECT_EQ(pthread_mutex_trylock(j->m), j->want_try);
  if (j->want_try == 0) OK(pthread_mutex_unlock(j->m));
  if (j->want_unlock >= 0) EXPECT_EQ(pthread_mutex_unlock(j->m), j->want_unlock);
  struct timespec t = ts_in(CLOCK_REALTIME, 20 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(j->m, &t), j->want_timed);
  if (j->want_timed == 0) OK(pthread_mutex_unlock(j->m));
  return NULL;
}
static void elsewhere(pthread_mutex_t* m, int t, int u, int timed) {
  struct job j = {m, t, u, timed};
  join(start(other, &j));
}

static void make(pthread_mutex_t* m, int type) {
  pthread_mutexattr_t a;
  OK(pthread_mutexattr_init(&a));
  OK(pthread_mutexattr_settype(&a, type));
  int got = -1;
  OK(pthread_mutexattr_gettype(&a, &got));
  EXPECT_EQ(got, type);
  OK(pthread_mutex_init(m, &a));
  OK(pthread_mutexattr_destroy(&a));
}

static void normal_like(pthread_mutex_t* m) {
  OK(pthread_mutex_lock(m));
  EXPECT_EQ(pthread_mutex_trylock(m), EBUSY);
  elsewhere(m, EBUSY, -1, ETIMEDOUT);
  // Locking again would wait for ever: with a limit it expires.
  struct timespec t = ts_in(CLOCK_REALTIME, 20 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(m, &t), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_destroy(m), EBUSY);
  OK(pthread_mutex_unlock(m));
  elsewhere(m, 0, -1, 0);
  OK(pthread_mutex_trylock(m));
  OK(pthread_mutex_unlock(m));
  OK(pthread_mutex_destroy(m));
}
static void recursive(pthread_mutex_t* m) {
  for (int i = 0; i < 1000; i++) OK(pthread_mutex_lock(m));
  OK(pthread_mutex_trylock(m));
  struct timespec t = ts_in(CLOCK_REALTIME, 20 * MS);
  OK(pthread_mutex_timedlock(m, &t));
  for (int i = 0; i < 1001; i++) {
    if (i % 100 == 0) elsewhere(m, EBUSY, EPERM, ETIMEDOUT);
    OK(pthread_mutex_unlock(m));
  }
  elsewhere(m, EBUSY, EPERM, ETIMEDOUT);
  OK(pthread_mutex_unlock(m));
  EXPECT_EQ(pthread_mutex_unlock(m), EPERM);
  elsewhere(m, 0, EPERM, 0);
  OK(pthread_mutex_destroy(m));
}
static void errorcheck(pthread_mutex_t* m) {
  EXPECT_EQ(pthread_mutex_unlock(m), EPERM);
  OK(pthread_mutex_lock(m));
  EXPECT_EQ(pthread_mutex_lock(m), EDEADLK);
  EXPECT_EQ(pthread_mutex_trylock(m), EBUSY);
  struct timespec t = ts_in(CLOCK_REALTIME, 20 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(m, &t), EDEADLK);
  elsewhere(m, EBUSY, EPERM, ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_destroy(m), EBUSY);
  OK(pthread_mutex_unlock(m));
  EXPECT_EQ(pthread_mutex_unlock(m), EPERM);
  elsewhere(m, 0, EPERM, 0);
  OK(pthread_mutex_destroy(m));
}

// A holder that blocks keeps its ownership whichever kernel thread continues it.
static pthread_mutex_t owned;
static void* holds_over_sleep(void* a) {
  for (int i = 0; i < 30; i++) {
    OK(pthread_mutex_lock(&owned));
    EXPECT_EQ(pthread_mutex_lock(&owned), EDEADLK);
    if (i & 1) sched_yield(); else sleep_ms(1);
    EXPECT_EQ(pthread_mutex_lock(&owned), EDEADLK);
    OK(pthread_mutex_unlock(&owned));
  }
  return a;
}

int main(void) {
  watchdog(9);
  pthread_mutex_t m, st = PTHREAD_MUTEX_INITIALIZER, sr = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                  se = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, sa = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
  normal_like(&st);
  recursive(&sr);
  errorcheck(&se);
  normal_like(&sa);
  OK(pthread_mutex_init(&m, NULL));
  normal_like(&m);
  make(&m, PTHREAD_MUTEX_NORMAL);
  normal_like(&m);
  make(&m, PTHREAD_MUTEX_DEFAULT);
  normal_like(&m);
  make(&m, PTHREAD_MUTEX_ADAPTIVE_NP);
  normal_like(&m);
  make(&m, PTHREAD_MUTEX_RECURSIVE);
  recursive(&m);
  make(&m, PTHREAD_MUTEX_ERRORCHECK);
  errorcheck(&m);

  pthread_mutexattr_t a;
  OK(pthread_mutexattr_init(&a));
  EXPECT_EQ(pthread_mutexattr_settype(&a, 99), EINVAL);
  OK(pthread_mutexattr_destroy(&a));

  make(&owned, PTHREAD_MUTEX_ERRORCHECK);
  pthread_t t[8];
  for (int i = 0; i < 8; i++) t[i] = start(holds_over_sleep, NULL);
  for (int i = 0; i < 8; i++) join(t[i]);

  // A held normal mutex may be unlocked by another thread on glibc; programs do it.
  OK(pthread_mutex_init(&m, NULL));
  OK(pthread_mutex_lock(&m));
  struct job j = {&m, EBUSY, 0, 0};
  join(start(other, &j));
  OK(pthread_mutex_trylock(&m));
  OK(pthread_mutex_unlock(&m));
  return 0;
}
