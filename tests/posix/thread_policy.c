// A thread reads back the policy and priority that it was given or took, and its own M has them in the kernel.
// (Needs the right to be real-time; what it may not do, it skips.)
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"

static int kernel_policy(void) { return (int)syscall(SYS_sched_getscheduler, 0) & ~0x40000000; }

static void* reads(void* want) {
  int policy = -1;
  struct sched_param p = {.sched_priority = -1};
  EXPECT(pthread_getschedparam(pthread_self(), &policy, &p) == 0);
  EXPECT(policy == *(int*)want);
  EXPECT(sched_getscheduler(0) == policy);
  for (int i = 0; i < 20; i++) {
    EXPECT(kernel_policy() == policy);
    usleep(100);
  }
  return NULL;
}

static void* takes(void* arg) {
  struct sched_param p = {.sched_priority = 3};
  EXPECT(pthread_setschedparam(pthread_self(), SCHED_RR, &p) == 0);
  int want = SCHED_RR;
  reads(&want);
  EXPECT(pthread_setschedprio(pthread_self(), 5) == 0);
  EXPECT(sched_getparam(0, &p) == 0 && p.sched_priority == 5);
  pthread_t child;  // inherits
  EXPECT(pthread_create(&child, NULL, reads, &want) == 0);
  EXPECT(pthread_join(child, NULL) == 0);
  p.sched_priority = 0;
  EXPECT(pthread_setschedparam(pthread_self(), SCHED_OTHER, &p) == 0);
  want = SCHED_OTHER;
  reads(&want);
  return NULL;
}

int main(void) {
  pthread_t t;
  int other = SCHED_OTHER;
  EXPECT(pthread_create(&t, NULL, reads, &other) == 0);
  EXPECT(pthread_join(t, NULL) == 0);

  struct sched_param p = {.sched_priority = 1};
  EXPECT(pthread_setschedparam(pthread_self(), SCHED_OTHER, &p) == EINVAL);
  EXPECT(pthread_setschedparam(pthread_self(), 77, &p) == EINVAL);

  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&a, SCHED_FIFO);
  pthread_attr_setschedparam(&a, &p);
  int fifo = SCHED_FIFO;
  int e = pthread_create(&t, &a, reads, &fifo);
  if (e == EPERM) {
    puts("may not be real-time here");
    return 77;
  }
  EXPECT(e == 0);
  EXPECT(pthread_join(t, NULL) == 0);
  for (int i = 0; i < 10; i++) {
    EXPECT(pthread_create(&t, NULL, takes, NULL) == 0);
    EXPECT(pthread_join(t, NULL) == 0);
  }
  // Nobody's policy is left behind.
  for (int i = 0; i < 10; i++) {
    EXPECT(pthread_create(&t, NULL, reads, &other) == 0);
    EXPECT(pthread_join(t, NULL) == 0);
  }
  return 0;
}
