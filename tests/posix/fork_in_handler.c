// posix/fork_in_handler.c -- a handler forks while the thread it interrupts is on its way out of fork. (libc alone may wait for itself there.)
// timeout: 30
// native: no
#include "expect.h"

static volatile sig_atomic_t handled;
static void forks(int s) {
  int e = errno;
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  while (waitpid(pid, NULL, 0) == -1 && errno == EINTR) {
  }
  handled = s;
  errno = e;
}
static void* ends(void* a) { return a; }

int main(void) {
  watchdog(25);
  join(start(ends, NULL));
  signal(SIGUSR1, forks);
  pid_t me = getpid();
  for (int i = 0; i < 60; i++) {
    handled = 0;
    pid_t pid = (pid_t)SYS(fork());
    if (pid == 0) {
      kill(me, SIGUSR1);
      _exit(0);
    }
    while (waitpid(pid, NULL, 0) == -1) EXPECT_EQ(errno, EINTR);
    WAIT_UNTIL(handled == SIGUSR1);
  }
  return 0;
}
