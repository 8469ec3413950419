// posix/timer_thread.c -- timers of one thread: SIGEV_THREAD_ID finds it wherever it is, its CPU-time timer counts nobody else's time.
// timeout: 30
#include "expect.h"
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { T = 4, SHOTS = 10 };
static __thread int me;
static int got[T + 1], wrong, stop, cpu_fired;

static void on_timer(int sig, siginfo_t* si, void* uc) {
  if (si->si_code != SI_TIMER || si->si_value.sival_int != me) ADD(wrong, 1);
  ADD(got[me], 1);
}
static void on_cpu(int sig, siginfo_t* si, void* uc) {
  if (si->si_value.sival_int != me) ADD(wrong, 1);
  ADD(cpu_fired, 1);
}

static timer_t make(int tid, int value) {
  struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3, .sigev_value.sival_int = value};
  ev.sigev_notify_thread_id = tid;
  timer_t t;
  OK(timer_create(CLOCK_MONOTONIC, &ev, &t));
  struct itimerspec its = {{0, 3000000}, {0, 3000000}};
  OK(timer_settime(t, 0, &its, NULL));
  return t;
}
static void* thread(void* a) {
  me = (int)(intptr_t)a;
  timer_t t = make(gettid(), me);
  volatile unsigned long n = 0;
  while (LOAD(got[me]) < SHOTS) {
    if (me == 1) n++;                // computing
    else if (me == 2) sched_yield();
    else if (me == 3) usleep(1000000);  // asleep: the signal ends it
    else pause();
  }
  OK(timer_delete(t));
  return NULL;
}
// It blocks the signal and waits for it.
static void* waiter(void* a) {
  sigset_t s;
  siginfo_t si;
  sigemptyset(&s);
  sigaddset(&s, SIGRTMIN + 3);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  me = 77;
  timer_t t = make((int)syscall(SYS_gettid), 77);
  for (int i = 0; i < SHOTS; i++) {
    EXPECT_EQ(sigwaitinfo(&s, &si), SIGRTMIN + 3);
    EXPECT_EQ(si.si_value.sival_int, 77);
  }
  OK(timer_delete(t));
  return a;
}
static void* burns(void* a) {
  volatile unsigned long n = 0;
  while (!LOAD(stop)) n++;
  return a;
}
static void* cpu_timer(void* a) {
  me = 50;
  struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 4, .sigev_value.sival_int = 50};
  ev.sigev_notify_thread_id = gettid();
  timer_t t;
  OK(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &t));
  struct itimerspec its = {{0, 0}, {0, 20000000}};
  OK(timer_settime(t, 0, &its, NULL));
  usleep(100000);  // others burn, this one does not
  EXPECT_EQ(LOAD(cpu_fired), 0);
  volatile unsigned long n = 0;
  while (!LOAD(cpu_fired)) n++;
  EXPECT_EQ(LOAD(cpu_fired), 1);
  OK(timer_delete(t));
  return a;
}

int main(void) {
  struct sigaction sa = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
  OK(sigaction(SIGRTMIN + 3, &sa, NULL));
  sa.sa_sigaction = on_cpu;
  OK(sigaction(SIGRTMIN + 4, &sa, NULL));
  pthread_t t[T], w, b[2], c;
  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, thread, (void*)(i + 1)));
  OK(pthread_create(&w, NULL, waiter, NULL));
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  OK(pthread_join(w, NULL));
  for (int i = 0; i < 2; i++) OK(pthread_create(&b[i], NULL, burns, NULL));
  OK(pthread_create(&c, NULL, cpu_timer, NULL));
  OK(pthread_join(c, NULL));
  STORE(stop, 1);
  for (int i = 0; i < 2; i++) OK(pthread_join(b[i], NULL));
  EXPECT_EQ(LOAD(wrong), 0);
  struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3};
  ev.sigev_notify_thread_id = 0x3ffffff;
  timer_t x;
  EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &ev, &x), -1);
  EXPECT_EQ(errno, EINVAL);
  return 0;
}
