// posix/sleep_many.c -- a thousand sleepers of 1 to 50 ms: none early, none forgotten, and earlier limits wake first.
// timeout: 30
#include "expect.h"

enum { N = 1000 };
static int64_t worst;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void* sleeps(void* a) {
  uint64_t s = (uintptr_t)a;
  for (int i = 0; i < 20; i++) {
    int64_t ns = (int64_t)(1 + rnd(&s) % 50) * MS + (int64_t)(rnd(&s) % MS), t0 = now_ns();
    struct timespec t = ts_of(ns);
    OK(nanosleep(&t, NULL));
    int64_t late = now_ns() - t0 - ns;
    EXPECT_GE(late, 0);
    pthread_mutex_lock(&m);
    if (late > worst) worst = late;
    pthread_mutex_unlock(&m);
  }
  return NULL;
}

static int64_t base;
static int order[20], order_n;
static void* in_order(void* a) {
  int i = (int)(intptr_t)a;
  struct timespec t = ts_of(base + (100 + i * 60) * MS);
  OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
  int k = ADD(order_n, 1);
  order[k - 1] = i;
  return NULL;
}

int main(void) {
  watchdog(25);
  static pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(sleeps, num(i + 1));
  for (int i = 0; i < N; i++) join(t[i]);
  printf("worst lateness %.2f ms\n", worst / 1e6);
  EXPECT_LE(worst, 3 * SEC);

  base = now_ns();
  // Started latest first.
  for (int i = 19; i >= 0; i--) t[i] = start(in_order, num(i));
  for (int i = 0; i < 20; i++) join(t[i]);
  // A busy machine may swap neighbours 60 ms apart; not ones 300 ms apart.
  for (int i = 0; i < 20; i++)
    for (int k = i + 1; k < 20; k++) EXPECT_LE(order[i], order[k] + 5);
  return 0;
}
