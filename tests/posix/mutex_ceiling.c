// posix/mutex_ceiling.c -- a priority-protecting mutex keeps its ceiling, tells it, changes it while free, and excludes.
// timeout: 30
#include "expect.h"

static pthread_mutex_t m;
static int counter, ceiling_now(void);
static void make(int type, int shared) {
  pthread_mutexattr_t a;
  int v = -1;
  OK(pthread_mutexattr_init(&a));
  OK(pthread_mutexattr_settype(&a, type));
  OK(pthread_mutexattr_setpshared(&a, shared));
  OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
  EXPECT_EQ(pthread_mutexattr_setprioceiling(&a, 100), EINVAL);
  OK(pthread_mutexattr_setprioceiling(&a, 20));
  OK(pthread_mutexattr_getprioceiling(&a, &v));
  EXPECT_EQ(v, 20);
  OK(pthread_mutex_init(&m, &a));
  OK(pthread_mutexattr_destroy(&a));
}
static int ceiling_now(void) {
  int v = -1;
  OK(pthread_mutex_getprioceiling(&m, &v));
  return v;
}

static void* counts(void* a) {
  for (int i = 0; i < 200; i++) {
    if (i % 8 == 7) {
      struct timespec t = ts_in(CLOCK_REALTIME, 20 * SEC);
      OK(pthread_mutex_timedlock(&m, &t));
    } else {
      OK(pthread_mutex_lock(&m));
    }
    int c = counter;
    if (i % 16 == 0) sched_yield();
    counter = c + 1;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* finds_it_held(void* a) {
  EXPECT_EQ(pthread_mutex_trylock(&m), EBUSY);
  struct timespec t = ts_in(CLOCK_REALTIME, 20 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(&m, &t), ETIMEDOUT);
  return a;
}
static int changed;
static void* changes(void* a) {
  int old = -1;
  OK(pthread_mutex_setprioceiling(&m, (int)(intptr_t)a, &old));
  STORE(changed, 1);
  return num(old);
}

// Who holds one runs at its ceiling, whatever it sets meanwhile; who is above it may not have it.
static int in_force(void) {
  struct sched_param p;
  SYS(sched_getparam(0, &p));
  return p.sched_priority;
}
static void sets(int priority) {
  struct sched_param p = {.sched_priority = priority};
  OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &p));
  int policy;
  OK(pthread_getschedparam(pthread_self(), &policy, &p));
  EXPECT_EQ(p.sched_priority, priority);
}
static void rises(int shared) {
  make(PTHREAD_MUTEX_NORMAL, shared);
  EXPECT_EQ(in_force(), 10);
  OK(pthread_mutex_lock(&m));
  EXPECT_EQ(in_force(), 20);
  sets(15);
  EXPECT_EQ(in_force(), 20);
  OK(pthread_mutex_unlock(&m));
  EXPECT_EQ(in_force(), 15);
  sets(21);
  EXPECT_EQ(in_force(), 21);
  EXPECT_EQ(pthread_mutex_lock(&m), EINVAL);
  EXPECT_EQ(pthread_mutex_trylock(&m), EINVAL);
  sets(10);
  OK(pthread_mutex_trylock(&m));
  EXPECT_EQ(in_force(), 20);
  OK(pthread_mutex_unlock(&m));
  EXPECT_EQ(in_force(), 10);
  OK(pthread_mutex_destroy(&m));
}

// Natively only a real-time thread may lock one: its priority is what is raised.
static void* uses(void* a) {
  struct sched_param p = {.sched_priority = 10};
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) != 0) return num(1);
  for (int shared = 0; shared < 2; shared++) {
    rises(shared);
    make(PTHREAD_MUTEX_NORMAL, shared);
    counter = 0;
    pthread_t t[6];
    for (int i = 0; i < 6; i++) t[i] = start(counts, NULL);
    for (int i = 0; i < 6; i++) join(t[i]);
    EXPECT_EQ(counter, 1200);
    OK(pthread_mutex_lock(&m));
    join(start(finds_it_held, NULL));
    EXPECT_EQ(ceiling_now(), 20);
    STORE(changed, 0);
    t[0] = start(changes, num(30));  // waits until it is free
    sleep_ms(20);
    EXPECT_EQ(LOAD(changed), 0);
    EXPECT_EQ(ceiling_now(), 20);
    OK(pthread_mutex_unlock(&m));
    EXPECT_EQ(join(t[0]), 20);
    EXPECT_EQ(ceiling_now(), 30);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));

    make(PTHREAD_MUTEX_RECURSIVE, shared);
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_setprioceiling(&m, 40, NULL));  // its own
    EXPECT_EQ(ceiling_now(), 40);
    OK(pthread_mutex_unlock(&m));
    join(start(finds_it_held, NULL));
    OK(pthread_mutex_unlock(&m));
    OK(pthread_mutex_destroy(&m));

    make(PTHREAD_MUTEX_ERRORCHECK, shared);
    OK(pthread_mutex_lock(&m));
    EXPECT_EQ(pthread_mutex_lock(&m), EDEADLK);
    EXPECT_EQ(pthread_mutex_setprioceiling(&m, 40, NULL), EDEADLK);
    OK(pthread_mutex_unlock(&m));
    EXPECT_EQ(pthread_mutex_unlock(&m), EPERM);
    OK(pthread_mutex_destroy(&m));
  }
  return a;
}

int main(void) {
  watchdog(25);
  // What needs no right: told and changed.
  for (int shared = 0; shared < 2; shared++) {
    make(PTHREAD_MUTEX_NORMAL, shared);
    int old = -1;
    EXPECT_EQ(ceiling_now(), 20);
    OK(pthread_mutex_setprioceiling(&m, 7, &old));
    EXPECT_EQ(old, 20);
    EXPECT_EQ(ceiling_now(), 7);
    EXPECT_EQ(pthread_mutex_setprioceiling(&m, 100, &old), EINVAL);
    EXPECT_EQ(pthread_mutex_setprioceiling(&m, 0, &old), EINVAL);
    EXPECT_EQ(ceiling_now(), 7);
    OK(pthread_mutex_destroy(&m));
  }
  // Others have none.
  int v;
  OK(pthread_mutex_init(&m, NULL));
  EXPECT_EQ(pthread_mutex_getprioceiling(&m, &v), EINVAL);
  EXPECT_EQ(pthread_mutex_setprioceiling(&m, 7, &v), EINVAL);
  OK(pthread_mutex_destroy(&m));
  if (join(start(uses, NULL)) != NULL) fprintf(stderr, "no right to be real-time: not locked\n");
  return 0;
}
