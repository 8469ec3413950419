// posix/cond_handlers.c -- a signal handler that runs in the middle of pthread_cond_wait does not end the wait, and no wake-up is lost to it.
// timeout: 60
#include "expect.h"
#include <signal.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, c2 = PTHREAD_COND_INITIALIZER;
static int handled, waiting, woken, go, returned, hold, in_handler;

static void on_usr1(int sig) {
  (void)sig;
  ADD(handled, 1);
}
static void* waits_once(void* a) {
  OK(pthread_mutex_lock(&m));
  ADD(waiting, 1);
  int e = 0;
  if (a) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 30;
    e = pthread_cond_timedwait(&c, &m, &t);
  } else {
    e = pthread_cond_wait(&c, &m);
  }
  EXPECT_EQ(e, 0);
  EXPECT(go);           // no spurious one: glibc makes none here
  ADD(returned, 1);
  OK(pthread_mutex_unlock(&m));
  return NULL;
}
static void handlers_do_not_end_it(int timed) {
  pthread_t t[4];
  waiting = returned = go = 0;
  for (int i = 0; i < 4; i++) t[i] = start(waits_once, num(timed));
  WAIT_UNTIL(LOAD(waiting) == 4);
  sleep_ms(5);
  for (int i = 0; i < 100; i++) {
    int before = LOAD(handled);
    OK(pthread_kill(t[i % 4], SIGUSR1));
    WAIT_UNTIL(LOAD(handled) > before);
  }
  sleep_ms(5);
  EXPECT_EQ(LOAD(returned), 0);
  OK(pthread_mutex_lock(&m));
  go = 1;
  OK(pthread_mutex_unlock(&m));
  for (int i = 0; i < 4; i++) {   // each signal wakes one, whoever had handlers
    OK(pthread_cond_signal(&c));
    WAIT_UNTIL(LOAD(returned) > i);
  }
  for (int i = 0; i < 4; i++) join(t[i]);
}

// Signalled while the handler runs: the wait is over when that is.
static void on_usr2(int sig) {
  (void)sig;
  STORE(in_handler, 1);
  while (LOAD(hold)) {}
}
static void* waits_for_go(void* a) {
  OK(pthread_mutex_lock(&m));
  ADD(waiting, 1);
  OK(pthread_cond_wait(&c, &m));
  EXPECT(go);
  ADD(returned, 1);
  OK(pthread_mutex_unlock(&m));
  return a;
}
static pthread_t waiter_in_its_handler(void) {
  waiting = returned = go = 0;
  STORE(in_handler, 0);
  STORE(hold, 1);
  pthread_t t = start(waits_for_go, NULL);
  WAIT_UNTIL(LOAD(waiting) == 1);
  sleep_ms(2);
  OK(pthread_kill(t, SIGUSR2));
  WAIT_UNTIL(LOAD(in_handler));
  return t;
}
static void signalled_in_handler(int broadcast) {
  pthread_t t = waiter_in_its_handler();
  OK(pthread_mutex_lock(&m));
  go = 1;
  OK(broadcast ? pthread_cond_broadcast(&c) : pthread_cond_signal(&c));
  OK(pthread_mutex_unlock(&m));
  STORE(hold, 0);
  join(t);
  EXPECT_EQ(returned, 1);
}

// A stream of handlers beside a stream of wake-ups: each of these is counted.
enum { ROUNDS = 3000 };
static int turn;
static void* plays(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < ROUNDS; i++) {
    OK(pthread_mutex_lock(&m));
    while (turn != me) OK(pthread_cond_wait(&c, &m));
    turn = !me;
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_unlock(&m));
  }
  ADD(woken, 1);
  return NULL;
}
static void beside_a_game(void) {
  turn = woken = 0;
  pthread_t t[2] = {start(plays, num(0)), start(plays, num(1))};
  while (LOAD(woken) < 2) {
    for (int i = 0; i < 2; i++) pthread_kill(t[i], SIGUSR1);
    usleep(20);
  }
  for (int i = 0; i < 2; i++) join(t[i]);
}

// A handler that waits itself.
static void on_waits(int sig) {
  (void)sig;
  OK(pthread_mutex_lock(&m2));
  STORE(in_handler, 1);
  while (LOAD(hold)) OK(pthread_cond_wait(&c2, &m2));
  OK(pthread_mutex_unlock(&m2));
}
static void nested(void) {
  struct sigaction sa = {.sa_handler = on_waits};
  OK(sigaction(SIGUSR2, &sa, NULL));
  pthread_t t = waiter_in_its_handler();
  for (int i = 0; i < 20; i++) OK(pthread_kill(t, SIGUSR1));
  sleep_ms(2);
  OK(pthread_mutex_lock(&m2));
  STORE(hold, 0);
  OK(pthread_cond_signal(&c2));
  OK(pthread_mutex_unlock(&m2));
  sleep_ms(2);
  EXPECT_EQ(LOAD(returned), 0);
  OK(pthread_mutex_lock(&m));
  go = 1;
  OK(pthread_cond_signal(&c));
  OK(pthread_mutex_unlock(&m));
  join(t);
}

int main(void) {
  watchdog(55);
  struct sigaction sa = {.sa_handler = on_usr1};
  OK(sigaction(SIGUSR1, &sa, NULL));
  for (int i = 0; i < 2; i++) handlers_do_not_end_it(i);
  sa.sa_handler = on_usr2;
  OK(sigaction(SIGUSR2, &sa, NULL));
  for (int i = 0; i < 10; i++) signalled_in_handler(i % 2);
  beside_a_game();
  nested();
  return 0;
}
