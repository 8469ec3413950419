// posix/thread_keys_many.c -- ten thousand keys come and go: a new key's value is NULL in every thread, deleted ones' destructors do not run.
// timeout: 30
#include "expect.h"
#include <limits.h>

enum { ROUNDS = 10000, THREADS = 8, BATCH = 200 };
static int stop, wrong_ends, ends;
static void never(void* a) { ADD(wrong_ends, a != NULL); }
static void counts(void* a) { ADD(ends, a != NULL); }

// A long-lived thread puts values under whatever key is current; the key dies with its values in place.
static pthread_key_t current;
static pthread_rwlock_t valid = PTHREAD_RWLOCK_INITIALIZER;
static unsigned generation;
static long sets;
static void* uses(void* a) {
  unsigned seen = ~0u;
  while (!LOAD(stop)) {
    OK(pthread_rwlock_rdlock(&valid));
    if (generation != seen) {
      seen = generation;
      EXPECT(pthread_getspecific(current) == NULL);
      OK(pthread_setspecific(current, &seen));
      ADD(sets, 1);
    } else {
      EXPECT(pthread_getspecific(current) == &seen);
    }
    OK(pthread_rwlock_unlock(&valid));
    sched_yield();
  }
  return a;
}

// Each thread makes and deletes its own, and leaves some for its end.
static void* makes(void* a) {
  for (int r = 0; r < 5; r++) {
    pthread_key_t k[40];
    for (int i = 0; i < 40; i++) {
      OK(pthread_key_create(&k[i], never));
      EXPECT(pthread_getspecific(k[i]) == NULL);
      OK(pthread_setspecific(k[i], a));
    }
    sched_yield();
    for (int i = 0; i < 40; i++) {
      EXPECT(pthread_getspecific(k[i]) == a);
      OK(pthread_key_delete(k[i]));
      EXPECT(pthread_getspecific(k[i]) == NULL);  // also if it is another thread's new key by now
    }
  }
  return a;
}
static pthread_key_t kept[BATCH];
static void* fills_kept(void* a) {
  for (int i = 0; i < BATCH; i++) {
    EXPECT(pthread_getspecific(kept[i]) == NULL);
    OK(pthread_setspecific(kept[i], num(1)));
  }
  return a;
}

int main(void) {
  watchdog(25);
  pthread_t t[THREADS];
  OK(pthread_key_create(&current, never));
  for (int i = 0; i < THREADS; i++) t[i] = start(uses, NULL);
  for (int r = 0; r < ROUNDS; r++) {
    OK(pthread_rwlock_wrlock(&valid));
    OK(pthread_key_delete(current));
    OK(pthread_key_create(&current, never));
    generation++;
    OK(pthread_rwlock_unlock(&valid));
    if (r % 64 == 0) sched_yield();
  }
  WAIT_UNTIL(LOAD(sets) >= THREADS);
  OK(pthread_rwlock_wrlock(&valid));
  OK(pthread_key_delete(current));
  STORE(stop, 1);
  OK(pthread_key_create(&current, NULL));
  generation++;
  OK(pthread_rwlock_unlock(&valid));
  for (int i = 0; i < THREADS; i++) join(t[i]);
  EXPECT_EQ(wrong_ends, 0);

  for (int i = 0; i < THREADS; i++) t[i] = start(makes, num(i + 1));
  for (int i = 0; i < THREADS; i++) EXPECT_EQ(join(t[i]), i + 1);
  EXPECT_EQ(wrong_ends, 0);

  // Two hundred kept until the end, in both levels of libc's table; recycled threads start with none.
  for (int i = 0; i < BATCH; i++) OK(pthread_key_create(&kept[i], counts));
  for (int r = 0; r < 5; r++) {
    for (int i = 0; i < THREADS; i++) t[i] = start(fills_kept, NULL);
    for (int i = 0; i < THREADS; i++) join(t[i]);
    EXPECT_EQ(ends, (r + 1) * THREADS * BATCH);
  }
  for (int i = 0; i < BATCH; i++) OK(pthread_key_delete(kept[i]));
  EXPECT_EQ(pthread_setspecific(PTHREAD_KEYS_MAX, NULL), EINVAL);
  EXPECT(pthread_getspecific(PTHREAD_KEYS_MAX) == NULL);
  EXPECT_EQ(pthread_key_delete(PTHREAD_KEYS_MAX), EINVAL);
  return 0;
}
