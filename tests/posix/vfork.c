// posix/vfork.c -- vfork suspends its thread only, shares memory, and what the child does to descriptors, signals and its mask stays the child's.
// timeout: 60
#include "expect.h"
#include <signal.h>
#include <sys/wait.h>

static int pipes[2], done, handled;
static long others;

static void on_usr1(int sig) { ADD(handled, 1); }

static void* reads(void* a) {
  char b;
  EXPECT_EQ(read(pipes[0], &b, 1), 1);  // the children close this number again and again
  EXPECT_EQ(b, 'x');
  return a;
}
static void* works(void* a) {
  while (!LOAD(done)) {
    ADD(others, 1);
    usleep(1000);
  }
  return a;
}

static void* forks(void* a) {
  for (int i = 0; i < 25; i++) {
    volatile int x = 0;
    long before = LOAD(others);
    pid_t parent = getpid(), pid = vfork();
    if (pid == 0) {
      x = 1;
      signal(SIGUSR1, SIG_DFL);
      sigset_t all;
      sigfillset(&all);
      sigprocmask(SIG_BLOCK, &all, NULL);
      for (int fd = 3; fd < 40; fd++) close(fd);
      if (getppid() != parent || getpid() == parent) _exit(9);
      int fd = open("/dev/null", O_WRONLY);
      dup2(fd, 1);
      if (i % 3 == 0) {
        struct timespec t = {0, 1000000};
        for (int k = 0; k < 5000 && LOAD(others) < before + 2; k++) nanosleep(&t, NULL);  // the others go on
        x = 2;
        _exit(LOAD(others) < before + 2 ? 8 : 7);
      }
      if (i % 3 == 1) execl("/nonexistent", "x", (char*)NULL);
      execl("/bin/sh", "sh", "-c", "echo out; exit 5", (char*)NULL);
      _exit(127);
    }
    SYS(pid);
    EXPECT_EQ(x, i % 3 == 0 ? 2 : 1);
    int st;
    EXPECT_EQ(waitpid(pid, &st, 0), pid);
    EXPECT_EXITED(st, i % 3 == 0 ? 7 : 5);
    // Nothing of it is left here.
    struct sigaction sa;
    OK(sigaction(SIGUSR1, NULL, &sa));
    EXPECT(sa.sa_handler == on_usr1);
    sigset_t now;
    OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
    EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
    EXPECT_GE(fcntl(pipes[0], F_GETFD), 0);
  }
  OK(raise(SIGUSR1));
  return a;
}

int main(void) {
  struct sigaction sa = {.sa_handler = on_usr1};
  OK(sigaction(SIGUSR1, &sa, NULL));
  OK(pipe(pipes));
  pthread_t r, w, f[4];
  OK(pthread_create(&r, NULL, reads, NULL));
  OK(pthread_create(&w, NULL, works, NULL));
  for (int i = 0; i < 4; i++) OK(pthread_create(&f[i], NULL, forks, NULL));
  for (int i = 0; i < 4; i++) OK(pthread_join(f[i], NULL));
  forks(NULL);
  EXPECT_EQ(LOAD(handled), 5);
  EXPECT_EQ(write(pipes[1], "x", 1), 1);
  OK(pthread_join(r, NULL));
  STORE(done, 1);
  OK(pthread_join(w, NULL));
  return 0;
}
