// tests/lib/realtime.h -- real-time threads, and what the kernel says of the one that runs here.
#ifndef TESTS_LIB_REALTIME_H
#define TESTS_LIB_REALTIME_H
#include "expect.h"

static inline void may_be_real_time(int e) {
  if (e == EPERM) skip("may not be real-time here");
  OK(e);
}
static inline void set_policy(pthread_t t, int policy, int priority) {
  struct sched_param p = {.sched_priority = priority};
  may_be_real_time(pthread_setschedparam(t, policy, &p));
}
static inline pthread_t start_fifo(void* (*f)(void*), void* arg, int priority) {
  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
  OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
  struct sched_param p = {.sched_priority = priority};
  OK(pthread_attr_setschedparam(&a, &p));
  pthread_t t;
  may_be_real_time(pthread_create(&t, &a, f, arg));
  OK(pthread_attr_destroy(&a));
  return t;
}
// From here on this thread, and those it makes, have one CPU.
static inline void keep_one_cpu(void) {
  cpu_set_t all, one;
  OK(sched_getaffinity(0, sizeof all, &all));
  CPU_ZERO(&one);
  for (int i = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; i--)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  OK(sched_setaffinity(0, sizeof one, &one));
}
// The policy and priority of the kernel thread we are on.
static inline int kernel_policy(int* priority) {
  char b[2048];
  int fd = (int)SYS(open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC));
  ssize_t n = SYS(read(fd, b, sizeof b - 1));
  close(fd);
  b[n] = 0;
  char* save;
  int k = 3, policy = -1;
  for (char* s = strtok_r(strrchr(b, ')') + 2, " ", &save); s; s = strtok_r(NULL, " ", &save), k++) {
    if (k == 40) *priority = atoi(s);
    if (k == 41) policy = atoi(s);
  }
  return policy;
}
#endif
