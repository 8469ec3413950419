// posix/clocks.c -- clocks never run backwards in a thread, thread CPU clocks count that thread's own work and not its sleep.
// timeout: 30
#include "expect.h"

static void burn(int64_t ns) {
  struct timespec t;
  int64_t end = now_ns() + ns;
  do clock_gettime(CLOCK_MONOTONIC, &t);
  while (t.tv_sec * SEC + t.tv_nsec < end);
}
static void* forward(void* a) {
  int64_t last = 0;
  for (int i = 0; i < 20000; i++) {
    int64_t n = now_ns();
    EXPECT_GE(n, last);
    last = n;
    if (i % 1000 == 0) sched_yield();
    if (i % 5000 == 0) sleep_ms(1);
  }
  return a;
}
static void* sleeps(void* a) {
  int64_t c0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 10; i++) sleep_ms(20);
  int64_t c = clock_ns(CLOCK_THREAD_CPUTIME_ID) - c0;
  EXPECT_GE(c, 0);
  EXPECT_LE(c, 100 * MS);
  return a;
}
static void* works(void* a) {
  int64_t c0 = clock_ns(CLOCK_THREAD_CPUTIME_ID), p0 = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  int64_t last = c0;
  for (int i = 0; i < 10; i++) {
    burn(10 * MS);
    int64_t c = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    EXPECT_GE(c, last);
    last = c;
  }
  EXPECT(last > c0);
  EXPECT(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - p0 > 0);
  clockid_t id;
  OK(pthread_getcpuclockid(pthread_self(), &id));
  EXPECT(clock_ns(id) > 0);
  return a;
}

int main(void) {
  watchdog(25);
  pthread_t t[12];
  for (int i = 0; i < 4; i++) {
    t[i] = start(forward, NULL);
    t[4 + i] = start(sleeps, NULL);
    t[8 + i] = start(works, NULL);
  }
  for (int i = 0; i < 12; i++) join(t[i]);
  return 0;
}
