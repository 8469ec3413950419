// posix/scale_sleepers.c -- 50,000 threads asleep and 50,000 on condition variables at once: few kernel threads, and all wake.
// timeout: 120
// procs: 2
// SCALE_N sets the number of each; natively 2000 is enough to try the program, and 50,000 are not possible.
#include "expect.h"

enum { CONDS = 500 };
static pthread_mutex_t m[CONDS];
static pthread_cond_t c[CONDS];
static int open_[CONDS];
static int waiting, asleep, woken, slept;
static int64_t until;
static void* waits(void* a) {
  int k = (int)((intptr_t)a % CONDS);
  OK(pthread_mutex_lock(&m[k]));
  ADD(waiting, 1);
  while (!open_[k]) OK(pthread_cond_wait(&c[k], &m[k]));
  OK(pthread_mutex_unlock(&m[k]));
  ADD(woken, 1);
  return a;
}
static void* sleeps(void* a) {
  ADD(asleep, 1);
  // Half till a common time, spread over 100 ms; half in two steps.
  struct timespec t = ts_of(LOAD(until) + (intptr_t)a % 100 * MS);
  if ((intptr_t)a & 1) sleep_ms(100 + (intptr_t)a % 50);
  OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
  EXPECT_GE(now_ns(), t.tv_sec * SEC + t.tv_nsec);
  ADD(slept, 1);
  return a;
}

int main(void) {
  watchdog(115);
  int n = preloaded() ? 50000 : 2000;
  if (getenv("SCALE_N")) n = atoi(getenv("SCALE_N"));
  if (n > 10000 && !preloaded()) skip("more threads than a native system should be asked for");
  pthread_t* t = (pthread_t*)calloc(2 * (size_t)n, sizeof *t);
  for (int k = 0; k < CONDS; k++) {
    OK(pthread_mutex_init(&m[k], NULL));
    OK(pthread_cond_init(&c[k], NULL));
  }
  int64_t t0 = now_ns();
  int64_t guess = 3 * SEC + n * 150000LL;  // long enough for all to be made
  STORE(until, t0 + guess);
  for (int i = 0; i < n; i++) {
    int e = pthread_create(&t[2 * i], NULL, waits, num(i));
    if (e == 0) e = pthread_create(&t[2 * i + 1], NULL, sleeps, num(i));
    if (e == EAGAIN && !preloaded()) skip("the native limit of threads");
    OK(e);
  }
  for (int64_t end = now_ns() + 60 * SEC; LOAD(waiting) < n || LOAD(asleep) < n;) {
    EXPECT(now_ns() < end);
    sleep_ms(5);
  }
  int k = kernel_threads(), early = LOAD(slept);
  printf("%d threads after %.0f ms, %d kernel threads\n", 2 * n, (now_ns() - t0) / 1e6, k);
  fflush(stdout);
  EXPECT_EQ(LOAD(woken), 0);
  if (now_ns() < LOAD(until)) EXPECT_EQ(early, 0);
  if (preloaded()) EXPECT_LE(k, max_procs() + 6);
  t0 = now_ns();
  for (int i = 0; i < CONDS; i++) {
    OK(pthread_mutex_lock(&m[i]));
    open_[i] = 1;
    OK(pthread_cond_broadcast(&c[i]));
    OK(pthread_mutex_unlock(&m[i]));
  }
  for (int i = 0; i < 2 * n; i++) join(t[i]);
  EXPECT_EQ(woken, n);
  EXPECT_EQ(slept, n);
  printf("all joined after %.0f ms more\n", (now_ns() - t0) / 1e6);
  return 0;
}
