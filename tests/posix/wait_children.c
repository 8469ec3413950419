// posix/wait_children.c -- wait, waitpid, waitid, wait3 and wait4: each child is reaped once, others run meanwhile, handlers interrupt as asked.
// timeout: 40
#include "expect.h"

static int hits, ticks, stop;
static void handler(int s) { ADD(hits, 1); (void)s; }
static void* ticker(void* a) {
  (void)a;
  while (!LOAD(stop)) {
    sleep_ms(2);
    ADD(ticks, 1);
  }
  return NULL;
}
static pid_t child(int ms, int code) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    struct timespec t = ts_of(ms * MS);
    nanosleep(&t, NULL);
    _exit(code);
  }
  return pid;
}
enum { T = 6, EACH = 5 };
static int reaped[T * EACH];
static pid_t pids[T * EACH];
static void* any_child(void* a) {
  (void)a;
  for (int i = 0; i < EACH; i++) {
    int st;
    pid_t pid = (pid_t)SYS(wait(&st));
    int k = 0;
    while (k < T * EACH && pids[k] != pid) k++;
    EXPECT(k < T * EACH);
    EXPECT_EXITED(st, k);
    ADD(reaped[k], 1);
  }
  return NULL;
}
static void* own_child(void* a) {
  int code = (int)(intptr_t)a;
  pid_t pid = child(5 + code, code);
  int st;
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT_EXITED(st, code);
  FAILS(waitpid(pid, &st, 0), ECHILD);
  return NULL;
}
static void* waits(void* a) {
  waitpid(*(pid_t*)a, NULL, 0);
  return NULL;
}
static void* signals_process(void* a) {
  (void)a;
  sleep_ms(30);
  SYS(kill(getpid(), SIGUSR1));
  return NULL;
}

int main(void) {
  watchdog(35);
  int st;
  FAILS(wait(&st), ECHILD);
  pthread_t tick = start(ticker, NULL);
  int before = LOAD(ticks);
  pid_t pid = child(100, 3);
  EXPECT_EQ(waitpid(pid, &st, WNOHANG), 0);
  EXPECT_EQ(wait(&st), pid);
  EXPECT_EXITED(st, 3);
  EXPECT_GE(LOAD(ticks), before + 5);
  STORE(stop, 1);
  join(tick);

  for (int i = 0; i < T * EACH; i++) pids[i] = child(20 + rand() % 30, i);
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(any_child, NULL);
  for (int i = 0; i < T; i++) join(t[i]);
  for (int i = 0; i < T * EACH; i++) EXPECT_EQ(reaped[i], 1);
  for (int i = 0; i < T; i++) t[i] = start(own_child, num(i));
  for (int i = 0; i < T; i++) join(t[i]);

  struct rusage ru;
  pid = child(20, 4);
  EXPECT_EQ(wait4(pid, &st, 0, &ru), pid);
  EXPECT_EXITED(st, 4);
  EXPECT_GE(ru.ru_maxrss, 1);
  pid = child(20, 5);
  EXPECT_EQ(wait3(&st, 0, &ru), pid);
  EXPECT_EXITED(st, 5);
  pid = child(20, 6);
  siginfo_t si;
  memset(&si, 0, sizeof si);
  SYS(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT));
  EXPECT(si.si_pid == pid && si.si_code == CLD_EXITED && si.si_status == 6);
  EXPECT_EQ(waitpid(pid, &st, 0), pid);  // still there
  pid = (pid_t)SYS(fork());
  if (pid == 0) {
    raise(SIGSTOP);
    raise(SIGKILL);
  }
  EXPECT_EQ(waitpid(pid, &st, WUNTRACED), pid);
  EXPECT(WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
  SYS(kill(pid, SIGCONT));
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
  FAILS(waitid(P_ALL, 0, &si, 0), EINVAL);
  FAILS(waitpid(-1, &st, 0x800), EINVAL);

  // Only this thread takes the signal.
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sa.sa_flags = SA_RESTART;
  SYS(sigaction(SIGUSR1, &sa, NULL));
  pid = child(200, 7);
  OK(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
  pthread_t k = start(signals_process, NULL);
  OK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT_EXITED(st, 7);
  EXPECT_EQ(LOAD(hits), 1);
  join(k);
  // SIGCHLD's handler does not make a wait fail that has its child.
  SYS(sigaction(SIGCHLD, &sa, NULL));
  pid = child(20, 8);
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  WAIT_UNTIL(LOAD(hits) == 2);
  signal(SIGCHLD, SIG_DFL);

  pid = child(20000, 9);
  pthread_t w = start(waits, &pid);
  sleep_ms(20);
  OK(pthread_cancel(w));
  EXPECT(join(w) == PTHREAD_CANCELED);
  SYS(kill(pid, SIGKILL));
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  FAILS(wait(NULL), ECHILD);
  return 0;
}
