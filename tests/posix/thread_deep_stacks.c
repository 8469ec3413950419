// posix/thread_deep_stacks.c -- 200 threads use a megabyte of stack each at the same time, and their frames survive switches.
// timeout: 60
#include "expect.h"

static int __attribute__((noinline)) down(int n, int me) {
  volatile char frame[1024];
  memset((void*)frame, (me + n) & 0x7f, sizeof frame);
  int r = 0;
  if (n > 0) r = down(n - 1, me);
  else sleep_ms(20);
  if (n % 64 == 0) sched_yield();
  for (unsigned i = 0; i < sizeof frame; i += 128) EXPECT_EQ(frame[i], (me + n) & 0x7f);
  return r + frame[0];
}
static void* run(void* a) {
  int me = (int)(intptr_t)a;
  return num(down(1000, me));
}

int main(void) {
  watchdog(55);
  enum { N = 200 };
  static pthread_t t[N];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < N; i++) t[i] = start(run, num(i));
    for (int i = 0; i < N; i++) {
      int want = 0;
      for (int n = 0; n <= 1000; n++) want += (i + n) & 0x7f;
      EXPECT_EQ(join(t[i]), want);
    }
  }
  return 0;
}
