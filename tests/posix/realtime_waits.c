// posix/realtime_waits.c -- real-time threads wait for each other and for ordinary ones in every way, change their policy meanwhile, fork and end.
// timeout: 60
#include "realtime.h"

enum { ROUNDS = 300 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t asked, answered;
static int ball, pipes[2][2], woken;

// Two of them pass the ball; whose it is changes by condition variable.
static void* plays(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < ROUNDS; i++) {
    OK(pthread_mutex_lock(&mutex));
    while (ball != me) OK(pthread_cond_wait(&cond, &mutex));
    ball = !me;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    if (i % 50 == 0) set_policy(pthread_self(), i % 100 ? SCHED_OTHER : SCHED_FIFO, i % 100 ? 0 : 3);
  }
  return a;
}
static void* echoes(void* a) {
  char c;
  while (SYS(read(pipes[0][0], &c, 1)) == 1) EXPECT_EQ(write(pipes[1][1], &c, 1), 1);
  return a;
}
static void* answers(void* a) {
  for (int i = 0; i < ROUNDS; i++) {
    SYS(sem_wait(&asked));
    if (i % 10 == 0) usleep(200);
    SYS(sem_post(&answered));
    sched_yield();
  }
  return a;
}
static void* naps(void* a) {
  for (int i = 0; i < 20; i++) {
    int64_t t = now_ns();
    sleep_ms(3);
    EXPECT_GE(now_ns() - t, 3 * MS);
    struct timespec at = ts_in(CLOCK_MONOTONIC, 2 * MS);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    sem_t never;
    SYS(sem_init(&never, 0, 0));
    FAILS(sem_clockwait(&never, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    EXPECT_GE(now_ns(), (int64_t)at.tv_sec * SEC + at.tv_nsec);
    at = ts_in(CLOCK_REALTIME, 2 * MS);
    FAILS(sem_timedwait(&never, &at), ETIMEDOUT);
    EXPECT_GE(clock_ns(CLOCK_REALTIME), (int64_t)at.tv_sec * SEC + at.tv_nsec);
  }
  return a;
}
static void handles(int s) { (void)s; }
static void* interrupted(void* a) {
  struct timespec t = ts_of(30 * SEC);
  EXPECT_EQ(nanosleep(&t, NULL), -1);
  EXPECT_EQ(errno, EINTR);
  STORE(woken, 1);
  return a;
}
static void* cancelled(void* a) {
  for (;;) pause();
  return a;
}
static void* forks(void* a) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    int policy;
    struct sched_param p;
    OK(pthread_getschedparam(pthread_self(), &policy, &p));
    EXPECT_EQ(policy, SCHED_FIFO);
    EXPECT_EQ(p.sched_priority, 4);
    OK(pthread_mutex_init(&mutex, NULL));
    OK(pthread_cond_init(&cond, NULL));
    ball = 0;
    pthread_t x = start(plays, num(0)), y = start_fifo(plays, num(1), 2);
    join(x);
    join(y);
    _exit(0);
  }
  reap_ok(pid);
  return a;
}

int main(void) {
  watchdog(50);
  SYS(sem_init(&asked, 0, 0));
  SYS(sem_init(&answered, 0, 0));
  signal(SIGUSR1, handles);
  for (int round = 0; round < 5; round++) {
    SYS(pipe(pipes[0]));
    SYS(pipe(pipes[1]));
    ball = 0;
    pthread_t t[] = {start_fifo(plays, num(0), 5), round % 2 ? start(plays, num(1)) : start_fifo(plays, num(1), 6),
                     start_fifo(answers, NULL, 7),  start_fifo(naps, NULL, 8),  start_fifo(forks, NULL, 4)};
    pthread_t e = start_fifo(echoes, NULL, 9), i = start_fifo(interrupted, NULL, 3), c = start_fifo(cancelled, NULL, 3);
    for (int k = 0; k < ROUNDS; k++) {
      char b = (char)k, r = 0;
      EXPECT_EQ(write(pipes[0][1], &b, 1), 1);
      EXPECT_EQ(read(pipes[1][0], &r, 1), 1);
      EXPECT_EQ(r, b);
      SYS(sem_post(&asked));
      SYS(sem_wait(&answered));
      if (k % 100 == 50) set_policy(t[2], k % 200 == 50 ? SCHED_RR : SCHED_OTHER, k % 200 == 50 ? 2 : 0);
    }
    for (; !LOAD(woken); sleep_ms(1)) OK(pthread_kill(i, SIGUSR1));
    STORE(woken, 0);
    OK(pthread_cancel(c));
    for (unsigned k = 0; k < sizeof t / sizeof *t; k++) join(t[k]);
    join(i);
    void* r;
    OK(pthread_join(c, &r));
    EXPECT(r == PTHREAD_CANCELED);
    close(pipes[0][1]);
    join(e);
    close(pipes[0][0]), close(pipes[1][0]), close(pipes[1][1]);
  }
  return 0;
}
