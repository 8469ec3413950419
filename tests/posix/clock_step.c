// posix/clock_step.c -- waits with a time on CLOCK_REALTIME follow the clock when it is set; those on CLOCK_MONOTONIC do not.
//
// It sets the machine's clock back and forth by two minutes for some milliseconds each, so it runs only where
// GMPT_TEST_SET_CLOCK=1 says that nobody minds.
// timeout: 60
#include "expect.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { STEP = 120 };  // seconds
static int64_t real_minus_mono;
static void set_clock_by(int64_t seconds) {
  struct timespec t, m;
  clock_gettime(CLOCK_MONOTONIC, &m);
  int64_t ns = real_minus_mono + m.tv_sec * SEC + m.tv_nsec + seconds * SEC;
  t = (struct timespec){ns / SEC, ns % SEC};
  SYS(clock_settime(CLOCK_REALTIME, &t));
}
static struct timespec in(clockid_t clock, int64_t ns) {
  struct timespec t;
  clock_gettime(clock, &t);
  int64_t n = t.tv_sec * SEC + t.tv_nsec + ns;
  return (struct timespec){n / SEC, n % SEC};
}

enum { COND, MUTEX, RDLOCK, WRLOCK, SEM, SLEEP, FUTEX, JOIN, KINDS, COND_MONO = KINDS, SLEEP_MONO };
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, cond_mono;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static int word, waiting, done;
static pthread_t forever;

static int waits_until(int kind, const struct timespec* t) {
  int e = 0;
  switch (kind) {
    case COND: case COND_MONO:
      OK(pthread_mutex_lock(&m));
      while (e == 0) e = pthread_cond_timedwait(kind == COND ? &cond : &cond_mono, &m, t);
      OK(pthread_mutex_unlock(&m));
      return e;
    case MUTEX: return pthread_mutex_timedlock(&held, t);
    case RDLOCK: return pthread_rwlock_timedrdlock(&rw, t);
    case WRLOCK: return pthread_rwlock_timedwrlock(&rw, t);
    case SEM: return sem_timedwait(&sem, t) ? errno : 0;
    case SLEEP: return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, t, NULL) == 0 ? ETIMEDOUT : 0;
    case SLEEP_MONO: return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL) == 0 ? ETIMEDOUT : 0;
    case FUTEX: return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, t, NULL, FUTEX_BITSET_MATCH_ANY) ? errno : 0;
    case JOIN: return pthread_timedjoin_np(forever, NULL, t);
  }
  return 0;
}
struct wait { int kind; int64_t ns; };
static void* waits(void* a) {
  struct wait* w = (struct wait*)a;
  struct timespec t = in(w->kind < KINDS ? CLOCK_REALTIME : CLOCK_MONOTONIC, w->ns);
  ADD(waiting, 1);
  EXPECT_EQ(waits_until(w->kind, &t), ETIMEDOUT);
  ADD(done, 1);
  return a;
}
static void* sleeps(void* a) {
  while (!LOAD(word)) usleep(10000);
  return a;
}
static void* burns(void* a) {
  while (!LOAD(*(int*)a)) {}
  return a;
}

int main(void) {
  if (!getenv("GMPT_TEST_SET_CLOCK")) skip("GMPT_TEST_SET_CLOCK=1 lets it set the machine's clock");
  watchdog(55);
  struct timespec r, mono;
  clock_gettime(CLOCK_MONOTONIC, &mono);
  clock_gettime(CLOCK_REALTIME, &r);
  real_minus_mono = (r.tv_sec - mono.tv_sec) * SEC + r.tv_nsec - mono.tv_nsec;
  OK(pthread_mutex_lock(&held));
  OK(pthread_rwlock_wrlock(&rw));
  OK(sem_init(&sem, 0, 0));
  pthread_condattr_t ca;
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_setclock(&ca, CLOCK_MONOTONIC));
  OK(pthread_cond_init(&cond_mono, &ca));
  forever = start(sleeps, NULL);

  for (int busy = 0; busy < 2; busy++) {
    int stop = 0;
    pthread_t t[KINDS], b[4];
    if (busy) for (int i = 0; i < 4; i++) b[i] = start(burns, &stop);
    // Forward: a minute is over at once.
    struct wait w[KINDS];
    waiting = done = 0;
    for (int i = 0; i < KINDS; i++) w[i] = (struct wait){i, 60 * SEC}, t[i] = start(waits, &w[i]);
    while (LOAD(waiting) < KINDS) usleep(1000);
    sleep_ms(200);
    EXPECT_EQ(LOAD(done), 0);
    set_clock_by(STEP);
    for (int i = 0; i < 3000 && LOAD(done) < KINDS; i++) usleep(1000);
    set_clock_by(0);
    EXPECT_EQ(LOAD(done), KINDS);
    for (int i = 0; i < KINDS; i++) join(t[i]);
    // Backward: they wait until the clock is there.
    waiting = done = 0;
    for (int i = 0; i < KINDS; i++) w[i].ns = 300 * MS, t[i] = start(waits, &w[i]);
    while (LOAD(waiting) < KINDS) usleep(1000);
    sleep_ms(20);
    set_clock_by(-STEP);
    sleep_ms(600);
    int early = LOAD(done);
    set_clock_by(0);
    EXPECT_EQ(early, 0);
    for (int i = 0; i < KINDS; i++) join(t[i]);
    // The monotonic clock is not concerned.
    struct wait mono_waits[2] = {{COND_MONO, 300 * MS}, {SLEEP_MONO, 300 * MS}};
    waiting = done = 0;
    for (int i = 0; i < 2; i++) t[i] = start(waits, &mono_waits[i]);
    while (LOAD(waiting) < 2) usleep(1000);
    set_clock_by(STEP);
    sleep_ms(50);
    early = LOAD(done);
    set_clock_by(0);
    EXPECT_EQ(early, 0);
    for (int i = 0; i < 2; i++) join(t[i]);
    STORE(stop, 1);
    if (busy) for (int i = 0; i < 4; i++) join(b[i]);
  }
  STORE(word, 1);
  join(forever);
  return 0;
}
