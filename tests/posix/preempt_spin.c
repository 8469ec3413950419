// posix/preempt_spin.c -- threads that spin without any call do not stop the others: sleepers, readers, lockers, new threads go on.
// timeout: 30
// procs: 1 2
#include "expect.h"

static volatile int spin = 1;
static void* spins(void* a) {
  while (spin) {
  }
  return a;
}
static unsigned long work;
static void* computes(void* a) {
  unsigned long x = (uintptr_t)a;
  while (spin)
    for (int i = 0; i < 1000; i++) x = x * 6364136223846793005ul + 1;
  __atomic_add_fetch(&work, x | 1, __ATOMIC_RELAXED);
  return a;
}

static int quit, ticks, bytes, turns, made;
static int64_t worst;
static void* ticker(void* a) {
  int64_t last = now_ns();
  while (!LOAD(quit)) {
    sleep_ms(1);
    int64_t n = now_ns();
    if (n - last > worst) worst = n - last;
    last = n;
    ADD(ticks, 1);
  }
  return a;
}
static int sp[2];
static void* sends(void* a) {
  while (!LOAD(quit)) {
    write_all(sp[0], "x", 1);
    char c;
    read_all(sp[0], &c, 1);
  }
  shutdown(sp[0], SHUT_WR);
  return a;
}
static void* echoes(void* a) {
  char c;
  while (read(sp[1], &c, 1) == 1) {
    ADD(bytes, 1);
    write_all(sp[1], &c, 1);
  }
  return a;
}
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void* alternates(void* a) {
  int me = (int)(intptr_t)a;
  pthread_mutex_lock(&m);
  while (!LOAD(quit)) {
    while (turns % 2 != me && !LOAD(quit)) pthread_cond_wait(&c, &m);
    turns++;
    pthread_cond_broadcast(&c);
  }
  pthread_cond_broadcast(&c);
  pthread_mutex_unlock(&m);
  return a;
}
static void* returns(void* a) { return a; }
static void* makes(void* a) {
  while (!LOAD(quit)) {
    join(start(returns, NULL));
    ADD(made, 1);
  }
  return a;
}

int main(void) {
  watchdog(25);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
  pthread_t s[4] = {start(spins, NULL), start(computes, num(1)), start(spins, NULL), start(computes, num(2))};
  pthread_t t[] = {start(ticker, NULL),         start(sends, NULL),           start(echoes, NULL),
                   start(alternates, num(0)), start(alternates, num(1)), start(makes, NULL)};
  sleep_ms(2000);  // main itself must come back too
  STORE(quit, 1);
  OK(pthread_mutex_lock(&m));
  OK(pthread_cond_broadcast(&c));
  OK(pthread_mutex_unlock(&m));
  for (unsigned i = 0; i < sizeof t / sizeof *t; i++) join(t[i]);
  printf("ticks %d, worst gap %.1f ms, round trips %d, turns %d, threads made %d\n", ticks, worst / 1e6, bytes, turns,
         made);
  EXPECT_GE(ticks, 20);
  EXPECT_GE(bytes, 20);
  EXPECT_GE(turns, 20);
  EXPECT_GE(made, 20);
  EXPECT_LE(worst, 500 * MS);
  spin = 0;
  for (int i = 0; i < 4; i++) join(s[i]);

  // Only spinners besides main, more than there are processors; the last to start ends them.
  spin = 1;
  pthread_t x[8];
  for (int i = 0; i < 8; i++) x[i] = start(spins, NULL);
  sleep_ms(50);
  spin = 0;
  for (int i = 0; i < 8; i++) join(x[i]);
  return 0;
}
