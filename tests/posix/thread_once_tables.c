// posix/thread_once_tables.c -- cancelling an initialiser of pthread_once that has no unwind tables lets another thread run it again.
// timeout: 30
// flags: -fno-exceptions -fno-asynchronous-unwind-tables -fno-unwind-tables
#include "expect.h"

static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
static sem_t in, never;
static int runs, cleaned;
static void once_inner(void) {
  if (ADD(runs, 1) > 1) return;
  SYS(sem_post(&in));
  while (sem_wait(&never) == -1) EXPECT_EQ(errno, EINTR);
}
static void once_outer(void) { OK(pthread_once(&inner, once_inner)); }
static void clean(void* a) {
  (void)a;
  ADD(cleaned, 1);
}
static void* use(void* a) {
  pthread_cleanup_push(clean, NULL);
  OK(pthread_once(&outer, once_outer));
  pthread_cleanup_pop(0);
  return a;
}

int main(void) {
  watchdog(25);
  OK(sem_init(&in, 0, 0));
  OK(sem_init(&never, 0, 0));
  for (int r = 1; r <= 3; r++) {
    outer = inner = PTHREAD_ONCE_INIT;
    runs = 0;
    pthread_t t = start(use, NULL), later;
    while (sem_wait(&in) == -1) EXPECT_EQ(errno, EINTR);
    later = start(use, num(1));
    sleep_ms(20);
    OK(pthread_cancel(t));
    EXPECT(join(t) == PTHREAD_CANCELED);
    EXPECT_EQ(join(later), 1);
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(cleaned, r);
  }
  return 0;
}
