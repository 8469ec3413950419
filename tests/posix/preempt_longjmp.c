// posix/preempt_longjmp.c -- a thread whose handlers leave by siglongjmp thousands of times, wherever it was, still gives way to others.
// timeout: 60
// env: GMPT_SLICE_US=100
#include "expect.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

enum { JUMPS = 3000 };
static sigjmp_buf top;
static volatile int jumps;
static int turn;
static void on_tick(int sig) {
  (void)sig;
  jumps++;
  siglongjmp(top, 1);
}
static void* sets(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGALRM);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  for (int i = 0; i < 200; i++) {
    while (LOAD(turn) != 1) usleep(100);
    STORE(turn, 0);
  }
  return a;
}
static void* ticks(void* a) {
  pthread_t main_thread = *(pthread_t*)a;
  sigset_t s;
  sigfillset(&s);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  while (jumps < JUMPS) {
    pthread_kill(main_thread, SIGALRM);
    for (volatile int i = 0; i < 20000; i++) {}
  }
  return a;
}

int main(void) {
  watchdog(55);
  struct sigaction sa = {.sa_handler = on_tick};
  OK(sigaction(SIGALRM, &sa, NULL));
  static pthread_t me;
  me = pthread_self();
  pthread_t t = start(ticks, &me);
  sigsetjmp(top, 1);
  while (jumps < JUMPS) {}
  signal(SIGALRM, SIG_IGN);
  join(t);
  t = start(sets, NULL);
  for (int i = 0; i < 200; i++) {
    STORE(turn, 1);
    while (LOAD(turn)) {}  // until the other had its turn
  }
  join(t);
  return 0;
}
