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

int main(void) {
  watchdog(25);
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
