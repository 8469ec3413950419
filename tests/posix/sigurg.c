// posix/sigurg.c -- a program's own SIGURG reaches its handler, however it is sent and whatever else uses the signal
// timeout: 30
#include "expect.h"
#include <signal.h>

static int hits, quit;
static void handler(int s) {
  EXPECT_EQ(s, SIGURG);
  ADD(hits, 1);
}
static void* spins(void* a) {
  while (!LOAD(quit)) { }
  return a;
}
static void* sleeps(void* a) {
  while (!LOAD(quit)) sleep_ms(5);
  return a;
}

static void expect_hit(int want) {
  for (int i = 0; i < 2000 && LOAD(hits) < want; i++) sleep_ms(1);
  EXPECT_EQ(LOAD(hits), want);
}

int main(void) {
  watchdog(25);
  struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
  SYS(sigaction(SIGURG, &sa, NULL));
  // Three that compute, so that preemption is at work all the time.
  pthread_t t[5];
  for (int i = 0; i < 3; i++) t[i] = start(spins, NULL);
  t[3] = start(sleeps, NULL);
  t[4] = start(sleeps, NULL);
  sigset_t urg, old;
  sigemptyset(&urg);
  sigaddset(&urg, SIGURG);
  int want = 0;
  for (int i = 0; i < 20; i++) {
    OK(pthread_kill(pthread_self(), SIGURG));
    expect_hit(++want);
    OK(pthread_kill(t[i % 5], SIGURG));
    expect_hit(++want);
    SYS(kill(getpid(), SIGURG));
    expect_hit(++want);
    OK(pthread_sigmask(SIG_BLOCK, &urg, &old));
    OK(pthread_kill(pthread_self(), SIGURG));
    sleep_ms(1);
    EXPECT_EQ(LOAD(hits), want);
    OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
    expect_hit(++want);
  }
  STORE(quit, 1);
  for (int i = 0; i < 5; i++) join(t[i]);
  EXPECT_EQ(LOAD(hits), want);
  return 0;
}
