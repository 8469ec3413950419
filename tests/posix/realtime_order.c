// posix/realtime_order.c -- of real-time threads that never wait the higher ones run; a lower one does not get turns beside them.
// timeout: 60
#include "realtime.h"

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

// One CPU. This thread has the highest priority and is the only one to run while it does not wait.
int main(void) {
  watchdog(50);
  keep_one_cpu();
  set_policy(pthread_self(), SCHED_FIFO, 30);
  for (int round = 0; round < 3; round++) {
    STORE(stop, 0);
    STORE(low_ran, 0);
    STORE(hogs_up, 0);
    pthread_t h[HOGS], l;
    for (int i = 0; i < HOGS; i++) h[i] = start_fifo(hogs, NULL, 20);
    l = start_fifo(low, NULL, 10);
    for (int64_t end = now_ns() + 10 * MS; now_ns() < end;) {}
    EXPECT_EQ(LOAD(hogs_up), 0);  // not even they: we never waited
    WAIT_UNTIL(LOAD(hogs_up) > 0);
    sleep_ms(30);                 // the first hog has the CPU
    EXPECT_EQ(LOAD(hogs_up), 1);
    EXPECT_EQ(LOAD(low_ran), 0);
    STORE(stop, 1);
    for (int i = 0; i < HOGS; i++) join(h[i]);
    join(l);
    EXPECT_EQ(LOAD(low_ran), 1);
  }
  return 0;
}
