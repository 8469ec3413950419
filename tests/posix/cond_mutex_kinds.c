// posix/cond_mutex_kinds.c -- a condition variable, private or process-shared, works with every kind of mutex: waits, limits, cancellation.
// timeout: 60
#include "expect.h"

struct kind { const char* name; int shared, robust, protocol, type; };
static const struct kind kinds[] = {
  {"plain", 0, 0, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL},
  {"errorcheck", 0, 0, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ERRORCHECK},
  {"recursive", 0, 0, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_RECURSIVE},
  {"inherit", 0, 0, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ERRORCHECK},
  {"robust", 0, 1, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL},
  {"robust errorcheck", 0, 1, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ERRORCHECK},
  {"robust recursive", 0, 1, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_RECURSIVE},
  {"robust inherit", 0, 1, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_RECURSIVE},
  {"shared", 1, 0, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_NORMAL},
  {"shared errorcheck", 1, 0, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ERRORCHECK},
  {"shared inherit", 1, 0, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ERRORCHECK},
  {"shared robust", 1, 1, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ERRORCHECK},
  {"shared robust inherit", 1, 1, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_RECURSIVE},
};
static const struct kind* k;
static pthread_mutex_t m;
static pthread_cond_t c;
static int open_, tokens, waiting;
static long counter;

static void make(int cond_shared) {
  pthread_mutexattr_t a;
  OK(pthread_mutexattr_init(&a));
  OK(pthread_mutexattr_setpshared(&a, k->shared));
  OK(pthread_mutexattr_setrobust(&a, k->robust));
  OK(pthread_mutexattr_setprotocol(&a, k->protocol));
  OK(pthread_mutexattr_settype(&a, k->type));
  OK(pthread_mutex_init(&m, &a));
  OK(pthread_mutexattr_destroy(&a));
  pthread_condattr_t ca;
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_setpshared(&ca, cond_shared));
  OK(pthread_cond_init(&c, &ca));
  OK(pthread_condattr_destroy(&ca));
  open_ = tokens = waiting = 0;
  counter = 0;
}

static void* waits(void* a) {
  OK(pthread_mutex_lock(&m));
  waiting++;
  while (!open_) OK(pthread_cond_wait(&c, &m));
  counter++;
  OK(pthread_mutex_unlock(&m));
  return a;
}
static void* takes_tokens(void* a) {
  for (int i = 0; i < 50; i++) {
    OK(pthread_mutex_lock(&m));
    while (!tokens) OK(pthread_cond_wait(&c, &m));
    tokens--;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* gives_tokens(void* a) {
  for (int i = 0; i < 50; i++) {
    OK(pthread_mutex_lock(&m));
    tokens++;
    if (i % 16 == 0) sched_yield();
    OK(pthread_cond_signal(&c));
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* churns(void* a) {
  for (int i = 0; i < 200; i++) {
    OK(pthread_mutex_lock(&m));
    long v = counter;
    if (i % 16 == 0) sched_yield();
    counter = v + 1;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}

static void* expires(void* a) {
  OK(pthread_mutex_lock(&m));
  struct timespec t = ts_in(CLOCK_MONOTONIC, 20 * MS);
  int e;
  while ((e = pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t)) == 0) {
  }
  EXPECT_EQ(e, ETIMEDOUT);
  EXPECT_GE(now_ns(), t.tv_sec * SEC + t.tv_nsec);
  OK(pthread_mutex_unlock(&m));
  return a;
}

static int cleaned;
static pthread_mutex_t other = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static void cleans(void* a) {
  // It runs with the mutex held, and the thread is still itself to every other mutex.
  OK(pthread_mutex_lock(&other));
  EXPECT_EQ(pthread_mutex_lock(&other), EDEADLK);
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_unlock(&other));
  ADD(cleaned, 1);
  (void)a;
}
static void* is_cancelled(void* a) {
  OK(pthread_mutex_lock(&m));
  waiting++;
  pthread_cleanup_push(cleans, NULL);
  while (!open_) OK(pthread_cond_wait(&c, &m));
  pthread_cleanup_pop(0);
  EXPECT(!"came back");
  return a;
}

// A waiter whose mutex's last owner died is told when it has it again.
static void* dies_with_it(void* a) {
  OK(pthread_mutex_lock(&m));
  open_ = 1;
  OK(pthread_cond_broadcast(&c));
  return a;
}
// A kernel that hands over an inheriting mutex says so in time only of its own threads.
static int told_late(void) { return preloaded() && k->shared && k->protocol == PTHREAD_PRIO_INHERIT; }
static void* is_told(void* a) {
  OK(pthread_mutex_lock(&m));
  waiting++;
  int e = 0;
  while (!open_ && (e = pthread_cond_wait(&c, &m)) == 0) {
  }
  if (e != 0 || !told_late()) {
    EXPECT_EQ(e, EOWNERDEAD);
    OK(pthread_mutex_consistent(&m));
  }
  OK(pthread_mutex_unlock(&m));
  return a;
}

static void until_waiting(int n) {
  for (int now = -1; now != n; sleep_ms(1)) {
    OK(pthread_mutex_lock(&m));
    now = waiting;
    OK(pthread_mutex_unlock(&m));
  }
}

static void one(int cond_shared) {
  enum { W = 6, C = 3 };
  pthread_t t[W + C];
  make(cond_shared);
  for (int i = 0; i < W; i++) t[i] = start(waits, NULL);
  for (int i = W; i < W + C; i++) t[i] = start(churns, NULL);
  until_waiting(W);
  if (!k->robust) EXPECT_EQ(pthread_mutex_destroy(&m), EBUSY);  // who waits will want it back
  OK(pthread_mutex_lock(&m));
  open_ = 1;
  OK(pthread_cond_broadcast(&c));
  OK(pthread_mutex_unlock(&m));
  for (int i = 0; i < W + C; i++) join(t[i]);
  EXPECT_EQ(counter, W + 200 * C);

  for (int i = 0; i < 6; i++) t[i] = start(i & 1 ? gives_tokens : takes_tokens, NULL);
  for (int i = 0; i < 6; i++) join(t[i]);
  EXPECT_EQ(tokens, 0);
  for (int i = 0; i < 4; i++) t[i] = start(expires, NULL);
  for (int i = 0; i < 4; i++) join(t[i]);

  open_ = waiting = cleaned = 0;
  for (int i = 0; i < 4; i++) t[i] = start(is_cancelled, NULL);
  until_waiting(4);
  for (int i = 0; i < 4; i++) OK(pthread_cancel(t[i]));
  for (int i = 0; i < 4; i++) EXPECT(join(t[i]) == PTHREAD_CANCELED);
  EXPECT_EQ(cleaned, 4);
  OK(pthread_mutex_lock(&m));
  if (k->type == PTHREAD_MUTEX_ERRORCHECK) EXPECT_EQ(pthread_mutex_lock(&m), EDEADLK);
  OK(pthread_mutex_unlock(&m));
  if (k->type != PTHREAD_MUTEX_NORMAL) {  // not held by the caller
    struct timespec soon = ts_in(CLOCK_REALTIME, 20 * MS);
    EXPECT_EQ(pthread_cond_timedwait(&c, &m, &soon), EPERM);
  }

  if (k->robust) {
    waiting = 0;
    t[0] = start(is_told, NULL);
    until_waiting(1);
    join(start(dies_with_it, NULL));
    join(t[0]);
    int e = pthread_mutex_lock(&m);
    if (e == EOWNERDEAD && told_late()) OK(pthread_mutex_consistent(&m));
    else OK(e);
    OK(pthread_mutex_unlock(&m));
  }
  OK(pthread_cond_destroy(&c));
  OK(pthread_mutex_destroy(&m));
}

int main(void) {
  watchdog(55);
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int cond_shared = 0; cond_shared < 2; cond_shared++) {
      k = &kinds[i];
      fprintf(stderr, "%s mutex, %s condition variable\n", k->name, cond_shared ? "shared" : "private");
      one(cond_shared);
    }
  return 0;
}
