// posix/pshared_sleep.c -- the only thread awake sleeps and wakes while it holds a mutex that ties it to its kernel thread; nothing ever waited for a descriptor.
// timeout: 30
#include "expect.h"

static void* ends(void* a) { return a; }
static void naps(int robust, int protocol) {
  pthread_mutexattr_t a;
  pthread_mutex_t m;
  OK(pthread_mutexattr_init(&a));
  OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
  OK(pthread_mutexattr_setrobust(&a, robust));
  OK(pthread_mutexattr_setprotocol(&a, protocol));
  OK(pthread_mutex_init(&m, &a));
  OK(pthread_mutex_lock(&m));
  for (int64_t end = now_ns() + 50 * MS; now_ns() < end;) {  // until nobody else looks for work
  }
  for (int i = 0; i < 5; i++) sleep_ms(20);
  OK(pthread_mutex_unlock(&m));
  OK(pthread_mutex_destroy(&m));
}
static void in_child(int robust, int protocol) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    join(start(ends, NULL));
    naps(robust, protocol);
    _exit(0);
  }
  reap_ok(pid);
}

int main(void) {
  watchdog(25);
  in_child(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
  in_child(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
  join(start(ends, NULL));
  naps(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT);
  return 0;
}
