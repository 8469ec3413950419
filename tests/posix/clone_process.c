// posix/clone_process.c -- clone() without shared memory makes a process that can do everything; with CLONE_VFORK its maker waits.
// timeout: 30
#include "expect.h"

static char stack[2][1 << 18] __attribute__((aligned(64)));
static int up[2], down[2], shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void* adds(void* a) {
  for (int i = 0; i < 100; i++) {
    OK(pthread_mutex_lock(&m));
    shared++;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static int handled;
static void on_signal(int s) { handled = s; }
static int child(void* a) {
  pid_t is[3] = {getppid(), getpid(), gettid()};
  write_all(up[1], is, sizeof is);
  char c;
  read_all(down[0], &c, 1);  // blocks
  sleep_ms(20);
  raise(SIGUSR1);
  EXPECT_EQ(handled, SIGUSR1);
  pthread_t t[4];
  for (int i = 0; i < 4; i++) t[i] = start(adds, NULL);
  for (int i = 0; i < 4; i++) join(t[i]);
  EXPECT_EQ(shared, 400);
  return (int)(intptr_t)a;
}
static void process(int flags) {
  pid_t is[3], tid = 0;
  int st;
  SYS(pipe2(up, O_CLOEXEC));
  SYS(pipe2(down, O_CLOEXEC));
  shared = 0;
  pid_t pid = (pid_t)SYS(clone(child, stack[0] + sizeof stack[0], flags | SIGCHLD, num(7), &tid, NULL, NULL));
  if (flags & CLONE_PARENT_SETTID) EXPECT_EQ(tid, pid);
  read_all(up[0], is, sizeof is);
  EXPECT_EQ(is[0], getpid());
  EXPECT_EQ(is[1], pid);
  EXPECT_EQ(is[2], pid);
  write_all(down[1], "x", 1);
  SYS(waitpid(pid, &st, 0));
  EXPECT_EXITED(st, 7);
  EXPECT_EQ(shared, 0);
  for (int i = 0; i < 2; i++) close(up[i]), close(down[i]);
}
static int borrows(void* a) {
  usleep(20000);
  *(int*)a = 1;
  _exit(3);
}
static void* all(void* a) {
  process(0);
  process(CLONE_PARENT_SETTID);
  int done = 0, st;
  pid_t pid = (pid_t)SYS(clone(borrows, stack[1] + sizeof stack[1], CLONE_VM | CLONE_VFORK | SIGCHLD, &done));
  EXPECT_EQ(done, 1);
  SYS(waitpid(pid, &st, 0));
  EXPECT_EXITED(st, 3);
  FAILS(clone(NULL, stack[1] + sizeof stack[1], SIGCHLD, NULL), EINVAL);
  return a;
}
static volatile int stop;
static void* works(void* a) {
  while (!stop) sched_yield();
  return a;
}

int main(void) {
  watchdog(25);
  signal(SIGUSR1, on_signal);
  pthread_t w = start(works, NULL);
  all(NULL);
  join(start(all, NULL));
  stop = 1;
  join(w);
  return 0;
}
