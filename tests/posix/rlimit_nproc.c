// posix/rlimit_nproc.c -- a program that forbids itself new processes once its threads exist goes on, however many of them block in the kernel.
// timeout: 30
#include "expect.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

enum { N = 16 };
static int fds[N], ran;
static pthread_barrier_t all;

static void* blocks(void* a) {
  pthread_barrier_wait(&all);
  SYS(flock(*(int*)a, LOCK_EX));
  SYS(flock(*(int*)a, LOCK_UN));
  ADD(ran, 1);
  return NULL;
}

static void limit(int how, rlim_t n) {
  struct rlimit l = {n, 1000};
  if (how == 0) SYS(setrlimit(RLIMIT_NPROC, &l));
  else if (how == 1) SYS(prlimit(0, RLIMIT_NPROC, &l, NULL));
  else SYS(syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &l, NULL));
}

static void once(int how) {
  int held = (int)SYS(open("lock", O_RDWR | O_CREAT, 0666));
  SYS(flock(held, LOCK_EX));
  pthread_t t[N];
  STORE(ran, 0);
  OK(pthread_barrier_init(&all, NULL, N + 1));
  for (int i = 0; i < N; i++) {
    fds[i] = (int)SYS(open("lock", O_RDWR));
    t[i] = start(blocks, &fds[i]);
  }
  limit(how, 0);
  pthread_barrier_wait(&all);
  sleep_ms(200);
  EXPECT_EQ(LOAD(ran), 0);
  SYS(flock(held, LOCK_UN));
  for (int i = 0; i < N; i++) join(t[i]);
  EXPECT_EQ(LOAD(ran), N);
}

int main(void) {
  for (int how = 0; how < 3; how++) {
    pid_t pid = (pid_t)SYS(fork());
    if (pid == 0) {
      struct rlimit most = {1000, 1000};
      SYS(setrlimit(RLIMIT_NPROC, &most));
      // The limit does not bind root; the file is made before its rights are gone.
      close((int)SYS(open("lock", O_RDWR | O_CREAT, 0666)));
      if (geteuid() == 0) SYS(chmod(".", 0777)), SYS(chmod("lock", 0666)), SYS(setgid(54321)), SYS(setuid(54321));
      once(how);
      _exit(0);
    }
    int status;
    SYS(waitpid(pid, &status, 0));
    EXPECT_EQ(status, 0);
  }
  return 0;
}
