// posix/cond_destroy.c -- a condition variable may be destroyed and freed right after the broadcast that woke its last waiters.
// timeout: 30
#include "expect.h"
#include <sys/mman.h>

struct box {
  pthread_cond_t c;
};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct box* box;
static int waiting, open_;
static void* waits(void* a) {
  OK(pthread_mutex_lock(&m));
  waiting++;
  while (!open_) OK(pthread_cond_wait(&box->c, &m));
  OK(pthread_mutex_unlock(&m));
  return a;
}

// Destroying one that threads wait on is no good idea; glibc waits until they have left.
static pthread_cond_t busy = PTHREAD_COND_INITIALIZER;
static int left, gone;
static void* waits_long(void* a) {
  struct timespec t = {0};
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += 100 * MS;
  if (t.tv_nsec >= SEC) t.tv_sec++, t.tv_nsec -= SEC;
  OK(pthread_mutex_lock(&m));
  waiting++;
  int e = a ? pthread_cond_timedwait(&busy, &m, &t) : pthread_cond_wait(&busy, &m);
  EXPECT(e == 0 || e == ETIMEDOUT);
  left++;
  OK(pthread_mutex_unlock(&m));
  return a;
}
static void* destroys(void* a) {
  OK(pthread_cond_destroy(&busy));
  STORE(gone, 1);
  return a;
}
static void destroyed_too_early(int timed) {
  pthread_t t[5];
  OK(pthread_cond_init(&busy, NULL));
  waiting = left = gone = 0;
  for (int i = 0; i < 4; i++) t[i] = start(waits_long, num(timed));
  for (;;) {
    OK(pthread_mutex_lock(&m));
    if (waiting == 4) break;
    OK(pthread_mutex_unlock(&m));
    sched_yield();
  }
  t[4] = start(destroys, NULL);
  sleep_ms(30);
  EXPECT(!LOAD(gone) || timed);  // a timed one may have left, and wait for the mutex
  OK(pthread_mutex_unlock(&m));
  if (!timed) {
    for (int i = 0; i < 4; i++) {
      OK(pthread_cond_signal(&busy));
      if (i < 3) sleep_ms(5);
    }
  }
  for (int i = 0; i < 5; i++) join(t[i]);
  EXPECT_EQ(left, 4);
}

int main(void) {
  watchdog(25);
  for (int i = 0; i < 6; i++) destroyed_too_early(i % 2);
  enum { N = 20, ROUNDS = 100 };
  pthread_t t[N];
  for (int r = 0; r < ROUNDS; r++) {
    box = (struct box*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(box != MAP_FAILED);
    OK(pthread_cond_init(&box->c, NULL));
    waiting = open_ = 0;
    for (int i = 0; i < N; i++) t[i] = start(waits, NULL);
    for (;;) {
      OK(pthread_mutex_lock(&m));
      if (waiting == N) break;
      OK(pthread_mutex_unlock(&m));
      sched_yield();
    }
    open_ = 1;
    OK(pthread_cond_broadcast(&box->c));
    // Nobody waits on it any more in POSIX's sense: destroy, which lets stragglers leave, then free.
    OK(pthread_mutex_unlock(&m));
    OK(pthread_cond_destroy(&box->c));
    memset((void*)box, 0xff, sizeof *box);
    SYS(munmap(box, 4096));
    for (int i = 0; i < N; i++) join(t[i]);
  }
  return 0;
}
