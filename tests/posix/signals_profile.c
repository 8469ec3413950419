// posix/signals_profile.c -- SIGPROF and SIGVTALRM of setitimer interrupt whoever computes, so that a profiler sees all of them; main sleeps.
// timeout: 60
#include "expect.h"
#include <sys/time.h>

enum { T = 4, SHOTS = 3 };
static __thread int me;
static int got[T + 1], stop;

static void on_signal(int sig) { ADD(got[me], 1); }
static void* computes(void* a) {
  me = (int)(intptr_t)a;
  volatile unsigned long n = 0;
  while (!LOAD(stop)) n++;
  return NULL;
}

int main(void) {
  struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  OK(sigaction(SIGPROF, &sa, NULL));
  OK(sigaction(SIGVTALRM, &sa, NULL));
  pthread_t t[T];
  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, computes, (void*)(i + 1)));
  int kinds[] = {ITIMER_PROF, ITIMER_VIRTUAL};
  for (int k = 0; k < 2; k++) {
    struct itimerval on = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
    for (int i = 0; i <= T; i++) STORE(got[i], 0);
    OK(setitimer(kinds[k], &on, NULL));
    for (int i = 1; i <= T; i++)
      while (LOAD(got[i]) < SHOTS) usleep(1000);
    OK(setitimer(kinds[k], &off, NULL));
    int all = 0;
    for (int i = 1; i <= T; i++) all += LOAD(got[i]);
    EXPECT_LE(LOAD(got[0]), all);  // main, which only looks now and then
  }
  STORE(stop, 1);
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  return 0;
}
