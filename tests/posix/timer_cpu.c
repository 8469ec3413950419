// posix/timer_cpu.c -- a timer of a thread's CPU time: deleted by its thread or another, any number of them; of a thread that ended it counts nobody's time.
// timeout: 60
#include "expect.h"
#include <time.h>

enum { T = 20, ROUNDS = 200 };
static int fired, stop, go;
static timer_t theirs[T];

static void on_timer(int sig) { ADD(fired, 1); }
static timer_t make(int sig, long s, long ns) {
  struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
  timer_t t;
  OK(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &t));
  struct itimerspec its = {{0, 0}, {s, ns}};
  OK(timer_settime(t, 0, &its, NULL));
  return t;
}
static void burn(long ms) {
  struct timespec a, b;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}
static void* burns(void* a) {
  while (!LOAD(stop)) burn(1);
  return a;
}
static void* makes_and_deletes(void* a) {
  for (int i = 0; i < ROUNDS; i++) {
    timer_t t[3];
    for (int k = 0; k < 3; k++) t[k] = make(SIGUSR1, 1000, 0);
    sched_yield();
    for (int k = 0; k < 3; k++) OK(timer_delete(t[(k + i) % 3]));
  }
  return a;
}
// Main deletes its timer while it runs or sleeps.
static void* has_timer(void* a) {
  int i = (int)(intptr_t)a;
  theirs[i] = make(SIGUSR1, 1000, 0);
  ADD(go, 1);
  while (!LOAD(stop)) {
    if (i & 1) usleep(1000);
    else sched_yield();
  }
  return NULL;
}
static void* ends(void* a) {
  theirs[(intptr_t)a] = make(SIGUSR1, 0, 20000000);
  return NULL;
}

int main(void) {
  signal(SIGUSR1, on_timer);
  pthread_t t[T], b[4];
  for (int i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, makes_and_deletes, NULL));
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  EXPECT_EQ(LOAD(fired), 0);

  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, has_timer, (void*)i));
  while (LOAD(go) < T) usleep(1000);
  for (int i = 0; i < T; i++) OK(timer_delete(theirs[i]));
  EXPECT_EQ(timer_delete(theirs[0]), -1);
  EXPECT_EQ(errno, EINVAL);
  usleep(20000);
  STORE(stop, 1);
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));

  STORE(stop, 0);
  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, ends, (void*)i));
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  for (int i = 0; i < 4; i++) OK(pthread_create(&b[i], NULL, burns, NULL));
  burn(100);
  usleep(300000);
  STORE(stop, 1);
  for (int i = 0; i < 4; i++) OK(pthread_join(b[i], NULL));
  EXPECT_EQ(LOAD(fired), 0);
  for (int i = 0; i < T; i++) OK(timer_delete(theirs[i]));

  timer_t mine = make(SIGUSR1, 0, 20000000);  // and one that is to fire
  while (!LOAD(fired)) burn(1);
  OK(timer_delete(mine));
  return 0;
}
