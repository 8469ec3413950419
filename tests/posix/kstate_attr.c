// posix/kstate_attr.c -- sched_setattr, sched_getattr, ioprio_set and ioprio_get by any name of a thread: the older calls tell the same, other threads keep theirs, and what is in force already can be set again.
// timeout: 30
#include "expect.h"

struct attr {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
  uint32_t util_min, util_max;
};
static int set(pid_t tid, const struct attr* a) { return (int)syscall(SYS_sched_setattr, tid, a, 0); }
static struct attr get(pid_t tid) {
  struct attr a;
  memset(&a, 0, sizeof a);
  SYS(syscall(SYS_sched_getattr, tid, &a, sizeof a, 0));
  return a;
}
static int io_of(pid_t tid) { return (int)SYS(syscall(SYS_ioprio_get, 1, tid)); }
enum { IDLE_IO = 3 << 13, LOW_IO = 2 << 13 | 6 };

static void expect_all(pid_t tid, int policy, int nice) {
  EXPECT_EQ(sched_getscheduler(tid), policy);
  EXPECT_EQ(get(tid).policy, policy);
  EXPECT_EQ(getpriority(PRIO_PROCESS, (id_t)tid), nice);
  if (policy != SCHED_IDLE) EXPECT_EQ(get(tid).nice, nice);
}

static void* changes(void* a) {
  pid_t self = a ? gettid() : 0;
  int before = io_of(self);
  struct attr w = get(self);
  OK(set(self, &w));  // as it is
  expect_all(self, SCHED_OTHER, 0);
  w.policy = SCHED_BATCH;
  w.nice = 7;
  OK(set(self, &w));
  expect_all(self, SCHED_BATCH, 7);
  int policy;
  struct sched_param p;
  OK(pthread_getschedparam(pthread_self(), &policy, &p));
  EXPECT_EQ(policy, SCHED_BATCH);
  w.policy = SCHED_OTHER;
  w.nice = 9;
  OK(set(gettid(), &w));
  expect_all(gettid(), SCHED_OTHER, 9);
  w.policy = SCHED_IDLE;
  OK(set(self, &w));
  EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
  OK((int)syscall(SYS_ioprio_set, 1, self, before));
  OK((int)syscall(SYS_ioprio_set, 1, self, LOW_IO));
  EXPECT_EQ(io_of(self), LOW_IO);
  EXPECT_EQ(io_of(gettid()), LOW_IO);
  FAILS(syscall(SYS_ioprio_set, 1, self, 7 << 13), EINVAL);
  FAILS(set(self, NULL), EINVAL);
  FAILS(set(self, (struct attr*)8), EFAULT);
  w.policy = 77;
  FAILS(set(self, &w), EINVAL);
  w.policy = SCHED_OTHER;
  w.priority = 3;
  FAILS(set(self, &w), EINVAL);
  FAILS(set(0x3ffffff, &w), ESRCH);
  return a;
}

static int tid_of, stage;
static void* changed(void* a) {
  STORE(tid_of, gettid());
  if (a) while (LOAD(stage) == 0) {}
  else while (LOAD(stage) == 0) usleep(1000);
  expect_all(0, SCHED_BATCH, 5);
  EXPECT_EQ(io_of(0), IDLE_IO);
  return a;
}
static void by_another(void* running) {
  STORE(tid_of, 0);
  STORE(stage, 0);
  int mine = io_of(0);
  pthread_t t = start(changed, running);
  WAIT_UNTIL(LOAD(tid_of));
  struct attr w = get(tid_of);
  w.policy = SCHED_BATCH;
  w.nice = 5;
  OK(set(tid_of, &w));
  OK((int)syscall(SYS_ioprio_set, 1, tid_of, IDLE_IO));
  expect_all(tid_of, SCHED_BATCH, 5);
  EXPECT_EQ(io_of(tid_of), IDLE_IO);
  expect_all(0, SCHED_OTHER, 0);
  EXPECT_EQ(io_of(0), mine);
  STORE(stage, 1);
  join(t);
}

// As a pool does, whose threads copy the attributes of who made them.
static struct attr makers;
static pthread_barrier_t all_there;
static void* copies(void* a) {
  OK(set(0, &makers));
  pthread_barrier_wait(&all_there);
  pthread_barrier_wait(&all_there);
  return a;
}
static void pool(void) {
  enum { N = 50 };
  pthread_t t[N];
  makers = get(0);
  OK(pthread_barrier_init(&all_there, NULL, N + 1));
  for (int i = 0; i < N; i++) t[i] = start(copies, NULL);
  pthread_barrier_wait(&all_there);
  if (preloaded()) EXPECT_LE(kernel_threads(), 12 + max_procs());
  pthread_barrier_wait(&all_there);
  for (int i = 0; i < N; i++) join(t[i]);
}

int main(void) {
  watchdog(25);
  pool();
  join(start(changes, NULL));
  join(start(changes, num(1)));
  by_another(NULL);
  by_another(&tid_of);
  expect_all(0, SCHED_OTHER, 0);
  return 0;
}
