// posix/mutex_timed.c -- timed locks expire on the clock asked for, never early, and still take a mutex that becomes free in time.
// timeout: 30
#include "expect.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static sem_t up;
static void* holds(void* a) {
  OK(pthread_mutex_lock(&m));
  SYS(sem_post(&up));
  sleep_ms((intptr_t)a);
  OK(pthread_mutex_unlock(&m));
  return NULL;
}
static void* waiter(void* a) {
  intptr_t ms = (intptr_t)a;
  struct timespec t = ts_in(CLOCK_MONOTONIC, ms * MS);
  EXPECT_EQ(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t), ETIMEDOUT);
  EXPECT_GE(now_ns(), t.tv_sec * SEC + t.tv_nsec);
  return NULL;
}

int main(void) {
  watchdog(25);
  OK(sem_init(&up, 0, 0));
  pthread_t h = start(holds, num(600));
  while (sem_wait(&up) == -1) EXPECT_EQ(errno, EINTR);

  for (int i = 0; i < 3; i++) {
    clockid_t c = i == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec t = ts_in(c, 50 * MS);
    int e = i == 0 ? pthread_mutex_timedlock(&m, &t) : pthread_mutex_clocklock(&m, c, &t);
    EXPECT_EQ(e, ETIMEDOUT);
    EXPECT_GE(clock_ns(c), t.tv_sec * SEC + t.tv_nsec);
    EXPECT_LE(clock_ns(c) - (t.tv_sec * SEC + t.tv_nsec), 2 * SEC);
  }
  // Many waiters with many limits at once.
  pthread_t w[50];
  for (int i = 0; i < 50; i++) w[i] = start(waiter, num(5 + i * 3));
  for (int i = 0; i < 50; i++) join(w[i]);

  // A past or malformed limit counts only if the mutex is not free.
  struct timespec past = ts_in(CLOCK_REALTIME, -SEC), bad = {1, -1}, bad2 = {1, 1000000000}, neg = {-1, 0};
  EXPECT_EQ(pthread_mutex_timedlock(&m, &past), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_timedlock(&m, &neg), ETIMEDOUT);
  EXPECT_EQ(pthread_mutex_timedlock(&m, &bad), EINVAL);
  EXPECT_EQ(pthread_mutex_timedlock(&m, &bad2), EINVAL);
  EXPECT_EQ(pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past), EINVAL);
  join(h);
  // A clock that cannot be waited on is refused in any case.
  EXPECT_EQ(pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past), EINVAL);
  EXPECT_EQ(pthread_mutex_clocklock(&m, CLOCK_REALTIME_COARSE, &past), EINVAL);
  OK(pthread_mutex_timedlock(&m, &past));
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_timedlock(&m, &bad));
  OK(pthread_mutex_unlock(&m));

  // Freed while waiting.
  for (int i = 0; i < 10; i++) {
    h = start(holds, num(15));
    while (sem_wait(&up) == -1) EXPECT_EQ(errno, EINTR);
    clockid_t c = i & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec t = ts_in(c, 10 * SEC);
    OK(pthread_mutex_clocklock(&m, c, &t));
    EXPECT(clock_ns(c) < t.tv_sec * SEC);
    OK(pthread_mutex_unlock(&m));
    join(h);
  }
  return 0;
}
