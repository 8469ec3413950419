// posix/thread_queries.c -- what a thread may ask about itself, other threads and the machine has one answer wherever it runs.
// timeout: 30
#include "expect.h"

static sem_t go;
static clockid_t main_clock;
static int64_t cpu_res(clockid_t c) {
  struct timespec t = {9, 9};
  SYS(clock_getres(c, &t));
  return t.tv_sec * SEC + t.tv_nsec;
}
static void burn(int64_t ns) {
  for (int64_t end = now_ns() + ns; now_ns() < end;) {
  }
}
static volatile int spin = 1;
static void* works(void* a) {
  while (spin) {
  }
  return a;
}
static void* rests(void* a) {
  while (sem_wait(&go) == -1) EXPECT_EQ(errno, EINTR);
  return a;
}

// To kill and sigqueue a thread's id is its process's: whoever has the signal open gets it.
static int signalled;
static void on_signal(int s) {
  (void)s;
  EXPECT_EQ(gettid(), getpid());
  signalled++;
}
static pid_t other;
static void* blocks_it(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  STORE(other, gettid());
  return rests(a);
}
static void names_process(void) {
  signal(SIGUSR1, on_signal);
  pthread_t t = start(blocks_it, NULL);
  WAIT_UNTIL(LOAD(other));
  SYS(kill(other, 0));
  SYS(kill(other, SIGUSR1));
  WAIT_UNTIL(LOAD(signalled) == 1);
  SYS(sigqueue(other, SIGUSR1, (union sigval){0}));
  WAIT_UNTIL(LOAD(signalled) == 2);
  SYS(syscall(SYS_kill, other, SIGUSR1));
  WAIT_UNTIL(LOAD(signalled) == 3);
  SYS(sem_post(&go));
  join(t);
}

static pthread_t main_thread;
static void* asks(void* a) {
  pthread_t me = pthread_self();
  pid_t tid = gettid();
  EXPECT(pthread_equal(me, me) && !pthread_equal(me, main_thread));
  EXPECT(tid != getpid());
  clockid_t mine;
  OK(pthread_getcpuclockid(me, &mine));
  EXPECT(mine != main_clock);
  EXPECT_EQ(cpu_res(mine), 1);
  EXPECT_EQ(cpu_res(main_clock), 1);
  for (int i = 0; i < 50; i++) {
    // By whichever name, its own clock is the same one and goes on.
    int64_t x = clock_ns(CLOCK_THREAD_CPUTIME_ID), y = clock_ns(mine), z = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    EXPECT(x <= y && y <= z);
    EXPECT(pthread_self() == me);
    EXPECT_EQ(gettid(), tid);
    EXPECT_EQ(syscall(SYS_gettid), tid);
    int cpu = sched_getcpu();
    EXPECT(cpu >= 0 && cpu < sysconf(_SC_NPROCESSORS_CONF));
    i & 1 ? sched_yield() : usleep(50);
  }
  struct timespec q;
  SYS(sched_rr_get_interval(0, &q));
  return a;
}

// Seen from outside: who works, works; who rests, rests; also main, which another asks about.
static void* asks_about_main(void* a) {
  int64_t before = clock_ns(main_clock);
  burn(60 * MS);  // main waits for this thread meanwhile
  EXPECT_LE(clock_ns(main_clock) - before, 40 * MS);
  return a;
}

int main(void) {
  watchdog(25);
  main_thread = pthread_self();
  OK(sem_init(&go, 0, 0));
  OK(pthread_getcpuclockid(main_thread, &main_clock));
  EXPECT_EQ(gettid(), getpid());
  enum { N = 8 };
  pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(asks, NULL);
  for (int i = 0; i < N; i++) join(t[i]);
  join(start(asks_about_main, NULL));

  names_process();
  clockid_t w, r;
  t[0] = start(works, NULL);
  t[1] = start(rests, NULL);
  OK(pthread_getcpuclockid(t[0], &w));
  OK(pthread_getcpuclockid(t[1], &r));
  int64_t w0 = clock_ns(w);
  for (int64_t end = now_ns() + 10 * SEC; clock_ns(w) - w0 < 50 * MS;) {
    EXPECT(now_ns() < end);
    sleep_ms(5);
  }
  EXPECT_LE(clock_ns(r), 20 * MS);
  EXPECT_EQ(cpu_res(w), 1);
  spin = 0;
  SYS(sem_post(&go));
  join(t[0]);
  join(t[1]);

  // Of the machine.
  EXPECT_EQ(sched_get_priority_min(SCHED_FIFO), 1);
  EXPECT_EQ(sched_get_priority_max(SCHED_RR), 99);
  EXPECT_EQ(sched_get_priority_max(SCHED_OTHER), 0);
  FAILS(sched_get_priority_min(77), EINVAL);
  cpu_set_t* s = CPU_ALLOC(1000);
  size_t n = CPU_ALLOC_SIZE(1000);
  CPU_ZERO_S(n, s);
  CPU_SET_S(0, n, s);
  CPU_SET_S(999, n, s);
  EXPECT_EQ(CPU_COUNT_S(n, s), 2);
  CPU_FREE(s);
  EXPECT_EQ(pthread_getconcurrency(), 0);
  OK(pthread_setconcurrency(4));
  EXPECT_EQ(pthread_getconcurrency(), 4);
  EXPECT_EQ(pthread_setconcurrency(-1), EINVAL);
  return 0;
}
