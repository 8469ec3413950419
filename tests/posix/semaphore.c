// posix/semaphore.c -- semaphores count exactly; wait, try, timed and clock waits, named ones, and the value limits.
// timeout: 30
#include "expect.h"
#include <limits.h>

static sem_t s;
static int passed;
static void wait_(sem_t* x) {
  while (sem_wait(x) == -1) EXPECT_EQ(errno, EINTR);
}
static void* waits(void* a) {
  wait_(&s);
  ADD(passed, 1);
  return a;
}

// At most three inside.
static sem_t three;
static int inside, most;
static void* limited(void* a) {
  for (int i = 0; i < 200; i++) {
    if (i % 3 == 0) {
      struct timespec t = ts_in(CLOCK_MONOTONIC, 20 * SEC);
      SYS(sem_clockwait(&three, CLOCK_MONOTONIC, &t));
    } else if (i % 3 == 1) {
      while (sem_trywait(&three) == -1) {
        EXPECT_EQ(errno, EAGAIN);
        sched_yield();
      }
    } else {
      wait_(&three);
    }
    int n = ADD(inside, 1);
    EXPECT_LE(n, 3);
    if (n == 3) STORE(most, 3);
    if (i % 5 == 0) usleep(50); else sched_yield();
    ADD(inside, -1);
    SYS(sem_post(&three));
  }
  return a;
}

static sem_t ping, pong;
static void* ponger(void* a) {
  for (int i = 0; i < 20000; i++) {
    wait_(&ping);
    SYS(sem_post(&pong));
  }
  return a;
}
static void* posts_later(void* a) {
  sleep_ms(40);
  SYS(sem_post(&s));
  return a;
}

int main(void) {
  watchdog(25);
  int v;
  OK(sem_init(&s, 0, 3));
  SYS(sem_getvalue(&s, &v));
  EXPECT_EQ(v, 3);
  for (int i = 0; i < 3; i++) SYS(sem_trywait(&s));
  FAILS(sem_trywait(&s), EAGAIN);

  for (int k = 0; k < 2; k++) {
    clockid_t c = k ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec t = ts_in(c, 60 * MS);
    FAILS(k ? sem_clockwait(&s, c, &t) : sem_timedwait(&s, &t), ETIMEDOUT);
    EXPECT_GE(clock_ns(c), t.tv_sec * SEC + t.tv_nsec);
    EXPECT_LE(clock_ns(c) - (t.tv_sec * SEC + t.tv_nsec), 3 * SEC);
  }
  struct timespec past = ts_in(CLOCK_REALTIME, -SEC), bad = {0, -1};
  FAILS(sem_timedwait(&s, &past), ETIMEDOUT);
  FAILS(sem_timedwait(&s, &bad), EINVAL);
  FAILS(sem_clockwait(&s, CLOCK_THREAD_CPUTIME_ID, &past), EINVAL);
  pthread_t p = start(posts_later, NULL);
  struct timespec far = ts_in(CLOCK_REALTIME, 20 * SEC);
  SYS(sem_timedwait(&s, &far));
  join(p);
  SYS(sem_post(&s));
  SYS(sem_timedwait(&s, &past));  // free: the limit does not matter

  enum { N = 100 };
  pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(waits, NULL);
  sleep_ms(20);
  for (int i = 1; i <= 50; i++) SYS(sem_post(&s));
  WAIT_UNTIL(LOAD(passed) == 50);
  sleep_ms(20);
  EXPECT_EQ(LOAD(passed), 50);
  SYS(sem_getvalue(&s, &v));
  EXPECT_EQ(v, 0);
  for (int i = 50; i < N; i++) SYS(sem_post(&s));
  for (int i = 0; i < N; i++) join(t[i]);
  OK(sem_destroy(&s));

  OK(sem_init(&three, 0, 3));
  for (int i = 0; i < 16; i++) t[i] = start(limited, NULL);
  for (int i = 0; i < 16; i++) join(t[i]);
  EXPECT_EQ(most, 3);

  OK(sem_init(&ping, 0, 0));
  OK(sem_init(&pong, 0, 0));
  p = start(ponger, NULL);
  for (int i = 0; i < 20000; i++) {
    SYS(sem_post(&ping));
    wait_(&pong);
  }
  join(p);

  OK(sem_init(&s, 0, SEM_VALUE_MAX));
  FAILS(sem_post(&s), EOVERFLOW);
  SYS(sem_trywait(&s));
  SYS(sem_post(&s));
  FAILS(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);

  char name[64];
  snprintf(name, sizeof name, "/expect-sem-%d", (int)getpid());
  sem_t* n = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
  if (n == SEM_FAILED && (errno == ENOSYS || errno == EACCES || errno == ENOENT)) return 0;  // no /dev/shm here
  EXPECT(n != SEM_FAILED);
  sem_t* same = sem_open(name, 0);
  EXPECT(same == n);
  SYS(sem_unlink(name));
  SYS(sem_trywait(n));
  FAILS(sem_trywait(same), EAGAIN);
  SYS(sem_close(same));
  SYS(sem_close(n));
  return 0;
}
