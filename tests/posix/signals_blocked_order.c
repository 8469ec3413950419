// posix/signals_blocked_order.c -- from the moment in which the last thread blocks a signal, what is sent is taken in order.
// timeout: 90
#include "expect.h"

enum { ROUNDS = 1500, BURST = 24, T = 3 };
static sem_t ping, pong, never;

static void* answers(void* a) {
  for (;;) {
    while (sem_wait(&ping) != 0) continue;
    OK(sem_post(&pong));
  }
  return a;
}
static void* waits(void* a) {
  while (sem_wait(&never) != 0) continue;
  return a;
}
static void on_queued(int s) { EXPECT_EQ(s, SIGRTMIN + 1); }

int main(void) {
  struct sigaction sa = {.sa_handler = on_queued};
  OK(sigaction(SIGRTMIN + 1, &sa, NULL));
  OK(sem_init(&ping, 0, 0));
  OK(sem_init(&pong, 0, 0));
  OK(sem_init(&never, 0, 0));
  sigset_t all, one, before;
  sigfillset(&all);
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN + 1);
  OK(pthread_sigmask(SIG_SETMASK, &all, &before));
  for (int i = 0; i < T; i++) start(waits, NULL);
  start(answers, NULL);
  OK(pthread_sigmask(SIG_SETMASK, &before, NULL));

  struct timespec none = {0, 0};
  siginfo_t si;
  for (int r = 0; r < ROUNDS; r++) {
    // Others come to run, and to rest, while this thread has the signal open.
    OK(sem_post(&ping));
    if (r % 4 == 0) usleep(30 + r % 100);
    else if (r % 4 == 1) while (sem_wait(&pong) != 0) continue;
    OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
    for (int i = 0; i < BURST; i++) OK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
    for (int i = 0; i < BURST; i++) {
      EXPECT_EQ(sigtimedwait(&one, &si, &none), SIGRTMIN + 1);
      EXPECT_EQ(si.si_value.sival_int, i);
    }
    OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
    if (r % 4 != 1) while (sem_wait(&pong) != 0) continue;
  }
  return 0;
}
