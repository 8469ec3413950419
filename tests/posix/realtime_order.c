// posix/realtime_order.c -- of real-time threads that never wait the higher ones run; a lower one does not get turns beside them.
// timeout: 60
#include "expect.h"

enum { HOGS = 3 };
static int stop, hogs_up, low_ran;

static void* hogs(void* a) {
  ADD(hogs_up, 1);
  while (!LOAD(stop)) {}
  return a;
}
static void* low(void* a) {
  STORE(low_ran, 1);
  return a;
}
static pthread_t start_fifo(void* (*f)(void*), int priority) {
  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
  OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
  struct sched_param p = {.sched_priority = priority};
  OK(pthread_attr_setschedparam(&a, &p));
  pthread_t t;
  int e = pthread_create(&t, &a, f, NULL);
  if (e == EPERM) skip("may not be real-time here");
  OK(e);
  OK(pthread_attr_destroy(&a));
  return t;
}

// One CPU. This thread has the highest priority and is the only one to run while it does not wait.
int main(void) {
  watchdog(50);
  cpu_set_t all, one;
  OK(sched_getaffinity(0, sizeof all, &all));
  CPU_ZERO(&one);
  for (int i = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; i--)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  OK(sched_setaffinity(0, sizeof one, &one));
  struct sched_param p = {.sched_priority = 30};
  int e = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
  if (e == EPERM) skip("may not be real-time here");
  OK(e);
  for (int round = 0; round < 3; round++) {
    STORE(stop, 0);
    STORE(low_ran, 0);
    STORE(hogs_up, 0);
    pthread_t h[HOGS], l;
    for (int i = 0; i < HOGS; i++) h[i] = start_fifo(hogs, 20);
    l = start_fifo(low, 10);
    for (int64_t end = now_ns() + 30 * MS; now_ns() < end;) {}
    EXPECT_EQ(LOAD(hogs_up), 0);  // not even they: we never waited
    WAIT_UNTIL(LOAD(hogs_up) > 0);
    sleep_ms(100);                // the first hog has the CPU
    EXPECT_EQ(LOAD(hogs_up), 1);
    EXPECT_EQ(LOAD(low_ran), 0);
    STORE(stop, 1);
    for (int i = 0; i < HOGS; i++) join(h[i]);
    join(l);
    EXPECT_EQ(LOAD(low_ran), 1);
  }
  return 0;
}
