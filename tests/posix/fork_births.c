// posix/fork_births.c -- a child forked while other threads begin and end, all blocking signals, makes threads of its own.
// timeout: 60
#include "expect.h"
#include <signal.h>
#include <sys/wait.h>

static int stop;
static void* nothing(void* a) { return a; }
static void* makes(void* a) {
  while (!LOAD(stop)) join(start(nothing, a));
  return a;
}
static void* changes(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  for (int i = 0; i < 3; i++) {
    OK(pthread_sigmask(SIG_UNBLOCK, &s, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
    usleep(100);
  }
  return a;
}

int main(void) {
  watchdog(55);
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  pthread_t t[4];
  for (int i = 0; i < 4; i++) t[i] = start(makes, NULL);
  for (int i = 0; i < 400; i++) {
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
      alarm(20);
      join(start(changes, NULL));
      _exit(0);
    }
    int st;
    EXPECT_EQ(waitpid(pid, &st, 0), pid);
    EXPECT_EQ(st, 0);
  }
  STORE(stop, 1);
  for (int i = 0; i < 4; i++) join(t[i]);
  return 0;
}
