// posix/raise_default.c -- a signal whose default action ends the process, sent to itself, ends it before the call returns: by raise, pthread_kill or kill, from main or a thread, also if it was handled or blocked before.
// timeout: 120
#include "expect.h"

static const int signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGALRM};
static void nothing(int sig) { (void)sig; }
static int waiting;
static void* waits(void* a) {
  STORE(waiting, 1);  // a thread that has not begun blocks everything
  for (;;) pause();
  return a;
}
static void* computes(void* a) {
  for (volatile long n = 0;; n++)
    if (n % 100000 == 0) usleep(100);
  return a;
}

static pthread_t waiter;
static int sig, way;
static void* sends(void* a) {
  if (way == 0) raise(sig);
  else if (way == 1) pthread_kill(waiter, sig);
  else kill(getpid(), sig);
  _exit(1);
  return a;
}

int main(int argc, char** argv) {
  if (argc > 1) {
    watchdog(20);
    int n = atoi(argv[1]);
    sig = signals[n % 4];
    way = n / 4 % 3;
    int in_thread = n / 12 % 2, before = n / 24;
    waiter = start(waits, NULL);
    for (int i = 0; i < 6; i++) start(computes, NULL);
    WAIT_UNTIL(LOAD(waiting));
    sigset_t one, old;
    sigemptyset(&one);
    sigaddset(&one, sig);
    if (before == 1) {  // blocked for a while, as around a fork
      OK(pthread_sigmask(SIG_BLOCK, &one, &old));
      OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
    } else if (before == 2) {
      signal(sig, nothing);
      for (int i = 0; i < 5; i++) kill(getpid(), sig);
      OK(pthread_sigmask(SIG_BLOCK, &one, &old));
      OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
      usleep(1000);
      signal(sig, SIG_DFL);
    }
    if (in_thread) join(start(sends, NULL));
    sends(NULL);
  }
  watchdog(110);
  for (int n = 0; n < 72; n++) {
    char arg[12], out[64];
    snprintf(arg, sizeof arg, "%d", n);
    int status = run_self(arg, out, sizeof out);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == signals[n % 4]);
  }
  return 0;
}
