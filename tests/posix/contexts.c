// posix/contexts.c -- ucontext in threads: coroutines with masks of their own that block and wake elsewhere, handlers that switch between them, uc_link.
// timeout: 60
#include "expect.h"
#include <ucontext.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { T = 3, C = 3, STACK = 64 << 10, SWITCHES = 60 };
static void new_stack(ucontext_t* u, ucontext_t* link) {
  OK(getcontext(u));
  u->uc_stack.ss_sp = malloc(STACK);
  u->uc_stack.ss_size = STACK;
  u->uc_link = link;
}
static int blocked(int sig) {
  sigset_t s;
  OK(pthread_sigmask(SIG_BLOCK, NULL, &s));
  return sigismember(&s, sig);
}
static void set(int how, int sig) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, sig);
  OK(pthread_sigmask(how, &s, NULL));
}

// ---- by their own will ----
static __thread ucontext_t back, inner;
static __thread int sum, usr2;
static void on_usr2(int sig) { usr2++; }
static void adds(int a, int b, int c, int d, int e, int f, int g, int h) {
  sum += a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
  EXPECT(blocked(SIGUSR2));  // as when the context was made
  for (int i = 0; i < 5; i++) {
    OK(swapcontext(&inner, &back));
    EXPECT(blocked(SIGUSR2));
    EXPECT_EQ(usr2, i);  // it came when the other side opened it
    OK(raise(SIGUSR2));
    EXPECT_EQ(usr2, i);
    usleep(500);
  }
}
static void* by_will(void* a) {
  set(SIG_BLOCK, SIGUSR2);
  new_stack(&inner, &back);
  makecontext(&inner, (void (*)())adds, 8, 1, 1, 1, 1, 1, 1, 1, (int)(intptr_t)a);
  set(SIG_UNBLOCK, SIGUSR2);
  volatile int turns = 0;
  for (turns = 0; turns < 6; turns++) {
    EXPECT(!blocked(SIGUSR2));
    OK(swapcontext(&back, &inner));
    EXPECT_EQ(usr2, turns);
    sched_yield();
  }
  EXPECT_EQ(sum, 28 + 8 * (int)(intptr_t)a);
  free(inner.uc_stack.ss_sp);
  // one context, entered twice
  ucontext_t here;
  volatile int times = 0;
  OK(getcontext(&here));
  if (++times < 3) setcontext(&here);
  EXPECT_EQ(times, 3);
  return NULL;
}

// ---- in a handler, by a timer of the thread's ----
struct sched { ucontext_t c[C], start; volatile int cur, switches; volatile long work[C]; };
static __thread struct sched* mine;
static void on_turn(int sig) {
  struct sched* s = mine;
  int was = s->cur;
  if (was < 0) return;
  if (++s->switches == SWITCHES) {
    s->cur = -1;
    swapcontext(&s->c[was], &s->start);
  } else {
    s->cur = (was + 1) % C;
    swapcontext(&s->c[was], &s->c[s->cur]);
  }
}
static void computes(int i) {
  set(SIG_UNBLOCK, SIGUSR1);
  for (;;) mine->work[i]++;
}
static void* by_timer(void* a) {
  struct sched* s = mine = calloc(1, sizeof *s);
  set(SIG_BLOCK, SIGUSR1);
  for (int i = 0; i < C; i++) {
    new_stack(&s->c[i], NULL);
    makecontext(&s->c[i], (void (*)())computes, 1, i);
  }
  struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  ev.sigev_notify_thread_id = gettid();
  timer_t t;
  OK(timer_create(CLOCK_MONOTONIC, &ev, &t));
  struct itimerspec its = {{0, 2000000}, {0, 2000000}};
  OK(timer_settime(t, 0, &its, NULL));
  OK(swapcontext(&s->start, &s->c[0]));
  OK(timer_delete(t));
  EXPECT(blocked(SIGUSR1));
  for (int i = 0; i < C; i++) EXPECT(s->work[i] > 0);
  return a;
}
static void ends(void) { usleep(1000); }
static void* without_link(void* a) {  // the end of such a context is the process's
  new_stack(&inner, NULL);
  makecontext(&inner, ends, 0);
  setcontext(&inner);
  return a;
}

int main(void) {
  signal(SIGUSR1, on_turn);
  signal(SIGUSR2, on_usr2);
  pthread_t t[2 * T];
  for (intptr_t i = 0; i < 2 * T; i++) OK(pthread_create(&t[i], NULL, i & 1 ? by_will : by_timer, (void*)i));
  for (int i = 0; i < 2 * T; i++) OK(pthread_join(t[i], NULL));
  OK(pthread_create(&t[0], NULL, without_link, NULL));
  pause();
  return 1;
}
