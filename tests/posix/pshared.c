// posix/pshared.c -- process-shared mutexes, condition variables, semaphores, rwlocks and barriers in shared memory hold between processes and their threads.
// timeout: 60
#include "expect.h"
#include <sys/mman.h>

struct shm {
  pthread_mutex_t m, robust;
  pthread_cond_t c;
  pthread_rwlock_t rw;
  pthread_barrier_t b;
  sem_t s, back;
  int turn, inside, ready;
  long counter, rw_counter, serial;
} * S;

enum { PROCS = 3, THREADS = 4, ROUNDS = 200 };

static void* counts(void* a) {
  for (int i = 0; i < ROUNDS; i++) {
    OK(pthread_mutex_lock(&S->m));
    EXPECT_EQ(ADD(S->inside, 1), 1);
    long c = S->counter;
    if (i % 16 == 0) sched_yield();
    if (i % 64 == 0) usleep(100);
    S->counter = c + 1;
    ADD(S->inside, -1);
    OK(pthread_mutex_unlock(&S->m));
    OK(pthread_rwlock_wrlock(&S->rw));
    S->rw_counter++;
    OK(pthread_rwlock_unlock(&S->rw));
    OK(pthread_rwlock_rdlock(&S->rw));
    EXPECT(S->rw_counter > 0);
    OK(pthread_rwlock_unlock(&S->rw));
  }
  for (int i = 0; i < 20; i++)
    if (pthread_barrier_wait(&S->b) == PTHREAD_BARRIER_SERIAL_THREAD) ADD(S->serial, 1);
  return a;
}
static void crowd(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) t[i] = start(counts, NULL);
  for (int i = 0; i < THREADS; i++) join(t[i]);
}

static void ping(int me) {
  for (int i = 0; i < 500; i++) {
    OK(pthread_mutex_lock(&S->m));
    while (S->turn != me) OK(pthread_cond_wait(&S->c, &S->m));
    S->turn = !me;
    OK(pthread_cond_broadcast(&S->c));
    OK(pthread_mutex_unlock(&S->m));
  }
}

// A waiter on a process-shared object must not stop the other threads of its process.
static int ticks, quit;
static void* ticker(void* a) {
  while (!LOAD(quit)) {
    ADD(ticks, 1);
    sleep_ms(1);
  }
  return a;
}

static void* ping_thread(void* a) {
  ping((int)(intptr_t)a);
  return NULL;
}

int main(void) {
  watchdog(55);
  S = (struct shm*)mmap(NULL, sizeof *S, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(S != MAP_FAILED);
  pthread_mutexattr_t ma;
  OK(pthread_mutexattr_init(&ma));
  OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
  OK(pthread_mutex_init(&S->m, &ma));
  OK(pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST));
  OK(pthread_mutex_init(&S->robust, &ma));
  pthread_condattr_t ca;
  OK(pthread_condattr_init(&ca));
  OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
  OK(pthread_cond_init(&S->c, &ca));
  pthread_rwlockattr_t ra;
  OK(pthread_rwlockattr_init(&ra));
  OK(pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED));
  OK(pthread_rwlock_init(&S->rw, &ra));
  pthread_barrierattr_t ba;
  OK(pthread_barrierattr_init(&ba));
  OK(pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED));
  OK(pthread_barrier_init(&S->b, &ba, PROCS * THREADS));
  OK(sem_init(&S->s, 1, 0));
  OK(sem_init(&S->back, 1, 0));

  // Several processes, each with threads, on the same objects.
  pid_t pid[PROCS];
  for (int i = 1; i < PROCS; i++)
    if ((pid[i] = (pid_t)SYS(fork())) == 0) {
      watchdog(50);
      crowd();
      _exit(0);
    }
  crowd();
  for (int i = 1; i < PROCS; i++) reap_ok(pid[i]);
  EXPECT_EQ(S->counter, PROCS * THREADS * ROUNDS);
  EXPECT_EQ(S->rw_counter, PROCS * THREADS * ROUNDS);
  EXPECT_EQ(S->serial, 20);

  // Ping-pong over condition variable and semaphores; here from a thread, while another thread ticks.
  pthread_t tick = start(ticker, NULL);
  if ((pid[0] = (pid_t)SYS(fork())) == 0) {
    watchdog(50);
    ping(1);
    for (int i = 0; i < 500; i++) {
      while (sem_wait(&S->s) == -1) EXPECT_EQ(errno, EINTR);
      SYS(sem_post(&S->back));
    }
    // Now hold the mutex for a while, then post.
    OK(pthread_mutex_lock(&S->m));
    STORE(S->ready, 1);
    sleep_ms(300);
    OK(pthread_mutex_unlock(&S->m));
    sleep_ms(100);
    SYS(sem_post(&S->s));
    _exit(0);
  }
  join(start(ping_thread, num(0)));
  for (int i = 0; i < 500; i++) {
    SYS(sem_post(&S->s));
    while (sem_wait(&S->back) == -1) EXPECT_EQ(errno, EINTR);
  }
  WAIT_UNTIL(LOAD(S->ready));
  struct timespec t = ts_in(CLOCK_REALTIME, 30 * MS);
  EXPECT_EQ(pthread_mutex_timedlock(&S->m, &t), ETIMEDOUT);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), t.tv_sec * SEC + t.tv_nsec);
  int t0 = LOAD(ticks);
  OK(pthread_mutex_lock(&S->m));
  OK(pthread_mutex_unlock(&S->m));
  while (sem_wait(&S->s) == -1) EXPECT_EQ(errno, EINTR);
  EXPECT_GE(LOAD(ticks) - t0, 20);
  STORE(quit, 1);
  join(tick);
  reap_ok(pid[0]);

  // A process that dies with a robust mutex: the other is told.
  if ((pid[0] = (pid_t)SYS(fork())) == 0) {
    OK(pthread_mutex_lock(&S->robust));
    _exit(0);
  }
  reap_ok(pid[0]);
  EXPECT_EQ(pthread_mutex_lock(&S->robust), EOWNERDEAD);
  OK(pthread_mutex_consistent(&S->robust));
  OK(pthread_mutex_unlock(&S->robust));
  return 0;
}
