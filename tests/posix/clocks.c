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

// Another thread's clock goes on while that thread runs, and can be slept on.
static int stop;
static void* spins(void* a) {
  while (!LOAD(stop)) {}
  return a;
}
static void of_another(void) {
  pthread_t t = start(spins, NULL);
  clockid_t id, own;
  OK(pthread_getcpuclockid(t, &id));
  OK(pthread_getcpuclockid(pthread_self(), &own));
  int64_t first = clock_ns(id), last = first, seen = 0;
  for (int i = 0; i < 2000 && last < first + 20 * MS; i++) {
    sleep_ms(1);
    int64_t now = clock_ns(id);
    EXPECT_GE(now, last);
    seen += now > last;
    last = now;
  }
  EXPECT(last >= first + 20 * MS);
  EXPECT_GE(seen, 4);
  struct timespec w = {0, 30 * MS}, bad = {0, SEC}, neg = {-1, 0};
  OK(clock_nanosleep(id, 0, &w, NULL));
  EXPECT_GE(clock_ns(id), last + 30 * MS);
  int64_t until = clock_ns(id) + 20 * MS;
  w = (struct timespec){until / SEC, until % SEC};
  OK(clock_nanosleep(id, TIMER_ABSTIME, &w, NULL));
  EXPECT_GE(clock_ns(id), until);
  OK(clock_nanosleep(id, TIMER_ABSTIME, &w, NULL));   // past
  EXPECT_EQ(clock_nanosleep(id, 0, &bad, NULL), EINVAL);
  EXPECT_EQ(clock_nanosleep(id, 0, &neg, NULL), EINVAL);
  EXPECT_EQ(clock_nanosleep(own, 0, &w, NULL), EINVAL);
  EXPECT_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &w, NULL), EINVAL);
  w = (struct timespec){0, 10 * MS};
  OK(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &w, NULL));
  STORE(stop, 1);
  join(t);
}

int main(void) {
  watchdog(25);
  of_another();
  pthread_t t[12];
  for (int i = 0; i < 4; i++) {
    t[i] = start(forward, NULL);
    t[4 + i] = start(sleeps, NULL);
    t[8 + i] = start(works, NULL);
  }
  for (int i = 0; i < 12; i++) join(t[i]);
  return 0;
}
