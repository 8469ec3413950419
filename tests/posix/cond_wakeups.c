// posix/cond_wakeups.c -- no wakeup is lost: ping-pong, one signal one waiter, 1000 waiters woken by one broadcast, producers and consumers.
// timeout: 60
#include "expect.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;
enum { ROUNDS = 20000 };
static void* ping(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < ROUNDS; i++) {
    OK(pthread_mutex_lock(&m));
    while (turn != me) OK(pthread_cond_wait(&c[me], &m));
    turn = !me;
    if (i & 1) OK(pthread_cond_signal(&c[!me]));
    OK(pthread_mutex_unlock(&m));
    if (!(i & 1)) OK(pthread_cond_signal(&c[!me]));  // outside the mutex too
  }
  return NULL;
}

static int generation, waiting, woken;
static void* waits(void* a) {
  (void)a;
  OK(pthread_mutex_lock(&m));
  int g = generation;
  waiting++;
  while (generation == g) OK(pthread_cond_wait(&c[0], &m));
  waiting--;
  woken++;
  OK(pthread_mutex_unlock(&m));
  return NULL;
}
static void locked_until_waiting(int n) {
  for (;;) {
    OK(pthread_mutex_lock(&m));
    if (waiting == n) return;
    OK(pthread_mutex_unlock(&m));
    sleep_ms(1);
  }
}

static int tokens, taken;
static void* takes(void* a) {
  OK(pthread_mutex_lock(&m));
  waiting++;
  while (tokens == 0) OK(pthread_cond_wait(&c[1], &m));
  tokens--;
  waiting--;
  taken++;
  OK(pthread_mutex_unlock(&m));
  return a;
}

// Bounded buffer with signal only: a stolen or lost signal shows as a hang.
enum { P = 8, C = 8, ITEMS = 2000, CAP = 4 };
static int buf[CAP], head, len, got;
static long sum;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER, item = PTHREAD_COND_INITIALIZER;
static void* produces(void* a) {
  for (int i = 0; i < ITEMS; i++) {
    OK(pthread_mutex_lock(&m));
    while (len == CAP) OK(pthread_cond_wait(&room, &m));
    buf[(head + len++) % CAP] = i;
    OK(pthread_cond_signal(&item));
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* consumes(void* a) {
  for (;;) {
    OK(pthread_mutex_lock(&m));
    while (len == 0 && got < P * ITEMS) OK(pthread_cond_wait(&item, &m));
    if (len == 0) {
      OK(pthread_mutex_unlock(&m));
      return a;
    }
    sum += buf[head];
    head = (head + 1) % CAP;
    len--;
    if (++got == P * ITEMS) OK(pthread_cond_broadcast(&item));
    OK(pthread_cond_signal(&room));
    OK(pthread_mutex_unlock(&m));
  }
}

int main(void) {
  watchdog(55);
  pthread_t t[2] = {start(ping, num(0)), start(ping, num(1))};
  join(t[0]);
  join(t[1]);

  enum { N = 1000 };
  static pthread_t w[N];
  for (int round = 0; round < 3; round++) {
    woken = 0;
    for (int i = 0; i < N; i++) w[i] = start(waits, NULL);
    locked_until_waiting(N);
    generation++;
    OK(pthread_cond_broadcast(&c[0]));
    OK(pthread_mutex_unlock(&m));
    for (int i = 0; i < N; i++) join(w[i]);
    EXPECT_EQ(woken, N);
  }

  // Each signal wakes someone.
  for (int i = 0; i < 100; i++) w[i] = start(takes, NULL);
  locked_until_waiting(100);
  OK(pthread_mutex_unlock(&m));
  for (int i = 1; i <= 100; i++) {
    OK(pthread_mutex_lock(&m));
    tokens++;
    OK(pthread_mutex_unlock(&m));
    OK(pthread_cond_signal(&c[1]));
    if (i % 10 == 0) WAIT_UNTIL(LOAD(taken) == i);
  }
  for (int i = 0; i < 100; i++) join(w[i]);

  for (int i = 0; i < P; i++) w[i] = start(produces, NULL);
  for (int i = 0; i < C; i++) w[P + i] = start(consumes, NULL);
  for (int i = 0; i < P + C; i++) join(w[i]);
  EXPECT_EQ(sum, (long)P * ITEMS * (ITEMS - 1) / 2);

  // Signals without waiters are nothing.
  OK(pthread_cond_signal(&room));
  OK(pthread_cond_broadcast(&room));
  return 0;
}
