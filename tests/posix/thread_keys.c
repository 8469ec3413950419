// posix/thread_keys.c -- thread-specific values are per thread, start as NULL, and destructors run in rounds, even ones that block.
// timeout: 30
#include "expect.h"
#include <limits.h>

enum { N = 64, T = 40 };
static pthread_key_t key[N];
static int ended[N];
static void end_count(void* a) {
  intptr_t i = (intptr_t)a % N;
  EXPECT(pthread_getspecific(key[i]) == NULL);
  ADD(ended[i], 1);
}
static void* fill(void* a) {
  intptr_t me = (intptr_t)a;
  for (int i = 0; i < N; i++) EXPECT(pthread_getspecific(key[i]) == NULL);
  for (int i = 0; i < N; i++) OK(pthread_setspecific(key[i], num((me + 1) * N + i)));
  for (int r = 0; r < 10; r++) {
    sched_yield();
    for (int i = 0; i < N; i++) EXPECT_EQ(pthread_getspecific(key[i]), (me + 1) * N + i);
  }
  return NULL;
}

// A destructor that sets its value again is called again, PTHREAD_DESTRUCTOR_ITERATIONS times at most.
static pthread_key_t again_key;
static int rounds;
static void again(void* a) {
  ADD(rounds, 1);
  OK(pthread_setspecific(again_key, a));
}
static void* sets_again(void* a) {
  OK(pthread_setspecific(again_key, num(1)));
  return a;
}

// A destructor that sets another key: that one's destructor still runs.
static pthread_key_t first_key, second_key;
static int second_ran;
static void first_end(void* a) { OK(pthread_setspecific(second_key, a)); }
static void second_end(void* a) {
  EXPECT_EQ(a, 5);
  ADD(second_ran, 1);
}
static void* sets_first(void* a) {
  OK(pthread_setspecific(first_key, num(5)));
  pthread_exit(a);
}

// Destructors that block: on a mutex held by main, then asleep.
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t block_key;
static int blocked_done;
static void blocks(void* a) {
  (void)a;
  OK(pthread_mutex_lock(&m));
  OK(pthread_mutex_unlock(&m));
  sleep_ms(20);
  free(a);
  ADD(blocked_done, 1);
}
static void* sets_block(void* a) {
  OK(pthread_setspecific(block_key, malloc(100)));
  return a;
}

int main(void) {
  watchdog(25);
  for (int i = 0; i < N; i++) OK(pthread_key_create(&key[i], end_count));
  for (int r = 1; r <= 3; r++) {
    pthread_t t[T];
    for (int i = 0; i < T; i++) t[i] = start(fill, num(i));
    for (int i = 0; i < T; i++) join(t[i]);
    for (int i = 0; i < N; i++) EXPECT_EQ(ended[i], r * T);
  }
  OK(pthread_setspecific(key[0], num(1)));
  EXPECT_EQ(pthread_getspecific(key[0]), 1);

  OK(pthread_key_create(&again_key, again));
  join(start(sets_again, NULL));
  EXPECT_EQ(rounds, PTHREAD_DESTRUCTOR_ITERATIONS);
  OK(pthread_key_delete(again_key));

  OK(pthread_key_create(&second_key, second_end));
  OK(pthread_key_create(&first_key, first_end));
  join(start(sets_first, NULL));
  EXPECT_EQ(second_ran, 1);

  OK(pthread_key_create(&block_key, blocks));
  OK(pthread_mutex_lock(&m));
  pthread_t t[10];
  for (int i = 0; i < 10; i++) t[i] = start(sets_block, num(i));
  sleep_ms(30);
  EXPECT_EQ(LOAD(blocked_done), 0);
  EXPECT_EQ(pthread_tryjoin_np(t[0], NULL), EBUSY);
  OK(pthread_mutex_unlock(&m));
  for (int i = 0; i < 10; i++) EXPECT_EQ(join(t[i]), i);
  EXPECT_EQ(blocked_done, 10);

  // A deleted key gives EINVAL; a new key of the same number starts as NULL everywhere.
  OK(pthread_key_delete(key[0]));
  EXPECT_EQ(pthread_setspecific(key[0], NULL), EINVAL);
  EXPECT_EQ(pthread_key_delete(key[0]), EINVAL);
  OK(pthread_key_create(&key[0], NULL));
  EXPECT(pthread_getspecific(key[0]) == NULL);

  // All keys can be used up; the limit is EAGAIN.
  static pthread_key_t many[PTHREAD_KEYS_MAX + 1];
  int n = 0, e;
  while ((e = pthread_key_create(&many[n], NULL)) == 0) EXPECT(++n <= PTHREAD_KEYS_MAX);
  EXPECT_EQ(e, EAGAIN);
  while (n > 0) OK(pthread_key_delete(many[--n]));
  return 0;
}
