// posix/thread_attr_defaults.c -- default attributes set by the program, and an attribute's signal mask and policy, hold for the threads made with them.
// timeout: 30
#include "expect.h"
#include <threads.h>

static size_t stack_here(int* detached) {
  pthread_attr_t a;
  size_t size;
  OK(pthread_getattr_np(pthread_self(), &a));
  OK(pthread_attr_getstacksize(&a, &size));
  OK(pthread_attr_getdetachstate(&a, detached));
  OK(pthread_attr_destroy(&a));
  return size;
}
struct seen { size_t stack; int detached, done; };
static void* looks(void* p) {
  struct seen* s = (struct seen*)p;
  s->stack = stack_here(&s->detached);
  STORE(s->done, 1);
  return p;
}
static int looks_11(void* p) {
  looks(p);
  return 0;
}

struct masks { sigset_t before, after; };
static void* says_mask(void* p) {
  OK(pthread_sigmask(SIG_BLOCK, NULL, (sigset_t*)p));
  return p;
}
static int same(const sigset_t* a, const sigset_t* b) {
  for (int s = 1; s < SIGRTMAX; s++)
    if (s != 32 && s != 33 && sigismember(a, s) != sigismember(b, s)) return 0;
  return 1;
}
static int hits;
static void handler(int s) { ADD(hits, s == SIGUSR1); }

static void* says_policy(void* p) {
  pthread_attr_t a;
  int policy;
  struct sched_param sp;
  OK(pthread_getattr_np(pthread_self(), &a));
  OK(pthread_attr_getschedpolicy(&a, &policy));
  OK(pthread_attr_getschedparam(&a, &sp));
  OK(pthread_attr_destroy(&a));
  EXPECT_EQ(policy, *(int*)p);
  EXPECT_EQ(sp.sched_priority, policy == SCHED_FIFO ? 3 : 0);
  return NULL;
}

int main(void) {
  watchdog(25);
  pthread_attr_t old, a;
  struct seen s = {0, 0, 0};
  join(start(looks, &s));
  size_t usual = s.stack;
  OK(pthread_getattr_default_np(&old));

  // After the first thread: a larger stack, for both kinds of create; one given by an attribute stands.
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setstacksize(&a, 32 << 20));
  OK(pthread_setattr_default_np(&a));
  join(start(looks, &s));
  EXPECT_EQ(s.stack, 32 << 20);
  thrd_t c;
  EXPECT_EQ(thrd_create(&c, looks_11, &s), thrd_success);
  EXPECT_EQ(thrd_join(c, NULL), thrd_success);
  EXPECT_EQ(s.stack, 32 << 20);
  pthread_attr_t own;
  pthread_t t;
  OK(pthread_attr_init(&own));
  OK(pthread_create(&t, &own, looks, &s));
  join(t);
  EXPECT_EQ(s.stack, 32 << 20);  // says nothing about the stack
  OK(pthread_attr_setstacksize(&own, 1 << 20));
  OK(pthread_create(&t, &own, looks, &s));
  join(t);
  EXPECT_EQ(s.stack, 1 << 20);

  // Detached by default.
  OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
  OK(pthread_setattr_default_np(&a));
  s.done = 0;
  start(looks, &s);
  WAIT_UNTIL(LOAD(s.done));
  EXPECT_EQ(s.detached, PTHREAD_CREATE_DETACHED);
  // Not accepted: nothing changes. A stack is no default.
  static char lot[1 << 20];
  OK(pthread_attr_setstack(&own, lot, sizeof lot));
  EXPECT_EQ(pthread_setattr_default_np(&own), EINVAL);
  OK(pthread_setattr_default_np(&old));
  join(start(looks, &s));
  EXPECT_GE(s.stack, usual);  // glibc may take a larger one that lies about
  EXPECT_EQ(s.detached, PTHREAD_CREATE_JOINABLE);
  OK(pthread_attr_destroy(&own));

  // Signal masks: inherited, unless the attribute has one; taken back by a null one.
  struct sigaction sa = {.sa_handler = handler};
  SYS(sigaction(SIGUSR1, &sa, NULL));
  sigset_t usr1, usr2, got, none;
  sigemptyset(&none);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  sigaddset(&usr2, SIGRTMIN + 3);
  OK(pthread_sigmask(SIG_BLOCK, &usr2, NULL));
  join(start(says_mask, &got));
  EXPECT(same(&got, &usr2));
  OK(pthread_attr_init(&own));
  EXPECT_EQ(pthread_attr_getsigmask_np(&own, &got), PTHREAD_ATTR_NO_SIGMASK_NP);
  OK(pthread_attr_setsigmask_np(&own, &usr1));
  OK(pthread_attr_getsigmask_np(&own, &got));
  EXPECT(same(&got, &usr1));
  OK(pthread_create(&t, &own, says_mask, &got));
  join(t);
  EXPECT(same(&got, &usr1));
  OK(pthread_attr_setsigmask_np(&own, &none));
  OK(pthread_create(&t, &own, says_mask, &got));
  join(t);
  EXPECT(same(&got, &none));
  sigset_t all;
  sigfillset(&all);
  OK(pthread_attr_setsigmask_np(&own, &all));
  OK(pthread_create(&t, &own, says_mask, &got));
  join(t);
  EXPECT(sigismember(&got, SIGTERM) && !sigismember(&got, SIGKILL) && !sigismember(&got, SIGSTOP));
  OK(pthread_attr_setsigmask_np(&own, NULL));
  OK(pthread_create(&t, &own, says_mask, &got));
  join(t);
  EXPECT(same(&got, &usr2));
  OK(pthread_attr_destroy(&own));

  // The policy a thread has is in its attributes.
  int policy = SCHED_OTHER;
  join(start(says_policy, &policy));
  OK(pthread_attr_init(&own));
  struct sched_param sp = {.sched_priority = 3};
  OK(pthread_attr_setinheritsched(&own, PTHREAD_EXPLICIT_SCHED));
  OK(pthread_attr_setschedpolicy(&own, SCHED_FIFO));
  OK(pthread_attr_setschedparam(&own, &sp));
  policy = SCHED_FIFO;
  int e = pthread_create(&t, &own, says_policy, &policy);
  if (e != EPERM) {
    OK(e);
    join(t);
  }
  return 0;
}
