// posix/cond_timed.c -- timed condition waits never end early, use the clock asked for, return ETIMEDOUT, and hold the mutex again.
// timeout: 30
#include "expect.h"

static pthread_mutex_t m;
static pthread_cond_t real, mono;

static void expires(pthread_cond_t* c, clockid_t clk, int use_clockwait, int64_t ns) {
  OK(pthread_mutex_lock(&m));
  struct timespec t = ts_in(clk, ns);
  int e;
  do {
    e = use_clockwait ? pthread_cond_clockwait(c, &m, clk, &t) : pthread_cond_timedwait(c, &m, &t);
  } while (e == 0);  // spurious
  EXPECT_EQ(e, ETIMEDOUT);
  int64_t late = clock_ns(clk) - (t.tv_sec * SEC + t.tv_nsec);
  EXPECT_GE(late, 0);
  EXPECT_LE(late, 3 * SEC + (ns < 0 ? -ns : 0));
  // Error-checking mutex: we hold it.
  EXPECT_EQ(pthread_mutex_lock(&m), EDEADLK);
  OK(pthread_mutex_unlock(&m));
}
static void* many(void* a) {
  intptr_t i = (intptr_t)a;
  int64_t ns = (i * 997 % 60) * MS + i * 1000;
  switch (i % 4) {
    case 0: expires(&real, CLOCK_REALTIME, 0, ns); break;
    case 1: expires(&mono, CLOCK_MONOTONIC, 0, ns); break;
    case 2: expires(&real, CLOCK_MONOTONIC, 1, ns); break;
    case 3: expires(&mono, CLOCK_REALTIME, 1, ns); break;
  }
  return NULL;
}

static int flag, waiting;
static void* far_future(void* a) {
  struct timespec t = ts_in(CLOCK_REALTIME, 0);
  t.tv_sec += 10L * 365 * 86400;
  if (a) t.tv_sec = (time_t)1 << 40;
  OK(pthread_mutex_lock(&m));
  waiting++;
  while (!flag) OK(pthread_cond_timedwait(&real, &m, &t));
  waiting--;
  OK(pthread_mutex_unlock(&m));
  return NULL;
}
static int64_t held_until;
static int late;
static void* holds(void* a) {
  OK(pthread_mutex_lock(&m));
  flag = 1;
  late = now_ns() >= held_until - 100 * MS;
  struct timespec t = ts_of(held_until);
  OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
  OK(pthread_mutex_unlock(&m));
  return a;
}

int main(void) {
  watchdog(25);
  pthread_mutexattr_t ma;
  OK(pthread_mutexattr_init(&ma));
  OK(pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_ERRORCHECK));
  OK(pthread_mutex_init(&m, &ma));
  pthread_condattr_t ca;
  clockid_t c;
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_getclock(&ca, &c));
  EXPECT_EQ(c, CLOCK_REALTIME);
  OK(pthread_cond_init(&real, &ca));
  EXPECT_EQ(pthread_condattr_setclock(&ca, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
  OK(pthread_condattr_setclock(&ca, CLOCK_MONOTONIC));
  OK(pthread_condattr_getclock(&ca, &c));
  EXPECT_EQ(c, CLOCK_MONOTONIC);
  OK(pthread_cond_init(&mono, &ca));

  expires(&real, CLOCK_REALTIME, 0, 80 * MS);
  expires(&mono, CLOCK_MONOTONIC, 0, 80 * MS);
  expires(&real, CLOCK_MONOTONIC, 1, 80 * MS);
  expires(&mono, CLOCK_REALTIME, 1, 80 * MS);
  expires(&mono, CLOCK_MONOTONIC, 0, 1);
  expires(&real, CLOCK_REALTIME, 0, -10 * SEC);
  enum { N = 100 };
  pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(many, num(i));
  for (int i = 0; i < N; i++) join(t[i]);

  OK(pthread_mutex_lock(&m));
  struct timespec bad = {1, 1000000000}, bad2 = {1, -1}, ok = ts_in(CLOCK_REALTIME, SEC);
  EXPECT_EQ(pthread_cond_timedwait(&real, &m, &bad), EINVAL);
  EXPECT_EQ(pthread_cond_timedwait(&real, &m, &bad2), EINVAL);
  EXPECT_EQ(pthread_cond_clockwait(&real, &m, CLOCK_THREAD_CPUTIME_ID, &ok), EINVAL);
  OK(pthread_mutex_unlock(&m));
  // A mutex we do not hold.
  EXPECT_EQ(pthread_cond_timedwait(&real, &m, &ok), EPERM);

  // Far future, then signalled.
  for (int i = 0; i < 10; i++) t[i] = start(far_future, num(i & 1));
  WAIT_UNTIL(LOAD(waiting) == 10);
  OK(pthread_mutex_lock(&m));
  flag = 1;
  OK(pthread_cond_broadcast(&real));
  OK(pthread_mutex_unlock(&m));
  for (int i = 0; i < 10; i++) join(t[i]);
  EXPECT_EQ(waiting, 0);

  // Expired while another holds the mutex: comes back only with the mutex.
  flag = 0;
  for (int tries = 0; tries < 10 && !flag; tries++) {  // on a busy machine the other may come too late
    OK(pthread_mutex_lock(&m));
    struct timespec lim = ts_in(CLOCK_REALTIME, 60 * MS);
    held_until = now_ns() + 160 * MS;
    t[0] = start(holds, NULL);
    int e;
    while ((e = pthread_cond_timedwait(&real, &m, &lim)) == 0) {
    }
    EXPECT_EQ(e, ETIMEDOUT);
    EXPECT_EQ(pthread_mutex_lock(&m), EDEADLK);
    if (flag) EXPECT_GE(now_ns(), held_until);
    OK(pthread_mutex_unlock(&m));
    join(t[0]);
    if (late) flag = late = 0;  // it had the mutex only after the limit
  }
  EXPECT_EQ(flag, 1);
  OK(pthread_cond_destroy(&real));
  OK(pthread_cond_destroy(&mono));
  return 0;
}
