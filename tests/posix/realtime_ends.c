// posix/realtime_ends.c -- what others do to a real-time thread that ends, and mutexes from before it was one, leave no trace.
// timeout: 60
#include "realtime.h"

static int ending, wrong;
static pthread_t target;
static cpu_set_t all;

static void* becomes_and_ends(void* a) {
  set_policy(pthread_self(), SCHED_FIFO, 1);
  STORE(ending, 1);
  return a;
}
// Everything that may be said of a thread until it is joined.
static void* pesters(void* a) {
  for (int64_t end = now_ns() + 1000 * MS; !LOAD(ending) && now_ns() < end;) {}
  for (int64_t end = now_ns() + 15 * MS; now_ns() < end;) {
    int e = pthread_setaffinity_np(target, sizeof all, &all);
    EXPECT(e == 0 || e == ESRCH);
    const int policies[][2] = {{SCHED_RR, 2}, {SCHED_OTHER, 0}};
    for (int i = 0; i < 2; i++) {
      int policy;
      struct sched_param p = {.sched_priority = policies[i][1]};
      e = pthread_setschedparam(target, policies[i][0], &p);
      EXPECT(e == 0 || e == ESRCH);  // it ended: libc may say so
      e = pthread_getschedparam(target, &policy, &p);
      EXPECT(e == 0 || e == ESRCH);
    }
  }
  return a;
}
// Time after time: a thread with higher needs may lend its kernel thread a priority for a moment.
static void* is_ordinary(void* a) {
  int priority, n = 0;
  for (int i = 0; i < 20; i++) {
    n += kernel_policy(&priority) != SCHED_OTHER;
    usleep(1000);
  }
  if (n > 10) ADD(wrong, 1);
  return a;
}
static void* naps(void* a) {
  usleep(2000);
  return a;
}

// Locked before the first thread is made. A process of its own: then this one has made none.
static void unlocks_as_real_time(int robust) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid) return reap_ok(pid);
  pthread_mutexattr_t ma;
  pthread_mutex_t m, other;
  OK(pthread_mutexattr_init(&ma));
  OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
  if (robust) OK(pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST));
  else OK(pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT));
  OK(pthread_mutex_init(&m, &ma));
  OK(pthread_mutex_init(&other, &ma));
  OK(pthread_mutex_lock(&m));
  pthread_t t = start(naps, NULL);
  set_policy(pthread_self(), SCHED_FIFO, 1);
  OK(pthread_mutex_lock(&other));
  OK(pthread_mutex_unlock(&other));
  OK(pthread_mutex_unlock(&m));
  join(t);
  for (int i = 0; i < 3; i++) {
    t = start(naps, NULL);
    usleep(500);
    join(t);
  }
  _exit(0);
}

int main(void) {
  watchdog(50);
  struct sched_param p = {.sched_priority = 1};
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) _exit(sched_setscheduler(0, SCHED_FIFO, &p) != 0);
  int status;
  SYS(waitpid(pid, &status, 0));
  if (status != 0) skip("may not be real-time here");
  unlocks_as_real_time(0);
  unlocks_as_real_time(1);
  OK(sched_getaffinity(0, sizeof all, &all));
  for (int round = 0; round < 10; round++) {
    STORE(ending, 0);
    target = start(becomes_and_ends, NULL);
    pthread_t s[2] = {start(pesters, NULL), start(pesters, NULL)};
    for (int i = 0; i < 2; i++) join(s[i]);
    join(target);
    pthread_t q[4];
    for (int i = 0; i < 4; i++) q[i] = start(is_ordinary, NULL);
    for (int i = 0; i < 4; i++) join(q[i]);
  }
  EXPECT_EQ(wrong, 0);
  return 0;
}
