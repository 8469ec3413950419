// posix/signals_default.c -- a signal whose action is the default ends the process, whoever sends it and whatever threads block it, if one does not.
// timeout: 90
#include "expect.h"
#include <sys/time.h>

enum { WAYS = 8 };
static void* blocks(void* a) {
  for (;;) usleep(1000);
  return a;
}
static void* spins(void* a) {
  for (;;) continue;
  return a;
}
static int sig_of(int way) {
  const int of[WAYS] = {SIGALRM, SIGPROF, SIGVTALRM, SIGUSR1, SIGRTMIN + 4, SIGTERM, SIGUSR2, SIGPROF};
  return of[way];
}
static void begin(int way) {
  struct itimerval soon = {{0, 0}, {0, 5000}};
  struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig_of(way)};
  struct itimerspec in = {{0, 0}, {0, 3000000}};
  timer_t t;
  switch (way) {
    case 0: OK(setitimer(ITIMER_REAL, &soon, NULL)); break;
    case 1: OK(setitimer(ITIMER_PROF, &soon, NULL)); break;
    case 2: OK(setitimer(ITIMER_VIRTUAL, &soon, NULL)); break;
    case 3:
    case 4:
      OK(timer_create(CLOCK_MONOTONIC, &ev, &t));
      OK(timer_settime(t, 0, &in, NULL));
      break;
    case 5: OK(kill(getpid(), SIGTERM)); break;
    case 6: OK(raise(SIGUSR2)); break;
    default: OK(pthread_kill(pthread_self(), SIGPROF));
  }
}
static void child(int way, int spinning) {
  sigset_t all, before;
  pthread_t t;
  sigfillset(&all);
  OK(pthread_sigmask(SIG_SETMASK, &all, &before));
  OK(pthread_create(&t, NULL, blocks, NULL));
  OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
  if (spinning) OK(pthread_create(&t, NULL, spins, NULL));
  usleep(10000);
  begin(way);
  if (way == 1 || way == 2) spins(NULL);
  for (;;) usleep(50000);
}

int main(void) {
  for (int i = 0; i < 2 * WAYS; i++) {
    pid_t pid = fork();
    if (pid == 0) child(i / 2, i & 1);
    int st;
    EXPECT_EQ(waitpid(pid, &st, 0), pid);
    EXPECT(WIFSIGNALED(st));
    EXPECT_EQ(WTERMSIG(st), sig_of(i / 2));
  }
  return 0;
}
