// posix/c11_threads.c -- C11 threads: create, join, detach, exit, mutexes of all kinds, conditions, once, thread-specific storage, sleep.
// timeout: 30
#include "expect.h"
#include <threads.h>

static mtx_t m;
static cnd_t c;
static int turn, hits;

static int gives_back(void* a) { return (int)(intptr_t)a; }
static int leaves(void* a) { thrd_exit((int)(intptr_t)a - 1); }
static thrd_t who;
static int is_itself(void* a) {
  who = thrd_current();
  EXPECT(thrd_equal(who, thrd_current()));
  EXPECT(!thrd_equal(*(thrd_t*)a, who));
  EXPECT(pthread_equal(pthread_self(), who));
  return 0;
}
static int detaches(void* a) {
  (void)a;
  EXPECT_EQ(thrd_detach(thrd_current()), thrd_success);
  ADD(hits, 1);
  return 0;
}

static int ping(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < 500; i++) {
    EXPECT_EQ(mtx_lock(&m), thrd_success);
    while (turn != me) EXPECT_EQ(cnd_wait(&c, &m), thrd_success);
    turn = !me;
    EXPECT_EQ(i & 1 ? cnd_signal(&c) : cnd_broadcast(&c), thrd_success);
    EXPECT_EQ(mtx_unlock(&m), thrd_success);
  }
  return me;
}

static long counter;
static int counts(void* a) {
  for (int i = 0; i < 300; i++) {
    struct timespec t = ts_in(CLOCK_REALTIME, 20 * SEC);
    int r;
    switch (i % 3) {
      case 0: r = mtx_lock(&m); break;
      case 1: r = mtx_timedlock(&m, &t); break;
      default:
        while ((r = mtx_trylock(&m)) == thrd_busy) thrd_yield();
    }
    EXPECT_EQ(r, thrd_success);
    long v = counter;
    if (i % 16 == 0) thrd_yield();
    counter = v + 1;
    EXPECT_EQ(mtx_unlock(&m), thrd_success);
  }
  return (int)(intptr_t)a;
}
static int finds_it_held(void* a) {
  EXPECT_EQ(mtx_trylock(&m), thrd_busy);
  struct timespec t = ts_in(CLOCK_REALTIME, 20 * MS);
  EXPECT_EQ(mtx_timedlock(&m, &t), thrd_timedout);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), t.tv_sec * SEC + t.tv_nsec);
  return (int)(intptr_t)a;
}

static once_flag once = ONCE_FLAG_INIT;
static int once_calls;
static void once_body(void) {
  thrd_sleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
  ADD(once_calls, 1);
}
static int calls_once(void* a) {
  call_once(&once, once_body);
  EXPECT_EQ(LOAD(once_calls), 1);
  return (int)(intptr_t)a;
}

static tss_t key, no_end;
static int ended, rounds;
static void end(void* a) {
  EXPECT(tss_get(key) == NULL);
  if (a == num(77) && ADD(rounds, 1) < 3) EXPECT_EQ(tss_set(key, a), thrd_success);
  ADD(ended, 1);
}
static int stores(void* a) {
  EXPECT(tss_get(key) == NULL && tss_get(no_end) == NULL);
  EXPECT_EQ(tss_set(key, a), thrd_success);
  EXPECT_EQ(tss_set(no_end, a), thrd_success);
  thrd_yield();
  EXPECT(tss_get(key) == a && tss_get(no_end) == a);
  if ((intptr_t)a & 1) thrd_exit(5);
  return 5;
}

static int join_int(thrd_t t) {
  int r = -1;
  EXPECT_EQ(thrd_join(t, &r), thrd_success);
  return r;
}
static thrd_t make(thrd_start_t f, void* a) {
  thrd_t t;
  EXPECT_EQ(thrd_create(&t, f, a), thrd_success);
  return t;
}

static void handler(int s) { (void)s; }
static int sleeps_long(void* a) {
  struct timespec t = {.tv_sec = 20}, left = {0};
  ADD(hits, 1);
  EXPECT_EQ(thrd_sleep(&t, &left), -1);
  EXPECT(left.tv_sec > 0 && left.tv_sec < 20);
  return (int)(intptr_t)a;
}
static int waits_long(void* a) {
  (void)a;
  mtx_lock(&m);
  ADD(hits, 1);
  for (;;) cnd_wait(&c, &m);
}

int main(void) {
  watchdog(25);
  enum { T = 12 };
  thrd_t t[T], self = thrd_current();
  for (int i = 0; i < T; i++) t[i] = make(i & 1 ? leaves : gives_back, num(i - 3));
  for (int i = 0; i < T; i++) EXPECT_EQ(join_int(t[i]), i & 1 ? i - 4 : i - 3);
  t[0] = make(is_itself, &self);
  EXPECT_EQ(join_int(t[0]), 0);
  EXPECT(thrd_equal(who, t[0]));
  for (int i = 0; i < 10; i++) make(detaches, NULL);
  t[0] = make(gives_back, num(1));
  EXPECT_EQ(thrd_detach(t[0]), thrd_success);
  WAIT_UNTIL(LOAD(hits) == 10);
  EXPECT_EQ(thrd_join(make(gives_back, NULL), NULL), thrd_success);
  // The two libraries' threads are the same threads.
  pthread_t p = make(leaves, num(9));
  EXPECT_EQ((int)(intptr_t)join(p), 8);

  static const int kinds[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive};
  for (int k = 0; k < 4; k++) {
    EXPECT_EQ(mtx_init(&m, kinds[k]), thrd_success);
    counter = 0;
    for (int i = 0; i < T; i++) t[i] = make(counts, num(i));
    for (int i = 0; i < T; i++) EXPECT_EQ(join_int(t[i]), i);
    EXPECT_EQ(counter, T * 300);
    EXPECT_EQ(mtx_lock(&m), thrd_success);
    EXPECT_EQ(mtx_trylock(&m), kinds[k] & mtx_recursive ? thrd_success : thrd_busy);
    if (kinds[k] & mtx_recursive) EXPECT_EQ(mtx_unlock(&m), thrd_success);
    join_int(make(finds_it_held, NULL));
    EXPECT_EQ(mtx_unlock(&m), thrd_success);
    mtx_destroy(&m);
  }

  EXPECT_EQ(mtx_init(&m, mtx_timed), thrd_success);
  EXPECT_EQ(cnd_init(&c), thrd_success);
  t[0] = make(ping, num(0));
  t[1] = make(ping, num(1));
  EXPECT_EQ(join_int(t[0]) + join_int(t[1]), 1);
  mtx_lock(&m);
  struct timespec lim = ts_in(CLOCK_REALTIME, 30 * MS), bad = {0, 1000000000};
  int r;
  while ((r = cnd_timedwait(&c, &m, &lim)) == thrd_success) {
  }
  EXPECT_EQ(r, thrd_timedout);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), lim.tv_sec * SEC + lim.tv_nsec);
  EXPECT_EQ(cnd_timedwait(&c, &m, &bad), thrd_error);
  mtx_unlock(&m);

  for (int i = 0; i < T; i++) t[i] = make(calls_once, num(i));
  for (int i = 0; i < T; i++) EXPECT_EQ(join_int(t[i]), i);

  EXPECT_EQ(tss_create(&key, end), thrd_success);
  EXPECT_EQ(tss_create(&no_end, NULL), thrd_success);
  for (int i = 0; i < T; i++) t[i] = make(stores, num(i + 1));
  for (int i = 0; i < T; i++) EXPECT_EQ(join_int(t[i]), 5);
  EXPECT_EQ(ended, T);
  join_int(make(stores, num(77)));
  EXPECT_EQ(rounds, 3);
  EXPECT_LE(3, TSS_DTOR_ITERATIONS);
  tss_delete(key);
  tss_delete(no_end);

  // Asleep: to the end, interrupted, refused, cancelled.
  int64_t t0 = now_ns();
  EXPECT_EQ(thrd_sleep(&(struct timespec){.tv_nsec = 30 * MS}, NULL), 0);
  EXPECT_GE(now_ns() - t0, 30 * MS);
  EXPECT_EQ(thrd_sleep(&bad, NULL), -2);
  struct sigaction sa = {.sa_handler = handler};
  SYS(sigaction(SIGUSR1, &sa, NULL));
  hits = 0;
  t[0] = make(sleeps_long, num(3));
  WAIT_UNTIL(LOAD(hits) == 1);
  sleep_ms(20);
  OK(pthread_kill(t[0], SIGUSR1));
  EXPECT_EQ(join_int(t[0]), 3);
  t[0] = make(waits_long, NULL);
  WAIT_UNTIL(LOAD(hits) == 2);
  OK(pthread_cancel(t[0]));
  EXPECT_EQ(join_int(t[0]), -1);  // the low half of PTHREAD_CANCELED
  EXPECT_EQ(mtx_trylock(&m), thrd_busy);  // it left with the mutex
  return 0;
}
