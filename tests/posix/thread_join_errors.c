// posix/thread_join_errors.c -- joining oneself is EDEADLK and a detached thread EINVAL.
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

int main(void) {
  watchdog(25);
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
