// posix/thread_create.c -- a created thread runs once with its argument, and join gives back its result.
// timeout: 60
#include "expect.h"

static void* give_back(void* a) { return (char*)a + 1; }
static void* leave(void* a) { pthread_exit((char*)a + 2); }

static pthread_t seen;
static void* say_self(void* a) {
  seen = pthread_self();
  return a;
}

static int runs;
static void* count(void* a) {
  ADD(runs, 1);
  return a;
}

static void* nest(void* a) {
  intptr_t depth = (intptr_t)a;
  if (depth == 0) return num(1);
  void* l = join(start(nest, num(depth - 1)));
  void* r = join(start(nest, num(depth - 1)));
  return num((intptr_t)l + (intptr_t)r);
}

int main(void) {
  watchdog(55);
  EXPECT_EQ(join(start(give_back, num(41))), 42);
  EXPECT_EQ(join(start(leave, num(40))), 42);
  EXPECT_EQ(join(start(give_back, num(-1))), 0);
  OK(pthread_join(start(give_back, NULL), NULL));

  pthread_t t = start(say_self, NULL);
  join(t);
  EXPECT(pthread_equal(seen, t));
  EXPECT(!pthread_equal(seen, pthread_self()));
  EXPECT(pthread_equal(pthread_self(), pthread_self()));

  for (int i = 0; i < 10000; i++) EXPECT_EQ(join(start(count, num(i))), i);
  EXPECT_EQ(runs, 10000);

  // Many alive at once, joined in a different order.
  enum { N = 500 };
  static pthread_t v[N];
  for (int i = 0; i < N; i++) v[i] = start(count, num(i));
  for (int i = N - 1; i >= 0; i--) EXPECT_EQ(join(v[i]), i);
  EXPECT_EQ(runs, 10000 + N);

  // Threads that create and join threads.
  EXPECT_EQ(join(start(nest, num(7))), 128);
  return 0;
}
