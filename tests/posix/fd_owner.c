// posix/fd_owner.c -- a descriptor's signals go to the thread that F_SETOWN_EX names, whatever it does, and F_GETOWN_EX names it again.
// timeout: 60
#include "expect.h"

enum { T = 4, SHOTS = 50 };
static __thread int me;
static int got[T + 1], wrong, stop;

static void on_io(int sig, siginfo_t* si, void* uc) {
  if (!me || si->si_fd < 0 || (sig == SIGRTMIN + 2 && si->si_code != POLL_IN)) ADD(wrong, 1);
  ADD(got[me], 1);
}
static void* owner(void* a) {
  me = (int)(intptr_t)a;
  int p[2];
  OK(pipe(p));
  struct f_owner_ex o = {F_OWNER_TID, gettid()}, now;
  OK(fcntl(p[0], F_SETOWN_EX, &o));
  OK(fcntl(p[0], F_GETOWN_EX, &now));
  EXPECT_EQ(now.type, F_OWNER_TID);
  EXPECT_EQ(now.pid, gettid());
  OK(fcntl(p[0], F_SETSIG, me & 1 ? SIGRTMIN + 2 : 0));
  OK(fcntl(p[0], F_SETFL, O_ASYNC | O_NONBLOCK));
  for (int i = 1; i <= SHOTS; i++) {
    char c = 0;
    EXPECT_EQ(write(p[1], &c, 1), 1);
    for (volatile int n = 0; LOAD(got[me]) < i; n++)
      if (me > 2) usleep(100);
    EXPECT_EQ(read(p[0], &c, 1), 1);
  }
  OK(close(p[0]));
  OK(close(p[1]));
  return NULL;
}
static void* works(void* a) {
  while (!LOAD(stop)) {
    if (a) sched_yield();
    else usleep(200);
  }
  return a;
}

int main(void) {
  struct sigaction sa = {.sa_sigaction = on_io, .sa_flags = SA_SIGINFO | SA_RESTART};
  OK(sigaction(SIGRTMIN + 2, &sa, NULL));
  OK(sigaction(SIGIO, &sa, NULL));
  pthread_t t[T], w[2];
  for (intptr_t i = 0; i < 2; i++) OK(pthread_create(&w[i], NULL, works, (void*)i));
  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, owner, (void*)(i + 1)));
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  STORE(stop, 1);
  for (int i = 0; i < 2; i++) OK(pthread_join(w[i], NULL));
  EXPECT_EQ(LOAD(wrong), 0);
  int p[2];
  OK(pipe(p));
  OK(fcntl(p[0], F_SETOWN, gettid()));
  struct f_owner_ex bad = {F_OWNER_TID, 0x3ffffff};
  EXPECT_EQ(fcntl(p[0], F_SETOWN_EX, &bad), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(fcntl(p[0], F_SETOWN_EX, (void*)16), -1);
  EXPECT_EQ(errno, EFAULT);
  return 0;
}
