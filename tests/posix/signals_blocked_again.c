// posix/signals_blocked_again.c -- when the last thread that had SIGCHLD open ends, returns from a handler or from ppoll(), it pends, and is not lost.
// timeout: 60
#include "expect.h"
#include <poll.h>

static sigset_t child, none;
static int stop;

// The default action is to ignore it: it is there to be waited for only if nobody at all has it open.
static void child_is_seen(void) {
  pid_t p = fork();
  EXPECT(p >= 0);
  if (p == 0) _exit(0);
  struct timespec limit = {10, 0};
  EXPECT_EQ(sigtimedwait(&child, NULL, &limit), SIGCHLD);
  EXPECT_EQ(waitpid(p, NULL, 0), p);
}
static void* naps(void* a) {
  usleep(500);
  return a;
}
static void* naps_on(void* a) {
  while (!LOAD(stop)) usleep(500);
  return a;
}
static void opens(int s) {
  EXPECT_EQ(s, SIGUSR1);
  OK(pthread_sigmask(SIG_UNBLOCK, &child, NULL));
  usleep(500);
}

int main(void) {
  sigemptyset(&none);
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  OK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = opens}, NULL));

  for (int r = 0; r < 40; r++) {
    pthread_t t[3];
    OK(pthread_sigmask(SIG_UNBLOCK, &child, NULL));
    for (int i = 0; i < 3; i++) t[i] = start(naps, NULL);
    OK(pthread_sigmask(SIG_BLOCK, &child, NULL));
    for (int i = 0; i < 3; i++) join(t[i]);
    child_is_seen();
  }
  pthread_t other = start(naps_on, NULL);
  for (int r = 0; r < 60; r++) {
    OK(raise(SIGUSR1));
    child_is_seen();
  }
  for (int r = 0; r < 60; r++) {
    struct timespec nap = {0, 500000};
    EXPECT_EQ(ppoll(NULL, 0, &nap, &none), 0);
    child_is_seen();
  }
  STORE(stop, 1);
  join(other);
  return 0;
}
