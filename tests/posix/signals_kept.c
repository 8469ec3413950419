// posix/signals_kept.c -- no signal is lost when the thread it was meant for ends or blocks it first, and as many are queued as RLIMIT_SIGPENDING allows.
// timeout: 60
#include "expect.h"
#include <signal.h>
#include <sys/resource.h>

static int handled, sent, stop, disorder, last;
static sigset_t set;
static void on_signal(int sig, siginfo_t* si, void* uc) {
  (void)sig, (void)uc;
  ADD(handled, 1);
  if (si->si_code == SI_QUEUE) {
    if (si->si_value.sival_int != last + 1) disorder++;
    last = si->si_value.sival_int;
  }
}

// To the process, while threads that take it come and go; all others block it.
static void* sends(void* a) {
  while (!LOAD(stop)) {
    if (kill(getpid(), (int)(intptr_t)a) == 0) ADD(sent, 1);
    int want = LOAD(sent);
    while (LOAD(handled) < want && !LOAD(stop)) sched_yield();
  }
  return a;
}
static void* opens_and_ends(void* a) {
  OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
  return a;
}
static void* opens_and_blocks(void* a) {
  for (int i = 0; i < 20; i++) {
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
  }
  return a;
}
static void takers_come_and_go(int sig) {
  STORE(stop, 0);
  STORE(handled, 0);
  STORE(sent, 0);
  pthread_t s = start(sends, num(sig)), w[2];
  for (int i = 0; i < 500; i++) {
    w[0] = start(opens_and_ends, NULL);
    w[1] = start(opens_and_blocks, NULL);
    join(w[0]);
    join(w[1]);
  }
  STORE(stop, 1);
  join(s);
  for (int i = 0; i < 10000 && LOAD(handled) < LOAD(sent); i++) join(start(opens_and_ends, NULL));
  EXPECT_EQ(LOAD(handled), LOAD(sent));
  EXPECT_GE(LOAD(sent), 1);
}

// To one thread that blocks it.
static int ready, go;
static void* takes_many(void* a) {
  STORE(ready, 1);
  while (!LOAD(go)) usleep(1000);
  OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
  return a;
}
static void many_queued(void) {
  enum { N = 2000 };
  struct rlimit r;
  OK(getrlimit(RLIMIT_SIGPENDING, &r));
  if (r.rlim_cur != RLIM_INFINITY && r.rlim_cur < 2 * N) return;
  STORE(handled, 0);
  pthread_t t = start(takes_many, NULL);
  while (!LOAD(ready)) usleep(1000);
  for (int i = 1; i <= N; i++) OK(pthread_sigqueue(t, SIGRTMIN + 1, (union sigval){.sival_int = i}));
  STORE(go, 1);
  join(t);
  EXPECT_EQ(LOAD(handled), N);
  EXPECT_EQ(disorder, 0);
}

int main(void) {
  watchdog(55);
  struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  OK(sigaction(SIGUSR1, &sa, NULL));
  OK(sigaction(SIGRTMIN, &sa, NULL));
  OK(sigaction(SIGRTMIN + 1, &sa, NULL));
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGRTMIN);
  sigaddset(&set, SIGRTMIN + 1);
  OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
  takers_come_and_go(SIGUSR1);
  takers_come_and_go(SIGRTMIN);
  many_queued();
  return 0;
}
