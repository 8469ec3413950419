// posix/kstate_affinity.c -- affinity and niceness belong to a thread: set by itself, by another, by attributes, and inherited.
// timeout: 30
#include "expect.h"
#include <sched.h>
#include <sys/resource.h>

static cpu_set_t all, one;
static int last_cpu;

static void expect_mask(const cpu_set_t* want) {
  cpu_set_t now;
  OK(pthread_getaffinity_np(pthread_self(), sizeof now, &now));
  EXPECT(CPU_EQUAL(&now, want));
  OK(sched_getaffinity(0, sizeof now, &now));
  EXPECT(CPU_EQUAL(&now, want));
  OK(sched_getaffinity(gettid(), sizeof now, &now));
  EXPECT(CPU_EQUAL(&now, want));
  pthread_attr_t a;
  OK(pthread_getattr_np(pthread_self(), &a));
  OK(pthread_attr_getaffinity_np(&a, sizeof now, &now));
  EXPECT(CPU_EQUAL(&now, want));
  OK(pthread_attr_destroy(&a));
}
static void expect_on_last(void) {
  for (int i = 0; i < 200; i++) {
    EXPECT_EQ(sched_getcpu(), last_cpu);
    if (i % 20 == 0) usleep(500);
    else sched_yield();
  }
}

static void* child_of_bound(void* a) {
  expect_mask(&one);
  expect_on_last();
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), (intptr_t)a);
  return NULL;
}
static void* binds_itself(void* a) {
  expect_mask(&all);
  if ((intptr_t)a) OK(sched_setaffinity(gettid(), sizeof one, &one));
  else OK(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
  expect_mask(&one);
  expect_on_last();
  pthread_t t;
  OK(pthread_create(&t, NULL, child_of_bound, NULL));
  OK(pthread_join(t, NULL));
  OK(sched_setaffinity(0, sizeof all, &all));
  expect_mask(&all);
  return NULL;
}

static int tid_of, stage;
static void* is_bound(void* a) {
  STORE(tid_of, gettid());
  if (a) while (LOAD(stage) == 0) {}          // running
  else while (LOAD(stage) == 0) usleep(1000);  // mostly asleep
  expect_mask(&one);
  expect_on_last();
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 7);
  return NULL;
}
static void by_another(void* running) {
  STORE(tid_of, 0);
  STORE(stage, 0);
  pthread_t t;
  OK(pthread_create(&t, NULL, is_bound, running));
  while (!LOAD(tid_of)) usleep(100);
  cpu_set_t none, got;
  CPU_ZERO(&none);
  EXPECT_EQ(pthread_setaffinity_np(t, sizeof none, &none), EINVAL);
  OK(pthread_setaffinity_np(t, sizeof one, &one));
  OK(pthread_getaffinity_np(t, sizeof got, &got));
  EXPECT(CPU_EQUAL(&got, &one));
  OK(sched_getaffinity(tid_of, sizeof got, &got));
  EXPECT(CPU_EQUAL(&got, &one));
  OK(setpriority(PRIO_PROCESS, (id_t)tid_of, 7));
  EXPECT_EQ(getpriority(PRIO_PROCESS, (id_t)tid_of), 7);
  STORE(stage, 1);
  OK(pthread_join(t, NULL));
}

static void* is_nice(void* a) {
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 0);
  EXPECT_EQ(nice(3), 3);
  EXPECT_EQ(nice(2), 5);
  EXPECT_EQ(getpriority(PRIO_PROCESS, (id_t)gettid()), 5);
  OK(sched_setaffinity(0, sizeof one, &one));
  pthread_t t;
  OK(pthread_create(&t, NULL, child_of_bound, (void*)5));
  OK(pthread_join(t, NULL));
  return a;
}
static void* is_ordinary(void* a) {
  for (int i = 0; i < 50; i++) {
    expect_mask(&all);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 0);
    usleep(1000);
  }
  return a;
}

int main(void) {
  OK(sched_getaffinity(0, sizeof all, &all));
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all)) last_cpu = i;
  CPU_ZERO(&one);
  CPU_SET(last_cpu, &one);
  pthread_t others[4], t;
  for (int i = 0; i < 4; i++) OK(pthread_create(&others[i], NULL, is_ordinary, NULL));
  for (intptr_t i = 0; i < 4; i++) {
    OK(pthread_create(&t, NULL, binds_itself, (void*)(i & 1)));
    OK(pthread_join(t, NULL));
  }
  OK(pthread_create(&t, NULL, is_nice, NULL));
  OK(pthread_join(t, NULL));
  by_another(NULL);
  by_another(&t);
  // By attributes, and what is wrong with them.
  pthread_attr_t a;
  OK(pthread_attr_init(&a));
  OK(pthread_attr_setaffinity_np(&a, sizeof one, &one));
  OK(pthread_create(&t, &a, child_of_bound, NULL));
  OK(pthread_join(t, NULL));
  cpu_set_t none;
  CPU_ZERO(&none);
  OK(pthread_attr_setaffinity_np(&a, sizeof none, &none));
  EXPECT_EQ(pthread_create(&t, &a, child_of_bound, NULL), EINVAL);
  OK(pthread_attr_destroy(&a));
  EXPECT_EQ(sched_setaffinity(0x3ffffff, sizeof one, &one), -1);
  EXPECT_EQ(errno, ESRCH);
  for (int i = 0; i < 4; i++) OK(pthread_join(others[i], NULL));
  expect_mask(&all);
  binds_itself(NULL);     // main, too
  return 0;
}
