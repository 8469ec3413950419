// posix/mutex_free_after_unlock.c -- the last user may destroy and free a mutex as soon as it has it: unlock by others touches it no more.
// timeout: 30
#include "expect.h"
#include <sys/mman.h>

// Each object lies on a page of its own that is unmapped by the last user: a late touch is a crash.
struct obj {
  pthread_mutex_t m;
  int refs;
};
static void drop(struct obj* o) {
  OK(pthread_mutex_lock(&o->m));
  int last = --o->refs == 0;
  OK(pthread_mutex_unlock(&o->m));
  if (last) {
    OK(pthread_mutex_destroy(&o->m));
    SYS(munmap(o, 4096));
  }
}
enum { USERS = 4, N = 1500, AHEAD = 8 };
static struct obj* objs[N];
static pthread_barrier_t bar;
static void* user(void* a) {
  for (int i = 0; i < N; i++) {
    if (i % AHEAD == 0) {
      if (pthread_barrier_wait(&bar) == PTHREAD_BARRIER_SERIAL_THREAD)
        for (int k = i; k < i + AHEAD && k < N; k++) {
          objs[k] = (struct obj*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          EXPECT(objs[k] != MAP_FAILED);
          OK(pthread_mutex_init(&objs[k]->m, NULL));
          objs[k]->refs = USERS;
        }
      pthread_barrier_wait(&bar);
    }
    drop(objs[i]);
  }
  return a;
}

// The same with a semaphore: the waiter frees it as soon as it was posted.
struct job {
  sem_t done;
  char pad[64];
};
static void* posts(void* a) {
  SYS(sem_post(&((struct job*)a)->done));
  return NULL;
}

int main(void) {
  watchdog(25);
  OK(pthread_barrier_init(&bar, NULL, USERS));
  pthread_t t[USERS];
  for (int i = 0; i < USERS; i++) t[i] = start(user, NULL);
  for (int i = 0; i < USERS; i++) join(t[i]);

  for (int i = 0; i < 500; i++) {
    struct job* j = (struct job*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(j != MAP_FAILED);
    OK(sem_init(&j->done, 0, 0));
    pthread_t p = start(posts, j);
    while (sem_wait(&j->done) == -1) EXPECT_EQ(errno, EINTR);
    OK(sem_destroy(&j->done));
    SYS(munmap(j, 4096));
    join(p);
  }
  return 0;
}
