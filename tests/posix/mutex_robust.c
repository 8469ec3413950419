// posix/mutex_robust.c -- private robust mutexes of every type: who dies how holding them, who waits, many at once, lost for good.
// timeout: 30
#include "expect.h"

enum { N = 40 };
static pthread_mutex_t m[N];
static int up, lost;
static void make(int type) {
  pthread_mutexattr_t a;
  OK(pthread_mutexattr_init(&a));
  OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
  OK(pthread_mutexattr_settype(&a, type));
  for (int i = 0; i < N; i++) OK(pthread_mutex_init(&m[i], &a));
  OK(pthread_mutexattr_destroy(&a));
  up = lost = 0;
}

enum how { RETURN, EXIT, CANCEL, DETACHED, HOWS };
static void lock_all(void) {
  for (int i = 0; i < N; i++) OK(pthread_mutex_lock(&m[i]));
  for (int i = 3; i < N; i += 7) {  // from the middle of the list, and back to its end
    OK(pthread_mutex_unlock(&m[i]));
    OK(pthread_mutex_lock(&m[i]));
  }
}
static void* dies(void* a) {
  lock_all();
  ADD(up, 1);
  switch ((enum how)(intptr_t)a) {
    case RETURN: break;
    case EXIT: pthread_exit(a);
    case CANCEL: for (;;) sleep_ms(1000);
    default: sleep_ms(20);
  }
  return a;
}

// Every waiter gets it; the first is told, the rest find it consistent.
static int told, plain;
static void* waits(void* a) {
  int i = (int)(intptr_t)a % N;
  struct timespec t = ts_in(CLOCK_MONOTONIC, 20 * SEC);
  int e = i & 1 ? pthread_mutex_lock(&m[i]) : pthread_mutex_clocklock(&m[i], CLOCK_MONOTONIC, &t);
  if (e == EOWNERDEAD) {
    OK(pthread_mutex_consistent(&m[i]));
    ADD(told, 1);
  } else {
    OK(e);
    ADD(plain, 1);
  }
  OK(pthread_mutex_unlock(&m[i]));
  return a;
}

static void* waits_for_lost(void* a) {
  int e = pthread_mutex_lock(&m[0]);
  EXPECT_EQ(e, ENOTRECOVERABLE);
  ADD(lost, 1);
  return a;
}
static void* holds_a_while(void* a) {
  OK(pthread_mutex_lock(&m[0]));
  ADD(up, 1);
  sleep_ms(30);
  return a;
}

static void one(int type) {
  for (int how = RETURN; how < HOWS; how++)
    for (int waiters = 0; waiters < 2; waiters++) {
      make(type);
      pthread_t t, w[2 * N];
      OK(pthread_create(&t, NULL, dies, num(how)));
      if (how == DETACHED) OK(pthread_detach(t));
      WAIT_UNTIL(LOAD(up) == 1);
      told = plain = 0;
      if (waiters)
        for (int i = 0; i < 2 * N; i++) w[i] = start(waits, num(i));
      if (how == CANCEL) OK(pthread_cancel(t));
      if (how != DETACHED) join(t);
      if (!waiters)
        for (int i = 0; i < 2 * N; i++) w[i] = start(waits, num(i));
      for (int i = 0; i < 2 * N; i++) join(w[i]);
      EXPECT_EQ(told, N);
      EXPECT_EQ(plain, N);
      for (int i = 0; i < N; i++) {
        EXPECT_EQ(pthread_mutex_consistent(&m[i]), EINVAL);
        OK(pthread_mutex_destroy(&m[i]));
      }
    }

  // Recovered while held again by the one who was told, with the type's own rules.
  make(type);
  join(start(dies, num(RETURN)));
  EXPECT_EQ(pthread_mutex_trylock(&m[0]), EOWNERDEAD);
  OK(pthread_mutex_consistent(&m[0]));
  if (type == PTHREAD_MUTEX_RECURSIVE) {
    OK(pthread_mutex_lock(&m[0]));
    OK(pthread_mutex_unlock(&m[0]));
  }
  if (type == PTHREAD_MUTEX_ERRORCHECK) EXPECT_EQ(pthread_mutex_lock(&m[0]), EDEADLK);
  OK(pthread_mutex_unlock(&m[0]));
  if (type != PTHREAD_MUTEX_NORMAL) EXPECT_EQ(pthread_mutex_unlock(&m[0]), EPERM);

  // Lost for good: who already waits is told as well. (glibc wakes one; of several the rest sleep on.)
  pthread_t t = start(holds_a_while, NULL), w;
  WAIT_UNTIL(LOAD(up) == 2);
  join(t);
  EXPECT_EQ(pthread_mutex_lock(&m[0]), EOWNERDEAD);
  w = start(waits_for_lost, NULL);
  sleep_ms(20);
  EXPECT_EQ(LOAD(lost), 0);
  OK(pthread_mutex_unlock(&m[0]));
  join(w);
  struct timespec soon = ts_in(CLOCK_REALTIME, 20 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(&m[0], &soon), ENOTRECOVERABLE);
  EXPECT_EQ(pthread_mutex_trylock(&m[0]), ENOTRECOVERABLE);
  OK(pthread_mutex_destroy(&m[0]));
}

// Held by main when the first thread is made: every thread's list is an empty one all the same.
static void* passes(void* a) {
  OK(pthread_mutex_lock(&m[0]));
  OK(pthread_mutex_unlock(&m[0]));
  return a;
}
static void held_at_first(void) {
  pthread_t t[3];
  make(PTHREAD_MUTEX_NORMAL);
  OK(pthread_mutex_lock(&m[0]));
  for (int i = 0; i < 3; i++) t[i] = start(passes, NULL);
  OK(pthread_mutex_unlock(&m[0]));
  for (int i = 0; i < 3; i++) join(t[i]);
  OK(pthread_mutex_destroy(&m[0]));
}

int main(void) {
  watchdog(25);
  held_at_first();
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
  for (int i = 0; i < 3; i++) one(types[i]);
  return 0;
}
