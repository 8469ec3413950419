// posix/semaphore_named.c -- named semaphores count between processes and their threads; opening, closing and unlinking follow the name.
// timeout: 30
#include "expect.h"
#include <sys/mman.h>

enum { PROCS = 3, THREADS = 4, ROUNDS = 100 };
static char name[64], other[64];
static int (*inside)[2];

static void* works(void* a) {
  sem_t* s = sem_open(name, 0);
  EXPECT(s != SEM_FAILED);
  for (int i = 0; i < ROUNDS; i++) {
    struct timespec t = ts_in(CLOCK_MONOTONIC, 20 * SEC);
    if (i & 1) SYS(sem_clockwait(s, CLOCK_MONOTONIC, &t));
    else while (sem_wait(s) == -1) EXPECT_EQ(errno, EINTR);
    EXPECT_LE(ADD((*inside)[0], 1), 2);
    if (i % 8 == 0) sched_yield();
    if (i % 32 == 0) usleep(100);
    ADD((*inside)[0], -1);
    ADD((*inside)[1], 1);
    SYS(sem_post(s));
  }
  SYS(sem_close(s));
  return a;
}
static void crowd(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) t[i] = start(works, NULL);
  for (int i = 0; i < THREADS; i++) join(t[i]);
}

static int hits, ticks, stop;
static void handler(int s) { ADD(hits, s != 0); }
static void* ticks_on(void* a) {
  while (!LOAD(stop)) {
    ADD(ticks, 1);
    sleep_ms(1);
  }
  return a;
}
static void* is_interrupted(void* a) {
  FAILS(sem_wait((sem_t*)a), EINTR);
  return a;
}

int main(void) {
  watchdog(25);
  inside = (int(*)[2])mmap(NULL, sizeof *inside, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  snprintf(name, sizeof name, "/expect-named-%d", (int)getpid());
  snprintf(other, sizeof other, "/expect-other-%d", (int)getpid());
  sem_t* s = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
  if (s == SEM_FAILED && (errno == ENOSYS || errno == EACCES || errno == ENOENT)) skip("no shared memory here");
  EXPECT(s != SEM_FAILED);
  EXPECT(sem_open(name, O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED && errno == EEXIST);
  EXPECT(sem_open(other, 0) == SEM_FAILED && errno == ENOENT);
  EXPECT(sem_open(other, O_CREAT, 0600, (unsigned)SEM_VALUE_MAX + 1) == SEM_FAILED && errno == EINVAL);
  EXPECT(sem_open(name, O_CREAT, 0600, 7) == s);  // it is there already
  SYS(sem_close(s));

  pid_t pid[PROCS];
  for (int i = 1; i < PROCS; i++)
    if ((pid[i] = (pid_t)SYS(fork())) == 0) {
      watchdog(20);
      crowd();
      _exit(0);
    }
  crowd();
  for (int i = 1; i < PROCS; i++) reap_ok(pid[i]);
  EXPECT_EQ((*inside)[1], PROCS * THREADS * ROUNDS);
  int v;
  SYS(sem_getvalue(s, &v));
  EXPECT_EQ(v, 2);

  // A wait in one thread lets the others run, and ends with a handler.
  SYS(sem_trywait(s));
  SYS(sem_trywait(s));
  FAILS(sem_trywait(s), EAGAIN);
  struct sigaction sa = {.sa_handler = handler};
  SYS(sigaction(SIGUSR1, &sa, NULL));
  pthread_t t = start(ticks_on, NULL), w = start(is_interrupted, s);
  struct timespec lim = ts_in(CLOCK_REALTIME, 150 * MS);
  FAILS(sem_timedwait(s, &lim), ETIMEDOUT);
  EXPECT_GE(LOAD(ticks), 5);
  while (pthread_tryjoin_np(w, NULL) == EBUSY) {
    OK(pthread_kill(w, SIGUSR1));
    sleep_ms(2);
  }
  STORE(stop, 1);
  join(t);

  // Unlinked: the name is free for another, the semaphore lives until it is closed.
  SYS(sem_unlink(name));
  FAILS(sem_unlink(name), ENOENT);
  sem_t* fresh = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  EXPECT(fresh != SEM_FAILED && fresh != s);
  SYS(sem_unlink(name));
  SYS(sem_post(s));
  SYS(sem_trywait(s));
  FAILS(sem_trywait(fresh), EAGAIN);
  SYS(sem_close(fresh));
  SYS(sem_close(s));
  return 0;
}
