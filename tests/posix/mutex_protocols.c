// posix/mutex_protocols.c -- priority-inheritance, priority-protect and robust mutexes keep their meaning between threads.
// timeout: 30
#include "expect.h"

static pthread_mutex_t m;
static int data;
static void* dies_holding(void* a) {
  OK(pthread_mutex_lock(&m));
  data = 13;
  return a;
}
static void* gets_owner_dead(void* a) {
  EXPECT_EQ(pthread_mutex_lock(&m), EOWNERDEAD);  // waits until the holder ends
  OK(pthread_mutex_consistent(&m));
  OK(pthread_mutex_unlock(&m));
  return a;
}
static void* dies_later(void* a) {
  OK(pthread_mutex_lock(&m));
  sleep_ms(60);
  return a;
}
static int counter;
static void* counts(void* a) {
  for (int i = 0; i < 200; i++) {
    OK(pthread_mutex_lock(&m));
    int c = counter;
    if (i % 16 == 0) sched_yield();
    counter = c + 1;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* expires(void* a) {
  EXPECT_EQ(pthread_mutex_trylock(&m), EBUSY);
  struct timespec t = ts_in(CLOCK_REALTIME, 40 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(&m, &t), ETIMEDOUT);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), t.tv_sec * SEC + t.tv_nsec);
  return a;
}

static void crowd(void) {
  counter = 0;
  pthread_t t[16];
  for (int i = 0; i < 16; i++) t[i] = start(counts, NULL);
  for (int i = 0; i < 16; i++) join(t[i]);
  EXPECT_EQ(counter, 16 * 200);
  OK(pthread_mutex_lock(&m));
  join(start(expires, NULL));
  OK(pthread_mutex_unlock(&m));
}

int main(void) {
  watchdog(25);
  pthread_mutexattr_t a;
  OK(pthread_mutexattr_init(&a));
  int v;
  OK(pthread_mutexattr_getprotocol(&a, &v));
  EXPECT_EQ(v, PTHREAD_PRIO_NONE);
  OK(pthread_mutexattr_getrobust(&a, &v));
  EXPECT_EQ(v, PTHREAD_MUTEX_STALLED);
  EXPECT_EQ(pthread_mutexattr_setprotocol(&a, 9), EINVAL);
  EXPECT_EQ(pthread_mutexattr_setrobust(&a, 9), EINVAL);

  // Priority inheritance.
  OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
  OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
  OK(pthread_mutex_init(&m, &a));
  crowd();
  OK(pthread_mutex_lock(&m));
  EXPECT_EQ(pthread_mutex_lock(&m), EDEADLK);
  OK(pthread_mutex_unlock(&m));
  EXPECT_EQ(pthread_mutex_unlock(&m), EPERM);
  OK(pthread_mutex_destroy(&m));
  OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL));
  OK(pthread_mutex_init(&m, &a));
  crowd();
  OK(pthread_mutex_destroy(&m));

  // Robust: the next owner is told that the last one ended with it.
  OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_NONE));
  OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
  OK(pthread_mutex_init(&m, &a));
  crowd();
  for (int i = 0; i < 20; i++) {
    join(start(dies_holding, NULL));
    EXPECT_EQ(i & 1 ? pthread_mutex_lock(&m) : pthread_mutex_trylock(&m), EOWNERDEAD);
    EXPECT_EQ(data, 13);
    OK(pthread_mutex_consistent(&m));
    EXPECT_EQ(pthread_mutex_consistent(&m), EINVAL);
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
  }
  pthread_t d = start(dies_later, NULL);
  sleep_ms(20);
  pthread_t w = start(gets_owner_dead, NULL);
  join(d);
  join(w);
  // Unlocked without being made consistent: lost for good.
  join(start(dies_holding, NULL));
  EXPECT_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
  OK(pthread_mutex_unlock(&m));
  EXPECT_EQ(pthread_mutex_lock(&m), ENOTRECOVERABLE);
  EXPECT_EQ(pthread_mutex_trylock(&m), ENOTRECOVERABLE);
  OK(pthread_mutex_destroy(&m));

  // Robust with inheritance.
  OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
  OK(pthread_mutex_init(&m, &a));
  crowd();
  join(start(dies_holding, NULL));
  EXPECT_EQ(pthread_mutex_lock(&m), EOWNERDEAD);
  OK(pthread_mutex_consistent(&m));
  OK(pthread_mutex_unlock(&m));
  crowd();
  OK(pthread_mutex_destroy(&m));
  OK(pthread_mutexattr_destroy(&a));
  return 0;
}
