// posix/sleep_exact.c -- every kind of sleep lasts at least as long as asked, on every clock, and bad requests are refused.
// timeout: 30
#include "expect.h"
#include <sys/select.h>

static void at_least(int64_t t0, int64_t ns) {
  int64_t d = now_ns() - t0;
  EXPECT_GE(d, ns);
  EXPECT_LE(d, ns + 3 * SEC);
}
static void* several(void* a) {
  (void)a;
  for (int i = 0; i < 5; i++) {
    int64_t t0 = now_ns();
    struct timespec t = ts_of(10 * MS + i * 12345), left = {9, 9};
    OK(nanosleep(&t, &left));
    at_least(t0, 10 * MS + i * 12345);
    t0 = now_ns();
    OK(usleep(7000));
    at_least(t0, 7 * MS);
    static const clockid_t rel[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI};
    for (unsigned k = 0; k < sizeof rel / sizeof *rel; k++) {
      t0 = now_ns();
      t = ts_of(5 * MS);
      OK(clock_nanosleep(rel[k], 0, &t, NULL));
      at_least(t0, 5 * MS);
      t = ts_in(rel[k], 6 * MS);
      OK(clock_nanosleep(rel[k], TIMER_ABSTIME, &t, NULL));
      int64_t late = clock_ns(rel[k]) - (t.tv_sec * SEC + t.tv_nsec);
      EXPECT_GE(late, 0);
      EXPECT_LE(late, 3 * SEC);
      // Already past: at once.
      t = ts_in(rel[k], -SEC);
      t0 = now_ns();
      OK(clock_nanosleep(rel[k], TIMER_ABSTIME, &t, NULL));
      EXPECT_LE(now_ns() - t0, 3 * SEC);
    }
  }
  return NULL;
}
static void* burns(void* a) {
  while (!LOAD(*(int*)a)) {
  }
  return a;
}

int main(void) {
  watchdog(25);
  several(NULL);
  enum { N = 20 };
  pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(several, NULL);
  int64_t t0 = now_ns();
  EXPECT_EQ(sleep(1), 0);
  at_least(t0, SEC);
  for (int i = 0; i < N; i++) join(t[i]);

  struct timespec bad[] = {{0, -1}, {0, 1000000000}, {-1, 0}};
  for (int i = 0; i < 3; i++) {
    FAILS(nanosleep(&bad[i], NULL), EINVAL);
    EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad[i], NULL), EINVAL);
  }
  errno = 99;
  struct timespec ok = {0, 1000};
  EXPECT_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ok, NULL), EINVAL);
  EXPECT_EQ(clock_nanosleep(12345, 0, &ok, NULL), EINVAL);
  EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &ok, NULL), ENOTSUP);
  EXPECT_EQ(errno, 99);  // clock_nanosleep returns its error

  struct timespec zero = {0, 0};
  OK(nanosleep(&zero, NULL));
  OK(usleep(0));
  EXPECT_EQ(sleep(0), 0);

  // The process's CPU clock runs while another thread computes.
  int stop = 0;
  t[0] = start(burns, &stop);
  ok = ts_of(20 * MS);
  OK(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &ok, NULL));
  STORE(stop, 1);
  join(t[0]);
  return 0;
}
