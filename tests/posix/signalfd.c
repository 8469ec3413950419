// posix/signalfd.c -- a signalfd tells of signals to the process and to its reader, sent before it was made or while it is waited for, from inside and outside.
// timeout: 60
#include "expect.h"
#include <sys/epoll.h>
#include <sys/signalfd.h>

enum { ROUNDS = 50 };
static pid_t me;

static void* blocks_all(void* a) {
  for (;;) pause();
  return a;
}
static void* kills(void* a) {
  usleep(3000);
  OK(pthread_kill(*(pthread_t*)a, SIGUSR2));
  return NULL;
}
static struct signalfd_siginfo next(int fd) {
  struct signalfd_siginfo si;
  EXPECT_EQ(read(fd, &si, sizeof si), sizeof si);
  return si;
}
static void* all(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR2);
  sigaddset(&s, SIGCHLD);
  sigaddset(&s, SIGRTMIN + 1);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  OK(raise(SIGUSR2));
  OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){.sival_int = 5}));
  int fd = signalfd(-1, &s, SFD_CLOEXEC), ep = epoll_create1(EPOLL_CLOEXEC);
  EXPECT(fd >= 0 && ep >= 0);
  struct epoll_event ev = {.events = EPOLLIN};
  OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
  EXPECT_EQ(next(fd).ssi_signo, SIGUSR2);
  EXPECT_EQ(next(fd).ssi_int, 5);
  for (int i = 0; i < ROUNDS; i++) {
    struct pollfd p = {fd, POLLIN, 0};
    OK(kill(me, SIGUSR2));
    EXPECT_EQ(poll(&p, 1, 5000), 1);
    EXPECT_EQ(next(fd).ssi_signo, SIGUSR2);
    EXPECT_EQ(poll(&p, 1, 0), 0);

    pid_t pid = fork();  // SIGCHLD's action is the default: where it is not blocked it is dropped
    if (pid == 0) _exit(3);
    if (i & 1) EXPECT_EQ(epoll_wait(ep, &ev, 1, 5000), 1);
    struct signalfd_siginfo si = next(fd);
    EXPECT_EQ(si.ssi_signo, SIGCHLD);
    EXPECT_EQ(si.ssi_pid, pid);
    EXPECT_EQ(si.ssi_status, 3);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);

    pthread_t t, self = pthread_self();
    if (i % 10 == 0) {
      OK(pthread_create(&t, NULL, kills, &self));
      if (i & 2) EXPECT_EQ(poll(&p, 1, 5000), 1);
      EXPECT_EQ(next(fd).ssi_signo, SIGUSR2);
      OK(pthread_join(t, NULL));
    }
    OK(sigqueue(me, SIGRTMIN + 1, (union sigval){.sival_int = i}));
    OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
    for (int k = 0; k < 2; k++) {
      si = next(fd);
      EXPECT_EQ(si.ssi_signo, SIGRTMIN + 1);
      EXPECT_EQ(si.ssi_int, i);
    }
  }
  OK(close(fd));
  OK(close(ep));
  return a;
}

int main(void) {
  me = getpid();
  sigset_t every;
  sigfillset(&every);
  OK(pthread_sigmask(SIG_SETMASK, &every, NULL));
  pthread_t t[3];
  for (int i = 0; i < 2; i++) OK(pthread_create(&t[i], NULL, blocks_all, NULL));
  OK(pthread_create(&t[2], NULL, all, NULL));
  OK(pthread_join(t[2], NULL));
  sigemptyset(&every);
  OK(pthread_sigmask(SIG_SETMASK, &every, NULL));
  all(NULL);
  return 0;
}
