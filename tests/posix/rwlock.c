// posix/rwlock.c -- readers share, writers are alone, tries and limits return what glibc returns.
// timeout: 60
#include "expect.h"

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int readers, writers, most_readers;
static long value;  // protected by rw
enum { R = 12, W = 4, ROUNDS = 400 };

static void enter_read(void) {
  int n = ADD(readers, 1), seen = LOAD(most_readers);
  EXPECT_EQ(LOAD(writers), 0);
  while (n > seen && !__atomic_compare_exchange_n(&most_readers, &seen, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
}
static void* reads(void* a) {
  uint64_t s = (uintptr_t)a;
  for (int i = 0; i < ROUNDS; i++) {
    int e;
    switch (rnd(&s) % 3) {
      case 0:
        while ((e = pthread_rwlock_tryrdlock(&rw)) != 0) {
          EXPECT_EQ(e, EBUSY);
          sched_yield();
        }
        break;
      case 1: {
        struct timespec t = ts_in(CLOCK_REALTIME, 500000);
        while ((e = pthread_rwlock_timedrdlock(&rw, &t)) != 0) {
          EXPECT_EQ(e, ETIMEDOUT);
          t = ts_in(CLOCK_REALTIME, 500000);
        }
        break;
      }
      default: OK(pthread_rwlock_rdlock(&rw));
    }
    enter_read();
    long v = value;
    if (rnd(&s) % 8 == 0) usleep(100); else sched_yield();
    EXPECT_EQ(v, value);
    ADD(readers, -1);
    OK(pthread_rwlock_unlock(&rw));
  }
  return NULL;
}
static void* writes(void* a) {
  uint64_t s = (uintptr_t)a;
  for (int i = 0; i < ROUNDS; i++) {
    int e;
    switch (rnd(&s) % 3) {
      case 0:
        for (int k = 0; (e = pthread_rwlock_trywrlock(&rw)) != 0; k++) {
          EXPECT_EQ(e, EBUSY);
          if (k > 50) {
            OK(pthread_rwlock_wrlock(&rw));
            break;
          }
          sched_yield();
        }
        break;
      case 1: {
        struct timespec t = ts_in(CLOCK_MONOTONIC, 2 * MS);
        while ((e = pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &t)) != 0) {
          EXPECT_EQ(e, ETIMEDOUT);
          t = ts_in(CLOCK_MONOTONIC, 2 * MS);
        }
        break;
      }
      default: OK(pthread_rwlock_wrlock(&rw));
    }
    EXPECT_EQ(ADD(writers, 1), 1);
    EXPECT_EQ(LOAD(readers), 0);
    long v = value;
    if (rnd(&s) % 16 == 0) sched_yield();
    value = v + 1;
    ADD(writers, -1);
    OK(pthread_rwlock_unlock(&rw));
  }
  return NULL;
}

static int try_read, try_write;
static void* tries(void* a) {
  try_read = pthread_rwlock_tryrdlock(&rw);
  if (try_read == 0) OK(pthread_rwlock_unlock(&rw));
  try_write = pthread_rwlock_trywrlock(&rw);
  if (try_write == 0) OK(pthread_rwlock_unlock(&rw));
  return a;
}
static void* timed_out(void* a) {
  int held_for_write = a != NULL;
  for (int k = 0; k < 2; k++) {
    clockid_t c = k ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    struct timespec t = ts_in(c, 40 * MS);
    EXPECT_EQ(k ? pthread_rwlock_clockwrlock(&rw, c, &t) : pthread_rwlock_timedwrlock(&rw, &t), ETIMEDOUT);
    EXPECT_GE(clock_ns(c), t.tv_sec * SEC + t.tv_nsec);
    t = ts_in(c, 40 * MS);
    int e = k ? pthread_rwlock_clockrdlock(&rw, c, &t) : pthread_rwlock_timedrdlock(&rw, &t);
    if (held_for_write) {
      EXPECT_EQ(e, ETIMEDOUT);
      EXPECT_GE(clock_ns(c), t.tv_sec * SEC + t.tv_nsec);
    } else {
      OK(e);
      OK(pthread_rwlock_unlock(&rw));
    }
  }
  struct timespec bad = {0, 1000000000};
  EXPECT_EQ(pthread_rwlock_timedwrlock(&rw, &bad), EINVAL);
  return NULL;
}

// While a writer that is preferred waits, new readers wait behind it.
static int order_n, order[8];
static void* late_writer(void* a) {
  OK(pthread_rwlock_wrlock(&rw));
  order[order_n++] = 'w';
  OK(pthread_rwlock_unlock(&rw));
  return a;
}
static pthread_t spawn_writer(void) {
  pthread_t t = start(late_writer, NULL);
  sleep_ms(30);
  return t;
}

int main(void) {
  watchdog(55);
  pthread_t t[R + W];
  for (int i = 0; i < R; i++) t[i] = start(reads, num(i + 1));
  for (int i = R; i < R + W; i++) t[i] = start(writes, num(i + 1));
  for (int i = 0; i < R + W; i++) join(t[i]);
  EXPECT_EQ(value, W * ROUNDS);
  EXPECT(most_readers > 1);

  OK(pthread_rwlock_rdlock(&rw));
  OK(pthread_rwlock_rdlock(&rw));  // a reader may read again
  join(start(tries, NULL));
  EXPECT_EQ(try_read, 0);
  EXPECT_EQ(try_write, EBUSY);
  EXPECT_EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
  join(start(timed_out, NULL));
  OK(pthread_rwlock_unlock(&rw));
  join(start(tries, NULL));
  EXPECT_EQ(try_write, EBUSY);
  OK(pthread_rwlock_unlock(&rw));
  join(start(tries, NULL));
  EXPECT_EQ(try_write, 0);

  OK(pthread_rwlock_wrlock(&rw));
  join(start(tries, NULL));
  EXPECT_EQ(try_read, EBUSY);
  EXPECT_EQ(try_write, EBUSY);
  // The writer asking again is told.
  EXPECT_EQ(pthread_rwlock_wrlock(&rw), EDEADLK);
  EXPECT_EQ(pthread_rwlock_rdlock(&rw), EDEADLK);
  struct timespec soon = ts_in(CLOCK_REALTIME, SEC);
  EXPECT_EQ(pthread_rwlock_timedwrlock(&rw, &soon), EDEADLK);
  EXPECT_EQ(pthread_rwlock_timedrdlock(&rw, &soon), EDEADLK);
  EXPECT_EQ(pthread_rwlock_trywrlock(&rw), EBUSY);
  EXPECT_EQ(pthread_rwlock_tryrdlock(&rw), EBUSY);
  join(start(timed_out, num(1)));
  OK(pthread_rwlock_unlock(&rw));

  // Default kind prefers readers: a second reader passes a waiting writer.
  OK(pthread_rwlock_rdlock(&rw));
  pthread_t w = spawn_writer();
  join(start(tries, NULL));
  EXPECT_EQ(try_read, 0);
  OK(pthread_rwlock_unlock(&rw));
  join(w);
  EXPECT_EQ(order_n, 1);

  // Writer-preferring (non-recursive) kind: it does not.
  pthread_rwlockattr_t a;
  OK(pthread_rwlockattr_init(&a));
  OK(pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
  OK(pthread_rwlock_destroy(&rw));
  OK(pthread_rwlock_init(&rw, &a));
  OK(pthread_rwlock_rdlock(&rw));
  w = spawn_writer();
  join(start(tries, NULL));
  EXPECT_EQ(try_read, EBUSY);
  OK(pthread_rwlock_unlock(&rw));
  join(w);
  for (int i = 0; i < R; i++) t[i] = start(reads, num(i + 100));
  for (int i = R; i < R + W; i++) t[i] = start(writes, num(i + 100));
  for (int i = 0; i < R + W; i++) join(t[i]);
  EXPECT_EQ(value, 2 * W * ROUNDS);
  OK(pthread_rwlock_destroy(&rw));
  return 0;
}
