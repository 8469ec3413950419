// posix/thread_realtime.c -- in a SCHED_FIFO process threads that share a CPU run in the order of their creation, and sched_yield() gives it to the next.
// timeout: 30
#include "expect.h"
#include <sched.h>

enum { N = 1000 };
static cpu_set_t one;
static int turns, stop, kept, order[3], begun;

static void begins(int who) {
  OK(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
  order[begun++] = who;  // one CPU, no slices: nobody else is here
}
static void* takes_turns(void* a) {
  begins((int)(intptr_t)a);
  while (!LOAD(stop)) {
    STORE(turns, LOAD(turns) + 1);
    sched_yield();
  }
  return a;
}
static void* looks(void* a) {
  begins((int)(intptr_t)a);
  for (int i = 0; i < N; i++) {
    int before = LOAD(turns);
    sched_yield();
    kept += LOAD(turns) == before;
  }
  STORE(stop, 1);
  return a;
}

int main(void) {
  watchdog(25);
  cpu_set_t all;
  OK(sched_getaffinity(0, sizeof all, &all));
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all)) last = i;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  struct sched_param p = {.sched_priority = 2};
  if (sched_setscheduler(0, SCHED_FIFO, &p) != 0) skip("may not be real-time here");
  OK(sched_setaffinity(0, sizeof one, &one));
  for (int round = 0; round < 10; round++) {
    STORE(stop, 0);
    begun = kept = 0;
    pthread_t t[2] = {start(takes_turns, num(1)), start(looks, num(2))};
    for (int i = 0; i < 2; i++) join(t[i]);
    EXPECT_EQ(kept, 0);
    EXPECT_EQ(order[0], 1);
    EXPECT_EQ(order[1], 2);
  }
  return 0;
}
