// posix/signal_from_process.c -- another process's tgkill() with main's id reaches main and nobody else, whether main runs, waits or blocks the signal.
// timeout: 60
#include "expect.h"

enum { T = 8, SHOTS = 200 };
static pthread_t main_thread;
static int in_main, queued, elsewhere, stop;

static void on_signal(int sig, siginfo_t* si, void* uc) {
  if (si->si_code != SI_TKILL || si->si_pid == getpid()) ADD(elsewhere, 1000);
  if (sig == SIGRTMIN + 1) ADD(queued, 1);
  if (pthread_equal(pthread_self(), main_thread)) ADD(in_main, 1);
  else ADD(elsewhere, 1);
}
static void* works(void* a) {
  volatile unsigned long n = 0;
  while (!LOAD(stop)) {
    if (a) usleep(100);
    else n++;
  }
  return NULL;
}
// Runs f in a child and waits for its end in short sleeps, so that main comes and goes.
static void from_child(void (*f)(pid_t)) {
  pid_t me = getpid(), pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    f(me);
    _exit(0);
  }
  int st, r;
  while ((r = waitpid(pid, &st, WNOHANG)) == 0) usleep(300);
  EXPECT_EQ(r, pid);
  EXPECT_EQ(st, 0);
}
static void many(pid_t to) {
  for (int i = 0; i < SHOTS; i++) {
    usleep(1000);
    if (syscall(SYS_tgkill, to, to, i & 1 ? SIGUSR1 : SIGRTMIN + 1) != 0) _exit(1);
  }
}
static void three(pid_t to) {
  usleep(20000);
  syscall(SYS_tgkill, to, to, SIGTERM);  // its default action ends a process where a thread has it open
  syscall(SYS_tgkill, to, to, SIGUSR1);
  syscall(SYS_tgkill, to, to, SIGRTMIN + 1);
  usleep(20000);
}

int main(void) {
  main_thread = pthread_self();
  struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  OK(sigaction(SIGUSR1, &sa, NULL));
  sa.sa_flags |= SA_RESTART;
  OK(sigaction(SIGRTMIN + 1, &sa, NULL));
  pthread_t t[T];
  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, works, (void*)(i & 1)));
  from_child(many);
  while (LOAD(queued) < SHOTS / 2) usleep(1000);  // real-time signals queue, the other kind may merge
  EXPECT_LE(SHOTS / 2 + 1, LOAD(in_main));
  EXPECT_EQ(LOAD(elsewhere), 0);

  sigset_t s, p;
  sigemptyset(&s);
  sigaddset(&s, SIGTERM);
  sigaddset(&s, SIGUSR1);
  sigaddset(&s, SIGRTMIN + 1);
  usleep(20000);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  STORE(in_main, 0);
  from_child(three);
  EXPECT_EQ(LOAD(in_main) + LOAD(elsewhere), 0);
  do OK(sigpending(&p)); while (!sigismember(&p, SIGTERM) || !sigismember(&p, SIGUSR1) || !sigismember(&p, SIGRTMIN + 1));
  siginfo_t si;
  EXPECT_EQ(sigwaitinfo(&s, &si), SIGUSR1);  // the lowest number comes first
  EXPECT_EQ(si.si_code, SI_USER);            // as libc calls it here
  EXPECT_EQ(sigwaitinfo(&s, &si), SIGTERM);
  OK(pthread_sigmask(SIG_UNBLOCK, &s, NULL));
  EXPECT_EQ(LOAD(in_main), 1);
  EXPECT_EQ(LOAD(elsewhere), 0);
  STORE(stop, 1);
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  return 0;
}
