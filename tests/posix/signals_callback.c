// posix/signals_callback.c -- a SIGEV_THREAD function opens signals and gets them, in its own context; a signal to the process goes to main first.
// timeout: 60
#include "expect.h"

enum { ROUNDS = 40 };
static __thread int here = 7;  // 7 in threads of the program, 9 in a callback
static pthread_t main_thread;
static int own, own_masked, in_main, wrong, callbacks, stop;

static void on_usr1(int sig, siginfo_t* si, void* uc) {
  sigset_t now;
  OK(pthread_sigmask(SIG_BLOCK, NULL, &now));
  if (here != 9 || si->si_code != SI_TKILL) ADD(wrong, 1);
  if (sigismember(&now, SIGUSR1) && sigismember(&now, SIGHUP) && !sigismember(&now, SIGUSR2)) ADD(own_masked, 1);
  ADD(own, 1);
}
static void on_usr2(int sig) {
  if (pthread_equal(pthread_self(), main_thread)) ADD(in_main, 1);
  else if (here != 9) ADD(wrong, 1);
}
static void callback(union sigval v) {
  here = 9;
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  sigaddset(&s, SIGUSR2);
  sigaddset(&s, SIGHUP);
  OK(pthread_sigmask(SIG_UNBLOCK, &s, NULL));
  int before = LOAD(own);
  OK(raise(SIGUSR1));
  EXPECT_LE(before + 1, LOAD(own));
  OK(kill(getpid(), SIGUSR2));
  for (volatile int i = 0; i < 100000; i++) continue;
  ADD(callbacks, 1);
}
static void* works(void* a) {
  while (!LOAD(stop)) {
    if (a) sched_yield();
    else usleep(300);
  }
  return a;
}

int main(void) {
  main_thread = pthread_self();
  struct sigaction sa = {.sa_sigaction = on_usr1, .sa_flags = SA_SIGINFO};
  sigaddset(&sa.sa_mask, SIGHUP);
  OK(sigaction(SIGUSR1, &sa, NULL));
  struct sigaction sb = {.sa_handler = on_usr2};
  OK(sigaction(SIGUSR2, &sb, NULL));
  pthread_t t[4];
  sigset_t all, before;
  sigfillset(&all);
  OK(pthread_sigmask(SIG_SETMASK, &all, &before));
  for (intptr_t i = 0; i < 4; i++) OK(pthread_create(&t[i], NULL, works, (void*)(i & 1)));
  OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
  struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = callback};
  timer_t timer;
  OK(timer_create(CLOCK_MONOTONIC, &ev, &timer));
  struct itimerspec its = {{0, 3000000}, {0, 3000000}};
  OK(timer_settime(timer, 0, &its, NULL));
  while (LOAD(callbacks) < ROUNDS) usleep(1000);
  its = (struct itimerspec){{0, 0}, {0, 0}};
  OK(timer_settime(timer, 0, &its, NULL));
  usleep(50000);
  STORE(stop, 1);
  for (int i = 0; i < 4; i++) OK(pthread_join(t[i], NULL));
  EXPECT_EQ(LOAD(wrong), 0);
  EXPECT_EQ(LOAD(own_masked), LOAD(own));
  EXPECT_LE(1, LOAD(in_main));
  return 0;
}
