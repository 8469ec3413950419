// posix/thread_join_timed.c -- tryjoin never waits; timed joins expire on their clock, never early, and still join later.
// timeout: 30
#include "expect.h"

static sem_t go;
static void* wait_go(void* a) {
  while (sem_wait(&go) == -1) EXPECT_EQ(errno, EINTR);
  return a;
}
static void* nap(void* a) {
  sleep_ms((intptr_t)a);
  return a;
}

int main(void) {
  watchdog(25);
  OK(sem_init(&go, 0, 0));
  void* r = num(7);
  pthread_t t = start(wait_go, num(5));
  EXPECT_EQ(pthread_tryjoin_np(t, &r), EBUSY);
  EXPECT_EQ(r, 7);

  for (int mono = 0; mono < 2; mono++) {
    clockid_t c = mono ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec end = ts_in(c, 60 * MS);
    EXPECT_EQ(pthread_clockjoin_np(t, &r, c, &end), ETIMEDOUT);
    int64_t late = clock_ns(c) - ((int64_t)end.tv_sec * SEC + end.tv_nsec);
    EXPECT_GE(late, 0);
    EXPECT_LE(late, 2 * SEC);
  }
  struct timespec end = ts_in(CLOCK_REALTIME, 60 * MS);
  EXPECT_EQ(pthread_timedjoin_np(t, &r, &end), ETIMEDOUT);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), (int64_t)end.tv_sec * SEC + end.tv_nsec);

  // A time in the past. (glibc never returns for a malformed one.)
  struct timespec past = ts_in(CLOCK_REALTIME, -5 * SEC);
  EXPECT_EQ(pthread_timedjoin_np(t, &r, &past), ETIMEDOUT);
  EXPECT_EQ(pthread_clockjoin_np(t, &r, CLOCK_THREAD_CPUTIME_ID, &end), EINVAL);
  EXPECT_EQ(r, 7);

  SYS(sem_post(&go));
  end = ts_in(CLOCK_REALTIME, 10 * SEC);
  OK(pthread_timedjoin_np(t, &r, &end));
  EXPECT_EQ(r, 5);

  // Ends while the joiner waits with a limit.
  t = start(nap, num(80));
  int64_t t0 = now_ns();
  end = ts_in(CLOCK_MONOTONIC, 10 * SEC);
  OK(pthread_clockjoin_np(t, &r, CLOCK_MONOTONIC, &end));
  EXPECT_EQ(r, 80);
  EXPECT_LE(now_ns() - t0, 5 * SEC);

  // tryjoin succeeds once the thread has ended.
  t = start(nap, num(1));
  int e;
  for (t0 = now_ns(); (e = pthread_tryjoin_np(t, &r)) == EBUSY && now_ns() - t0 < 10 * SEC;) sleep_ms(1);
  OK(e);
  EXPECT_EQ(r, 1);

  // A null limit waits as join does.
  t = start(nap, num(2));
  OK(pthread_timedjoin_np(t, &r, NULL));
  EXPECT_EQ(r, 2);
  return 0;
}
