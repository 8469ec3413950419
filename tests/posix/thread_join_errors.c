// posix/thread_join_errors.c -- joining oneself is EDEADLK and a detached thread EINVAL; who joins main can be cancelled and joined by it.
// timeout: 30
#include "expect.h"

static sem_t go;
static int left;
static void* wait_go(void* a) {
  while (sem_wait(&go) == -1) EXPECT_EQ(errno, EINTR);
  ADD(left, 1);
  return a;
}
static void* join_self(void* a) {
  EXPECT_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
  return a;
}

static void* join_arg(void* a) {
  pthread_join((pthread_t)a, NULL);
  return NULL;
}
static void* join_detached_self(void* a) {
  OK(pthread_detach(pthread_self()));
  EXPECT_EQ(pthread_join(pthread_self(), NULL), EINVAL);
  ADD(left, 1);
  return a;
}

int main(void) {
  watchdog(25);
  // Two who would join each other, but for the cancellation.
  pthread_t j = start(join_arg, (void*)pthread_self());
  sleep_ms(30);
  OK(pthread_cancel(j));
  EXPECT(join(j) == PTHREAD_CANCELED);
  start(join_detached_self, NULL);
  WAIT_UNTIL(LOAD(left) == 1);
  left = 0;

  OK(sem_init(&go, 0, 0));
  EXPECT_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
  EXPECT_EQ(join(start(join_self, num(1))), 1);

  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
  pthread_t t;
  OK(pthread_create(&t, &a, wait_go, NULL));
  EXPECT_EQ(pthread_join(t, NULL), EINVAL);
  int e = pthread_tryjoin_np(t, NULL);
  EXPECT(e == EINVAL || e == EBUSY);
  EXPECT_EQ(pthread_detach(t), EINVAL);
  SYS(sem_post(&go));
  WAIT_UNTIL(LOAD(left) == 1);

  // Errors leave the thread joinable: main is still itself.
  for (int i = 0; i < 10; i++) EXPECT_EQ(join(start(join_self, num(i))), i);
  return 0;
}
