// posix/mutex_exclusion.c -- 64 threads never meet inside a mutex of any type, whether they yield, sleep, spin or try.
// timeout: 60
#include "expect.h"

enum { T = 64, R = 400 };
static pthread_mutex_t m;
static int inside, timed_fails;
static long counter;  // plain: only the mutex protects it
static void* work(void* a) {
  uint64_t seed = (uintptr_t)a;
  for (int i = 0; i < R; i++) {
    int e;
    switch (rnd(&seed) % 4) {
      case 0:
        while ((e = pthread_mutex_trylock(&m)) != 0) {
          EXPECT_EQ(e, EBUSY);
          sched_yield();
        }
        break;
      case 1: {
        struct timespec t = ts_in(CLOCK_MONOTONIC, 1 * MS);
        if ((e = pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t)) != 0) {
          EXPECT_EQ(e, ETIMEDOUT);
          ADD(timed_fails, 1);
          OK(pthread_mutex_lock(&m));
        }
        break;
      }
      default: OK(pthread_mutex_lock(&m));
    }
    EXPECT_EQ(ADD(inside, 1), 1);
    long c = counter;
    switch (rnd(&seed) % 64) {
      case 0: sched_yield(); break;
      case 1: usleep(50); break;
      case 2:
        for (volatile int k = 0; k < 2000; k++) {
        }
    }
    counter = c + 1;
    EXPECT_EQ(ADD(inside, -1), 0);
    OK(pthread_mutex_unlock(&m));
  }
  return NULL;
}

int main(void) {
  watchdog(55);
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                              PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int k = 0; k < 4; k++) {
    pthread_mutexattr_t a;
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, types[k]));
    OK(pthread_mutex_init(&m, &a));
    counter = 0;
    pthread_t t[T];
    for (int i = 0; i < T; i++) t[i] = start(work, num(i + 1));
    for (int i = 0; i < T; i++) join(t[i]);
    EXPECT_EQ(counter, (long)T * R);
    OK(pthread_mutex_destroy(&m));
  }
  return 0;
}
