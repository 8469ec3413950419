// posix/signals_queue.c -- thousands of queued signals arrive, each with its value, from outside and from inside, open or blocked; the process's own in order.
// timeout: 90
#include "expect.h"

enum { N = 3000, T = 4 };
static int got, next, disorder;
static long sum;
static sem_t never;

static void on_queued(int sig, siginfo_t* si, void* uc) {
  if (si->si_value.sival_int != next) disorder++;
  next = si->si_value.sival_int + 1;
  sum += si->si_value.sival_int;
  ADD(got, 1);
}
static void* waits(void* a) {
  while (sem_wait(&never) != 0) continue;
  return a;
}
static void reset(void) {
  next = disorder = 0;
  sum = 0;
  STORE(got, 0);
}
static void all_there(void) {
  double limit = 0;
  for (; LOAD(got) < N && limit < 20; limit += 0.001) usleep(1000);
  EXPECT_EQ(LOAD(got), N);
  EXPECT_EQ(sum, (long)N * (N - 1) / 2);
}
static void from_child(void) {
  pid_t me = getpid(), pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    for (int i = 0; i < N; i++)
      while (sigqueue(me, SIGRTMIN + 1, (union sigval){.sival_int = i}) != 0) usleep(100);
    _exit(0);
  }
  int st;
  while (waitpid(pid, &st, 0) != pid) continue;
  EXPECT_EQ(st, 0);
}

int main(void) {
  struct sigaction sa = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO};
  OK(sigaction(SIGRTMIN + 1, &sa, NULL));
  OK(sem_init(&never, 0, 0));
  sigset_t all, one, before;
  sigfillset(&all);
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN + 1);
  OK(pthread_sigmask(SIG_SETMASK, &all, &before));
  pthread_t t[T];
  for (int i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, waits, NULL));
  OK(pthread_sigmask(SIG_SETMASK, &before, NULL));

  reset();
  from_child();
  all_there();

  reset();
  OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
  from_child();
  EXPECT_EQ(LOAD(got), 0);
  OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
  all_there();

  reset();  // to itself, as process and as thread
  for (int i = 0; i < N; i++) OK(i & 1 ? sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i})
                                       : pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
  all_there();
  EXPECT_EQ(disorder, 0);

  OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
  for (int i = 0; i < N; i++) OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
  struct timespec none = {0, 0};
  siginfo_t si;
  for (int i = 0; i < N; i++) {
    EXPECT_EQ(sigtimedwait(&one, &si, &none), SIGRTMIN + 1);
    EXPECT_EQ(si.si_value.sival_int, i);
  }
  EXPECT_EQ(sigtimedwait(&one, &si, &none), -1);
  EXPECT_EQ(errno, EAGAIN);
  for (int i = 0; i < N; i++) OK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
  for (int i = 0; i < N; i++) {
    EXPECT_EQ(sigtimedwait(&one, &si, &none), SIGRTMIN + 1);
    EXPECT_EQ(si.si_value.sival_int, i);
  }
  return 0;
}
