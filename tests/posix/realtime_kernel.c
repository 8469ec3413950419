// posix/realtime_kernel.c -- the kernel has for a thread what the getters say: set before it begins, beside another policy of its creator's or the process's, by sched_setattr, and its processor time is its own.
// timeout: 60
#include "realtime.h"

static void* agrees(void* a) {
  int policy, kernel, priority = 0, kernel_after, priority_after = 0;
  struct sched_param p;
  do {  // nobody set it in between
    kernel = kernel_policy(&priority);
    policy = (int)SYS(sched_getscheduler(0)) & ~SCHED_RESET_ON_FORK;
    OK(sched_getparam(0, &p));
    kernel_after = kernel_policy(&priority_after);
  } while (kernel_after != kernel || priority_after != priority);
  EXPECT_EQ(kernel, policy);
  EXPECT_EQ(priority, p.sched_priority);
  if (a) EXPECT_EQ(policy, (int)(intptr_t)a);
  return a;
}
static void* ends(void* a) { return a; }

static void in_child(void (*f)(void)) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid) {
    int status;
    SYS(waitpid(pid, &status, 0));
    if (status == 77 << 8) skip("may not be real-time here");
    return EXPECT_EXITED(status, 0);
  }
  alarm(20);
  f();
  _exit(0);
}

// One CPU, on which the creator goes on first.
static void set_back_before_it_begins(void) {
  join(start(ends, NULL));
  keep_one_cpu();
  set_policy(pthread_self(), SCHED_FIFO, 2);
  pthread_t t = start_fifo(agrees, NULL, 1);
  set_policy(t, SCHED_OTHER, 0);
  join(t);
  t = start_fifo(agrees, num(SCHED_RR), 1);
  set_policy(t, SCHED_RR, 1);
  join(t);
}

static void in_a_real_time_process(void) {
  struct sched_param p = {.sched_priority = 2};
  if (sched_setscheduler(0, SCHED_FIFO, &p)) skip("may not be real-time here");
  join(start(agrees, num(SCHED_FIFO)));
  join(start_fifo(agrees, num(SCHED_FIFO), 2));
  set_policy(pthread_self(), SCHED_FIFO, 9);
  join(start_fifo(agrees, num(SCHED_FIFO), 2));
  set_policy(pthread_self(), SCHED_OTHER, 0);
  join(start_fifo(agrees, num(SCHED_FIFO), 2));
}

static void* later(void* a) {
  for (int i = 0; i < 10; i++) {
    usleep(2000);
    agrees(a);
  }
  return a;
}
static void in_a_batch_process(void) {
  struct sched_param p = {0};
  SYS(sched_setscheduler(0, SCHED_BATCH, &p));
  pthread_t t[4];
  for (int i = 0; i < 4; i++) t[i] = start(later, num(SCHED_BATCH));
  set_policy(pthread_self(), SCHED_FIFO, 5);
  for (int i = 0; i < 4; i++) join(t[i]);
}

struct attr { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; uint32_t clamp[2]; };
static void* by_attributes(void* a) {
  set_policy(pthread_self(), SCHED_FIFO, 1);
  struct attr slice = {.size = sizeof slice, .policy = SCHED_OTHER, .runtime = 3000000};
  SYS(syscall(SYS_sched_setattr, 0, &slice, 0));
  agrees(NULL);
  for (int i = 0; i < 5; i++) {  // it waits among those it now is one of
    usleep(500);
    set_policy(pthread_self(), i % 2 ? SCHED_OTHER : SCHED_FIFO, !(i % 2));
    agrees(NULL);
  }
  return a;
}
static void attributes(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) t[i] = start(by_attributes, NULL);
  for (int i = 0; i < 3; i++) join(t[i]);
}

static void* has_used_little(void* a) {
  EXPECT_LE(clock_ns(CLOCK_THREAD_CPUTIME_ID), 300 * MS);
  return a;
}
static void processor_time(void) {
  join(start_fifo(ends, NULL, 1));
  sleep_ms(1000);
  pthread_t t = start(has_used_little, NULL);
  EXPECT_EQ(system("sleep 0.1"), 0);
  join(t);
}

int main(void) {
  watchdog(50);
  in_child(set_back_before_it_begins);
  in_child(in_a_real_time_process);
  in_child(in_a_batch_process);
  in_child(attributes);
  in_child(processor_time);
  return 0;
}
