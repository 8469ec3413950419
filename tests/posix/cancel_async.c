// posix/cancel_async.c -- asynchronous cancellation ends whatever the thread does: a loop, a lock, a call, a queue for the processor.
// timeout: 60
#include "expect.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static int pipes[2], started, cleaned, never;
static volatile unsigned long sink;

static void clean(void* a) { ADD(cleaned, 1); }

static void loops(void) { while (!LOAD(never)) sink++; }
static void sums(void) { for (;;) sink = sink * 3 + 1; }
static void locks(void) { pthread_mutex_lock(&mutex); }
static void reads_lock(void) { pthread_rwlock_rdlock(&rwlock); }
static void writes_lock(void) { pthread_rwlock_wrlock(&rwlock); }
static void spins(void) { pthread_spin_lock(&spin); }
static void waits_sem(void) { sem_wait(&sem); }
static void reads(void) { char b; (void)!read(pipes[0], &b, 1); }
static void sleeps(void) { sleep(1000); }
static void yields(void) { for (;;) sched_yield(); }
static void formats(void) { char b[64]; for (;;) snprintf(b, sizeof b, "%d %s", 12345, "text"); }

static void (*const work[])(void) = {loops, sums, locks, reads_lock, writes_lock, spins, waits_sem, reads, sleeps, yields, formats};
enum { N = sizeof work / sizeof *work };

static void* thread(void* a) {
  int old;
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
  EXPECT_EQ(old, PTHREAD_CANCEL_DEFERRED);
  pthread_cleanup_push(clean, NULL);
  ADD(started, 1);
  work[(intptr_t)a]();
  pthread_cleanup_pop(0);
  return NULL;
}
static void* holds_off(void* a) {
  OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
  OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
  ADD(started, 1);
  OK(pthread_mutex_lock(&mutex));  // whoever cancels frees it afterwards
  OK(pthread_mutex_unlock(&mutex));
  ADD(cleaned, 1);
  OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
  for (;;) sink++;
  return a;
}

int main(void) {
  OK(pipe(pipes));
  OK(sem_init(&sem, 0, 0));
  OK(pthread_spin_init(&spin, 0));
  OK(pthread_mutex_lock(&mutex));
  OK(pthread_rwlock_wrlock(&rwlock));
  OK(pthread_spin_lock(&spin));
  for (int round = 0; round < 6; round++)
    for (intptr_t i = 0; i < N; i++) {
      pthread_t t[3];
      void* r;
      STORE(started, 0);
      STORE(cleaned, 0);
      for (int k = 0; k < 3; k++) OK(pthread_create(&t[k], NULL, thread, (void*)i));
      WAIT_UNTIL(LOAD(started) == 3);
      if (round & 1) sleep_ms(2);
      for (int k = 0; k < 3; k++) OK(pthread_cancel(t[k]));
      for (int k = 0; k < 3; k++) {
        OK(pthread_join(t[k], &r));
        EXPECT(r == PTHREAD_CANCELED);
      }
      EXPECT_EQ(LOAD(cleaned), 3);
    }
  // Disabled, a request waits.
  pthread_t t;
  void* r;
  STORE(started, 0);
  STORE(cleaned, 0);
  OK(pthread_create(&t, NULL, holds_off, NULL));
  WAIT_UNTIL(LOAD(started) == 1);
  sleep_ms(5);
  OK(pthread_cancel(t));
  sleep_ms(5);
  EXPECT_EQ(LOAD(cleaned), 0);
  OK(pthread_mutex_unlock(&mutex));
  OK(pthread_join(t, &r));
  EXPECT(r == PTHREAD_CANCELED);
  EXPECT_EQ(LOAD(cleaned), 1);
  // What others waited for in vain is as good as before (not so the rwlock: libc's counts its waiters).
  OK(pthread_mutex_lock(&mutex));
  OK(pthread_mutex_unlock(&mutex));
  OK(sem_post(&sem));
  OK(sem_wait(&sem));
  return 0;
}
