// posix/turns_beside_calls.c -- threads that wake each other and block in libc's own waits do not keep those from their turns who wait for one.
// timeout: 60
#include "expect.h"

enum { PAIRS = 24, OTHERS = 40 };
// Of half the pairs the mutex is process-shared: those wait in the kernel.
static struct pair {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
} pairs[PAIRS];
static int stop, turns[OTHERS];

static void* plays(void* a) {
  struct pair* p = &pairs[(intptr_t)a / 2];
  OK(pthread_mutex_lock(&p->mutex));
  while (!LOAD(stop)) {
    OK(pthread_cond_broadcast(&p->cond));
    struct timespec at = ts_in(CLOCK_REALTIME, 50 * MS);
    pthread_cond_timedwait(&p->cond, &p->mutex, &at);
  }
  OK(pthread_cond_broadcast(&p->cond));
  OK(pthread_mutex_unlock(&p->mutex));
  return a;
}
static void* waits_for_turns(void* a) {
  int me = (int)(intptr_t)a;
  while (!LOAD(stop)) {
    ADD(turns[me], 1);
    sched_yield();
  }
  return a;
}

int main(void) {
  watchdog(50);
  pthread_mutexattr_t ma;
  pthread_condattr_t ca;
  OK(pthread_mutexattr_init(&ma));
  OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
  static pthread_t t[2 * PAIRS], o[OTHERS];
  for (int i = 0; i < PAIRS; i++) {
    OK(pthread_mutex_init(&pairs[i].mutex, i % 2 ? &ma : NULL));
    OK(pthread_cond_init(&pairs[i].cond, i % 2 ? &ca : NULL));
  }
  for (int i = 0; i < 2 * PAIRS; i++) t[i] = start(plays, num(i));
  for (int i = 0; i < OTHERS; i++) o[i] = start(waits_for_turns, num(i));
  // Each of them has many turns in a while; so has this thread.
  for (int i = 0; i < OTHERS; i++) WAIT_UNTIL(LOAD(turns[i]) >= 20);
  STORE(stop, 1);
  for (int i = 0; i < 2 * PAIRS; i++) join(t[i]);
  for (int i = 0; i < OTHERS; i++) join(o[i]);
  return 0;
}
