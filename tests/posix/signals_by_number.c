// posix/signals_by_number.c -- calls by number that wait for signals, or under a mask of their own, do what the functions of their names do, in every thread.
#include "expect.h"
#include <sys/epoll.h>
#include <sys/select.h>

static int got;
static void on_usr1(int sig) { ADD(got, 1); }
static void* kills(void* a) {
  usleep(20000);
  OK(pthread_kill(*(pthread_t*)a, SIGUSR1));
  return NULL;
}
// SIGUSR1 comes while `call` waits: its result, and how often the handler ran.
#define WAITS(call, result, error, ran) do { \
    pthread_t killer, me = pthread_self(); \
    STORE(got, 0); \
    OK(pthread_create(&killer, NULL, kills, &me)); \
    errno = 0; \
    EXPECT_EQ((long)(call), result); \
    EXPECT_EQ(errno, error); \
    EXPECT_EQ(LOAD(got), ran); \
    OK(pthread_join(killer, NULL)); \
  } while (0)

static void* all(void* a) {
  uint64_t none = 0, pending = 0;
  struct { void* mask; size_t size; } sixth = {&none, 8};
  struct pollfd p = {-1, 0, 0};
  struct epoll_event ev;
  struct timespec t = {10, 0};
  struct timeval tv = {0, 1000};
  siginfo_t si;
  sigset_t usr1;
  int ep = epoll_create1(0);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  OK(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
  WAITS(syscall(SYS_ppoll, &p, 1, &t, &none, 8), -1, EINTR, 1);
  t = (struct timespec){10, 0};
  WAITS(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &t, &sixth), -1, EINTR, 1);
  WAITS(syscall(SYS_epoll_pwait, ep, &ev, 1, 10000, &none, 8), -1, EINTR, 1);
  WAITS(syscall(SYS_rt_sigsuspend, &none, 8), -1, EINTR, 1);
  t = (struct timespec){10, 0};
  WAITS(syscall(SYS_rt_sigtimedwait, &usr1, &si, &t, 8), SIGUSR1, 0, 0);
  EXPECT_EQ(si.si_pid, getpid());
  WAITS(syscall(SYS_rt_sigtimedwait, &usr1, NULL, NULL, 8), SIGUSR1, 0, 0);
  OK(raise(SIGUSR1));
  OK(syscall(SYS_rt_sigpending, &pending, 8));
  EXPECT_EQ(pending, 1ull << (SIGUSR1 - 1));
  OK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
  EXPECT_EQ(LOAD(got), 1);
  WAITS(syscall(SYS_pause), -1, EINTR, 1);
  OK(syscall(SYS_select, 0, NULL, NULL, NULL, &tv));
  EXPECT_EQ(syscall(SYS_ppoll, &p, 1, &t, &none, 4), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(syscall(SYS_rt_sigsuspend, &none, 4), -1);
  EXPECT_EQ(errno, EINVAL);
  // A thread's time is not its kernel thread's.
  struct timespec by_name, by_number, after;
  OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &by_name));
  OK(syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &by_number));
  OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after));
  long long n = by_number.tv_sec * 1000000000ll + by_number.tv_nsec;
  EXPECT_LE(by_name.tv_sec * 1000000000ll + by_name.tv_nsec, n);
  EXPECT_LE(n, after.tv_sec * 1000000000ll + after.tv_nsec);
  OK(close(ep));
  return a;
}

int main(void) {
  struct sigaction sa = {.sa_handler = on_usr1};
  OK(sigaction(SIGUSR1, &sa, NULL));
  pthread_t t;
  OK(pthread_create(&t, NULL, all, NULL));
  OK(pthread_join(t, NULL));
  all(NULL);
  return 0;
}
