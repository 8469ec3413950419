// posix/scale_blocked_readers.c -- 9000 threads blocked in read() on socketpairs need no kernel threads of their own, and every one wakes.
// timeout: 120
// procs: 2
// SCALE_N sets the number; natively 2000 is enough to try the program.
#include "expect.h"

static int (*sp)[2];
static int at_work, woken;
static void* reads(void* a) {
  intptr_t i = (intptr_t)a;
  ADD(at_work, 1);
  for (int r = 0; r < 3; r++) {
    int v;
    EXPECT_EQ(read(sp[i][0], &v, sizeof v), sizeof v);
    EXPECT_EQ(v, i + r);
    ADD(woken, 1);
  }
  return NULL;
}

int main(void) {
  watchdog(115);
  int n = preloaded() ? 9000 : 2000;
  if (getenv("SCALE_N")) n = atoi(getenv("SCALE_N"));
  need_files((rlim_t)n * 2 + 64);
  sp = (int(*)[2])calloc((size_t)n, sizeof *sp);
  pthread_t* t = (pthread_t*)calloc((size_t)n, sizeof *t);
  for (int i = 0; i < n; i++) SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sp[i]));
  int64_t t0 = now_ns();
  for (int i = 0; i < n; i++) {
    int e = pthread_create(&t[i], NULL, reads, num(i));
    if (e == EAGAIN && !preloaded()) skip("the native limit of threads");
    OK(e);
  }
  WAIT_UNTIL(LOAD(at_work) == n);
  sleep_ms(200);
  int k = kernel_threads();
  printf("%d blocked threads after %.0f ms, %d kernel threads\n", n, (now_ns() - t0) / 1e6, k);
  if (preloaded()) EXPECT_LE(k, max_procs() + 6);
  EXPECT_EQ(LOAD(woken), 0);
  for (int r = 0; r < 3; r++) {
    t0 = now_ns();
    for (int i = n - 1; i >= 0; i--) {
      int v = i + r;
      write_all(sp[i][1], &v, sizeof v);
    }
    WAIT_UNTIL(LOAD(woken) == n * (r + 1));
    printf("round %d: all woken after %.0f ms\n", r, (now_ns() - t0) / 1e6);
    k = kernel_threads();
    if (preloaded()) EXPECT_LE(k, max_procs() + 6);
  }
  for (int i = 0; i < n; i++) join(t[i]);
  return 0;
}
