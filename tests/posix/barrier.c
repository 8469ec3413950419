// posix/barrier.c -- a barrier lets nobody pass before all have come, and names exactly one serial thread per round.
#include "expect.h"

enum { T = 16, ROUNDS = 100 };
static pthread_barrier_t b;
static int arrived[ROUNDS], serial[ROUNDS];
static void* work(void* a) {
  uint64_t s = (uintptr_t)a;
  for (int r = 0; r < ROUNDS; r++) {
    if (rnd(&s) % 8 == 0) usleep((useconds_t)(rnd(&s) % 300));
    ADD(arrived[r], 1);
    int e = pthread_barrier_wait(&b);
    EXPECT_EQ(LOAD(arrived[r]), T);
    if (e == PTHREAD_BARRIER_SERIAL_THREAD) ADD(serial[r], 1);
    else OK(e);
  }
  return NULL;
}
static void* once(void* a) {
  pthread_barrier_t* x = (pthread_barrier_t*)a;
  // The serial thread may destroy it at once: the others still leave safely.
  if (pthread_barrier_wait(x) == PTHREAD_BARRIER_SERIAL_THREAD) {
    OK(pthread_barrier_destroy(x));
    memset((void*)x, 0xff, sizeof *x);
  }
  return NULL;
}

int main(void) {
  watchdog(9);
  OK(pthread_barrier_init(&b, NULL, T));
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(work, num(i + 1));
  for (int i = 0; i < T; i++) join(t[i]);
  for (int r = 0; r < ROUNDS; r++) EXPECT_EQ(serial[r], 1);
  OK(pthread_barrier_destroy(&b));

  EXPECT_EQ(pthread_barrier_init(&b, NULL, 0), EINVAL);
  OK(pthread_barrier_init(&b, NULL, 1));
  for (int i = 0; i < 10; i++) EXPECT_EQ(pthread_barrier_wait(&b), PTHREAD_BARRIER_SERIAL_THREAD);
  OK(pthread_barrier_destroy(&b));

  for (int r = 0; r < 100; r++) {
    pthread_barrier_t* x = (pthread_barrier_t*)malloc(sizeof *x);
    OK(pthread_barrier_init(x, NULL, 4));
    for (int i = 0; i < 4; i++) t[i] = start(once, x);
    for (int i = 0; i < 4; i++) join(t[i]);
    free(x);
  }
  return 0;
}
