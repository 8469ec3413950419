// posix/timerfd.c -- timerfd reads wait for the next expiry, never early, count what was missed, and follow changed settings.
#include "expect.h"
#include <sys/timerfd.h>

static int fd;
static void* waits(void* a) {
  uint64_t n = 0;
  EXPECT_EQ(read(fd, &n, 8), 8);
  EXPECT(n > 0);
  return a;
}
static void set(int64_t first, int64_t every, int flags) {
  struct itimerspec s = {ts_of(every), ts_of(first)};
  SYS(timerfd_settime(fd, flags, &s, NULL));
}

int main(void) {
  watchdog(9);
  uint64_t n;
  static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME};
  for (int k = 0; k < 3; k++) {
    fd = (int)SYS(timerfd_create(clocks[k], TFD_CLOEXEC));
    int64_t t0 = now_ns();
    set(30 * MS, 0, 0);
    EXPECT_EQ(read(fd, &n, 8), 8);
    EXPECT_EQ(n, 1);
    EXPECT_GE(now_ns() - t0, 30 * MS);
    int64_t at = clock_ns(clocks[k]) + 30 * MS;
    set(at, 0, TFD_TIMER_ABSTIME);
    join(start(waits, NULL));
    EXPECT_GE(clock_ns(clocks[k]), at);
    close(fd);
  }
  fd = (int)SYS(timerfd_create(CLOCK_MONOTONIC, 0));
  int64_t t0 = now_ns();
  set(10 * MS, 10 * MS, 0);
  uint64_t sum = 0;
  while (sum < 10) {
    EXPECT_EQ(read(fd, &n, 8), 8);
    sum += n;
    EXPECT_GE(now_ns() - t0, (int64_t)sum * 10 * MS);
  }
  sleep_ms(60);
  EXPECT_EQ(read(fd, &n, 8), 8);
  EXPECT_GE(n, 5);
  // Not set: blocks until another thread sets it.
  set(0, 0, 0);
  pthread_t t = start(waits, NULL);
  sleep_ms(30);
  EXPECT_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
  set(1, 0, 0);
  join(t);
  // Brought forward while a thread waits.
  set(1000 * SEC, 0, 0);
  t = start(waits, NULL);
  sleep_ms(20);
  set(10 * MS, 0, 0);
  join(t);
  struct pollfd p = {fd, POLLIN, 0};
  t0 = now_ns();
  set(20 * MS, 0, 0);
  EXPECT_EQ(poll(&p, 1, 5000), 1);
  EXPECT_GE(now_ns() - t0, 20 * MS);
  return 0;
}
