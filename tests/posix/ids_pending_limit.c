// posix/ids_pending_limit.c -- setuid() comes back though few signals may be queued at once. (Threads that libc finds no room for a signal for keep their ids, natively.)
// timeout: 60
#include "expect.h"

enum { T = 20 };
static int calls;
static sem_t go;  // process-shared: libc itself waits for it, on a kernel thread
static void* sleeps(void* a) {
  ADD(calls, 1);
  SYS(sem_wait(&go));
  return a;
}

int main(void) {
  watchdog(30);
  if (geteuid() != 0) skip("needs to be root");
  SYS(setresuid(1000000 + (uid_t)getpid(), 0, 0));  // the limit is for all processes of a real user
  struct rlimit l;
  SYS(getrlimit(RLIMIT_SIGPENDING, &l));
  l.rlim_cur = 2;
  SYS(setrlimit(RLIMIT_SIGPENDING, &l));
  pthread_t t[T];
  SYS(sem_init(&go, 1, 0));
  for (int i = 0; i < T; i++) t[i] = start(sleeps, NULL);
  WAIT_UNTIL(LOAD(calls) == T);
  sleep_ms(100);
  SYS(setuid(65534));
  EXPECT_EQ(getuid(), 65534);
  for (int i = 0; i < T; i++) SYS(sem_post(&go));
  for (int i = 0; i < T; i++) join(t[i]);
  return 0;
}
