// posix/pshared_protocols.c -- process-shared robust and inheriting mutexes hold across processes when threads other than main own them, even killed ones.
// timeout: 60
#include "expect.h"
#include <sys/mman.h>

enum { N = 3 };
static struct shm {
  pthread_mutex_t m[N];
  pthread_cond_t c;
  int holding, go;
} * S;

static void make(int robust, int protocol, int type) {
  pthread_mutexattr_t a;
  OK(pthread_mutexattr_init(&a));
  OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
  OK(pthread_mutexattr_setrobust(&a, robust));
  OK(pthread_mutexattr_setprotocol(&a, protocol));
  OK(pthread_mutexattr_settype(&a, type));
  for (int i = 0; i < N; i++) OK(pthread_mutex_init(&S->m[i], &a));
  OK(pthread_mutexattr_destroy(&a));
  S->holding = S->go = 0;
}

static void* nothing(void* a) { return a; }
static void* holds_all(void* a) {
  for (int i = 0; i < N; i++) {
    OK(pthread_mutex_lock(&S->m[i]));
    if (i == 0) sched_yield();  // it may be continued elsewhere only before it has one
  }
  OK(pthread_mutex_lock(&S->m[0]));  // recursive
  ADD(S->holding, 1);
  if (a) return a;
  for (;;) sleep_ms(1000);
}
static void* holds_one(void* a) {
  OK(pthread_mutex_lock(&S->m[(intptr_t)a]));
  ADD(S->holding, 1);
  for (;;) sleep_ms(1000);
}

static void take_over(void) {
  for (int i = 0; i < N; i++) {
    struct timespec t = ts_in(CLOCK_REALTIME, 10 * SEC);
    EXPECT_EQ(i & 1 ? pthread_mutex_lock(&S->m[i]) : pthread_mutex_timedlock(&S->m[i], &t), EOWNERDEAD);
    OK(pthread_mutex_consistent(&S->m[i]));
    OK(pthread_mutex_lock(&S->m[i]));
    OK(pthread_mutex_unlock(&S->m[i]));
    OK(pthread_mutex_unlock(&S->m[i]));
    OK(pthread_mutex_lock(&S->m[i]));
    OK(pthread_mutex_unlock(&S->m[i]));
  }
}
static void* take_over_too(void* a) {
  take_over();
  return a;
}

static pid_t child(void (*f)(void)) {
  pid_t p = (pid_t)SYS(fork());
  if (p) return p;
  watchdog(50);
  f();
  _exit(0);
}
static void one_thread_holds_all(void) { join(start(holds_all, NULL)); }
static void each_by_a_thread(void) {
  pthread_t t[N];
  for (int i = 0; i < N; i++) t[i] = start(holds_one, num(i));
  join(t[0]);
}
static void thread_ends_with_all(void) { join(start(holds_all, num(1))); }

static void killed(void (*f)(void), int n, int sig) {
  STORE(S->holding, 0);
  pid_t p = child(f);
  WAIT_UNTIL(LOAD(S->holding) == n);
  // A waiter that is already asleep is woken by the death.
  pthread_t w = start(take_over_too, NULL);
  sleep_ms(20);
  if (sig) kill(p, sig);
  int st;
  SYS(waitpid(p, &st, 0));
  join(w);
}

// Through a condition variable, both ways between two processes, from threads.
static void* plays(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < 200; i++) {
    OK(pthread_mutex_lock(&S->m[0]));
    while (S->go != me) OK(pthread_cond_wait(&S->c, &S->m[0]));
    S->go = !me;
    OK(pthread_cond_signal(&S->c));
    OK(pthread_mutex_unlock(&S->m[0]));
  }
  return NULL;
}
static void plays_1(void) { join(start(plays, num(1))); }

// Threads that held one are still themselves to everybody else, and free to move.
static pthread_mutex_t mine = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static void* mixes(void* a) {
  for (int i = 0; i < 100; i++) {
    OK(pthread_mutex_lock(&S->m[i % N]));
    OK(pthread_mutex_lock(&mine));
    EXPECT_EQ(pthread_mutex_lock(&mine), EDEADLK);
    if (i % 8 == 0) sched_yield();
    OK(pthread_mutex_unlock(&S->m[i % N]));
    OK(pthread_mutex_unlock(&mine));
    EXPECT_EQ(pthread_mutex_unlock(&S->m[i % N]), EPERM);
    int e = pthread_mutex_trylock(&S->m[i % N]);
    if (e == 0) OK(pthread_mutex_unlock(&S->m[i % N]));
    else EXPECT_EQ(e, EBUSY);
  }
  return a;
}

int main(void) {
  watchdog(55);
  S = (struct shm*)mmap(NULL, sizeof *S, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(S != MAP_FAILED);
  pthread_condattr_t ca;
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
  OK(pthread_cond_init(&S->c, &ca));
  join(start(nothing, NULL));
  static const int protocols[] = {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT};
  for (int i = 0; i < 2; i++) {
    make(PTHREAD_MUTEX_ROBUST, protocols[i], PTHREAD_MUTEX_RECURSIVE);
    killed(one_thread_holds_all, 1, SIGKILL);
    killed(each_by_a_thread, N, SIGKILL);
    killed(one_thread_holds_all, 1, SIGTERM);
    killed(thread_ends_with_all, 1, 0);
    pid_t p = child(plays_1);
    join(start(plays, num(0)));
    reap_ok(p);
    for (int robust = 0; robust < 2; robust++) {
      make(robust, protocols[i], PTHREAD_MUTEX_ERRORCHECK);
      pthread_t t[8];
      for (int j = 0; j < 8; j++) t[j] = start(mixes, NULL);
      for (int j = 0; j < 8; j++) join(t[j]);
    }
    make(PTHREAD_MUTEX_STALLED, protocols[i], PTHREAD_MUTEX_NORMAL);
    p = child(plays_1);
    join(start(plays, num(0)));
    reap_ok(p);
  }
  return 0;
}
