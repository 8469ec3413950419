// posix/thread_races.c -- join, tryjoin, timed join, detach, kill and cancel meet a thread's end in every order, and each thread is given back once.
// timeout: 60
#include "expect.h"

static void* ends(void* a) {
  switch ((intptr_t)a % 4) {
    case 0: break;
    case 1: sched_yield(); break;
    case 2: usleep(50); break;
    case 3: pthread_exit(a);
  }
  return a;
}

// Who detaches races the end: no error, whichever comes first.
static void* detached_twice(void* a) {
  if ((intptr_t)a & 1) sched_yield();
  (void)pthread_detach(pthread_self());  // EINVAL if the other was first
  return NULL;
}

struct target { pthread_t t; sem_t go; };
static void* waits_go(void* a) {
  while (sem_wait(&((struct target*)a)->go) == -1) EXPECT_EQ(errno, EINTR);
  return num(42);
}

// A joiner that is cancelled leaves the thread to the next.
static void* joins_it(void* a) {
  pthread_join(((struct target*)a)->t, NULL);
  return NULL;
}

// Who is signalled by several at once just when it ends, and not joined yet, exists for all of them.
static pthread_barrier_t named, sent;
static pthread_t target;
static int done;
static void* names_itself(void* a) {
  target = pthread_self();
  pthread_barrier_wait(&named);
  return a;
}
static void* sends(void* a) {
  for (;;) {
    pthread_barrier_wait(&named);
    if (LOAD(done)) return a;
    OK(pthread_kill(target, SIGUSR2));
    pthread_barrier_wait(&sent);
  }
}
static void signalled_at_end(void) {
  enum { S = 4 };
  signal(SIGUSR2, SIG_IGN);
  OK(pthread_barrier_init(&named, NULL, S + 2));
  OK(pthread_barrier_init(&sent, NULL, S + 1));
  pthread_t s[S], t;
  for (int i = 0; i < S; i++) s[i] = start(sends, NULL);
  for (int64_t end = now_ns() + 500 * MS; !done;) {
    if (now_ns() >= end) STORE(done, 1);
    t = start(names_itself, NULL);
    pthread_barrier_wait(&named);
    if (!done) pthread_barrier_wait(&sent);
    join(t);
  }
  for (int i = 0; i < S; i++) join(s[i]);
}

static int hits;
static void handler(int s) { ADD(hits, s != 0); }
static void* is_signalled(void* a) {
  for (int i = 0; i < (intptr_t)a % 50; i++) sched_yield();
  return a;
}

int main(void) {
  watchdog(55);
  for (int i = 0; i < 600; i++) {
    void* r = NULL;
    pthread_t t = start(ends, num(i));
    int e;
    switch (i % 5) {
      case 0: OK(pthread_join(t, &r)); break;
      case 1:
        while ((e = pthread_tryjoin_np(t, &r)) == EBUSY) sched_yield();
        OK(e);
        break;
      case 2:
        for (;;) {
          struct timespec lim = ts_in(CLOCK_MONOTONIC, 20000);
          if ((e = pthread_clockjoin_np(t, &r, CLOCK_MONOTONIC, &lim)) != ETIMEDOUT) break;
        }
        OK(e);
        break;
      case 3: OK(pthread_detach(t)); r = num(i); break;
      case 4:
        usleep(100);  // most have ended by now
        EXPECT_EQ(pthread_kill(t, 0), 0);
        OK(pthread_cancel(t));
        OK(pthread_join(t, &r));
        if (r == PTHREAD_CANCELED) r = num(i);
        break;
    }
    EXPECT_EQ(r, i);
  }

  for (int i = 0; i < 300; i++) {
    pthread_t t = start(detached_twice, num(i));
    if (i & 2) sched_yield();
    int e = i & 4 ? pthread_detach(t) : EINVAL;  // it may be gone already only if it was the first
    EXPECT(e == 0 || e == EINVAL || e == ESRCH);
  }

  for (int i = 0; i < 100; i++) {
    struct target c = {0};
    OK(sem_init(&c.go, 0, 0));
    c.t = start(waits_go, &c);
    pthread_t j = start(joins_it, &c);
    if (i % 3 == 0) usleep(200);
    if (i % 3 == 1) sched_yield();
    OK(pthread_cancel(j));
    EXPECT(join(j) == PTHREAD_CANCELED);
    SYS(sem_post(&c.go));
    EXPECT_EQ(join(c.t), 42);
  }

  struct sigaction sa = {.sa_handler = handler};
  SYS(sigaction(SIGUSR1, &sa, NULL));
  for (int i = 0; i < 200; i++) {
    pthread_t t = start(is_signalled, num(i));
    for (int k = 0; k < 20; k++) OK(pthread_kill(t, k % 4 ? SIGUSR1 : 0));  // not joined: it exists, ended or not
    EXPECT_EQ(join(t), i);
  }
  signalled_at_end();
  return 0;
}
