// posix/thread_detach.c -- detached threads run to their end and give their memory back without a join.
// timeout: 60
#include "expect.h"

static int ran;
static void* work(void* a) {
  if (a) sched_yield();
  ADD(ran, 1);
  return NULL;
}
static void* detach_self(void* a) {
  OK(pthread_detach(pthread_self()));
  return work(a);
}
static sem_t hold;
static void* wait_then_work(void* a) {
  while (sem_wait(&hold) == -1) EXPECT_EQ(errno, EINTR);
  return work(a);
}
static long vm_kb(void) {
  FILE* f = fopen("/proc/self/status", "r");
  EXPECT(f != NULL);
  char l[256];
  long kb = -1;
  while (fgets(l, sizeof l, f))
    if (!strncmp(l, "VmRSS:", 6)) kb = atol(l + 6);
  fclose(f);
  return kb;
}
// Somebody waits in join already: glibc lets the detach do nothing, and programs that end rely on it.
static int joins;
static void* detach_self_late(void* a) {
  WAIT_UNTIL(LOAD(joins));
  sleep_ms((intptr_t)a);
  OK(pthread_detach(pthread_self()));
  return a;
}
static void detach_while_joined(int timed) {
  for (intptr_t ms = 10;; ms *= 2) {
    STORE(joins, 0);
    pthread_t t = start(detach_self_late, (void*)ms);
    struct timespec limit = ts_in(CLOCK_REALTIME, 20 * SEC);
    void* r = NULL;
    STORE(joins, 1);
    int e = timed ? pthread_timedjoin_np(t, &r, &limit) : pthread_join(t, &r);
    if ((e == EINVAL || e == ESRCH) && ms < 2000) continue;  // a slow machine: it detached first
    OK(e);
    EXPECT(r == (void*)ms);
    return;
  }
}

int main(void) {
  watchdog(55);
  int want = 0;
  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
  int state;
  OK(pthread_attr_getdetachstate(&a, &state));
  EXPECT_EQ(state, PTHREAD_CREATE_DETACHED);
  EXPECT_EQ(pthread_attr_setdetachstate(&a, 77), EINVAL);

  long before = 0;
  for (int i = 0; i < 6000; i++) {
    if (i == 1000) {
      WAIT_UNTIL(LOAD(ran) == want);
      before = vm_kb();
    }
    pthread_t t;
    int e;
    // A native machine may be slow to end them: wait for room, it must come.
    for (int64_t end = now_ns() + 10 * SEC; (e = pthread_create(&t, &a, work, num(i & 1))) == EAGAIN;) {
      EXPECT(now_ns() < end);
      sleep_ms(1);
    }
    OK(e);
    want++;
    if (i % 200 == 199) WAIT_UNTIL(LOAD(ran) == want);
  }
  WAIT_UNTIL(LOAD(ran) == want);
  EXPECT_LE(vm_kb() - before, 60000);

  for (int i = 0; i < 200; i++, want++) start(detach_self, NULL);
  WAIT_UNTIL(LOAD(ran) == want);

  // Detach from outside, before and after the thread has ended.
  OK(sem_init(&hold, 0, 0));
  pthread_t t = start(wait_then_work, NULL);
  OK(pthread_detach(t));
  EXPECT_EQ(pthread_detach(t), EINVAL);
  SYS(sem_post(&hold));
  want++;
  WAIT_UNTIL(LOAD(ran) == want);
  t = start(work, NULL);
  want++;
  WAIT_UNTIL(LOAD(ran) == want);
  sleep_ms(20);
  OK(pthread_detach(t));
  detach_while_joined(0);
  detach_while_joined(1);
  return 0;
}
