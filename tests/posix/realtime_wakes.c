// posix/realtime_wakes.c -- a real-time thread that wakes has the CPU at once from one of a lower priority that never waits, and an ordinary thread's later.
// timeout: 60
#include "realtime.h"

// With one CPU and both real-time nobody ordinary runs but in the share of a second that the kernel keeps for it: 20
// rounds would take as many seconds if whoever hands over the CPU were ordinary.
enum { ROUNDS = 20 };
static int stop, ready;

static void* spins(void* a) {
  set_policy(pthread_self(), SCHED_FIFO, 10);
  STORE(ready, 1);
  while (!LOAD(stop)) {}
  return a;
}
static void* wakes(void* a) {
  set_policy(pthread_self(), SCHED_FIFO, 20);
  while (!LOAD(ready)) usleep(1000);
  usleep(10000);
  STORE(stop, 1);
  return a;
}

int main(void) {
  watchdog(15);
  struct sched_param p = {.sched_priority = 1};
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) _exit(sched_setscheduler(0, SCHED_FIFO, &p) != 0);
  int status;
  SYS(waitpid(pid, &status, 0));
  if (status != 0) skip("may not be real-time here");
  keep_one_cpu();
  for (int i = 0; i < ROUNDS; i++) {
    STORE(stop, 0);
    STORE(ready, 0);
    pthread_t w = start(wakes, NULL), s = start(spins, NULL);
    join(w);
    join(s);
  }
  return 0;
}
