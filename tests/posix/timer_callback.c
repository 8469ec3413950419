// posix/timer_callback.c -- libc calls SIGEV_THREAD functions on kernel threads of its own; signals sent from there reach the threads as any others do.
// timeout: 30
#include "expect.h"
#include <signal.h>
#include <time.h>

enum { T = 4 };
static int to_process, to_thread, callbacks, stop;
static __thread int worker;
static pthread_t target;

static void on_usr1(int sig) { ADD(to_process, 1); }
static void on_usr2(int sig) {
  if (worker) ADD(to_thread, 1);
}
static void callback(union sigval v) {
  EXPECT_EQ(v.sival_int, 7);
  OK(kill(getpid(), SIGUSR1));
  OK(pthread_kill(target, SIGUSR2));
  ADD(callbacks, 1);
}
static void* works(void* a) {
  worker = 1;
  while (!LOAD(stop)) {
    if (a) sched_yield();
    else usleep(500);
  }
  return a;
}

int main(void) {
  struct sigaction sa = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
  OK(sigaction(SIGUSR1, &sa, NULL));
  sa.sa_handler = on_usr2;
  OK(sigaction(SIGUSR2, &sa, NULL));
  pthread_t t[T];
  for (int i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, works, i % 2 ? &target : NULL));
  target = t[0];
  struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = callback, .sigev_value.sival_int = 7};
  timer_t timer;
  OK(timer_create(CLOCK_MONOTONIC, &ev, &timer));
  struct itimerspec its = {{0, 2000000}, {0, 2000000}};
  OK(timer_settime(timer, 0, &its, NULL));
  WAIT_UNTIL(LOAD(callbacks) >= 100 && LOAD(to_process) >= 1 && LOAD(to_thread) >= 50);  // some may merge
  OK(timer_delete(timer));
  STORE(stop, 1);
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  return 0;
}
