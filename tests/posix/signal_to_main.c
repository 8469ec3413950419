// posix/signal_to_main.c -- a signal sent to main's thread id from any thread runs main's handler on main, by whatever call it is sent.
// timeout: 30
#include "expect.h"

static int wrong, hits;
static void handler(int s) {
  if (gettid() != getpid()) ADD(wrong, 1);
  ADD(hits, s == SIGUSR1);
}
static volatile int spin = 1;
static void* spins(void* a) {
  while (spin) {
  }
  return a;
}
static void* sends(void* a) {
  pid_t me = getpid();
  siginfo_t si;
  memset(&si, 0, sizeof si);
  si.si_code = SI_QUEUE;
  si.si_pid = me;
  si.si_uid = getuid();
  for (int i = 0; i < 40; i++) {
    switch (i % 5) {
      case 0: SYS(tgkill(me, me, SIGUSR1)); break;
      case 1: SYS(syscall(SYS_tgkill, me, me, SIGUSR1)); break;
      case 2: SYS(syscall(SYS_tkill, me, SIGUSR1)); break;
      case 3: SYS(syscall(SYS_rt_tgsigqueueinfo, me, me, SIGUSR1, &si)); break;
      case 4: OK(pthread_kill(*(pthread_t*)a, SIGUSR1)); break;
    }
    WAIT_UNTIL(LOAD(hits) == i + 1);
  }
  return a;
}

int main(void) {
  watchdog(25);
  struct sigaction sa = {.sa_handler = handler};
  SYS(sigaction(SIGUSR1, &sa, NULL));
  pthread_t self = pthread_self(), s[2];
  for (int i = 0; i < 2; i++) s[i] = start(spins, NULL);  // others use the kernel threads meanwhile
  join(start(sends, &self));
  spin = 0;
  for (int i = 0; i < 2; i++) join(s[i]);
  EXPECT_EQ(hits, 40);
  EXPECT_EQ(wrong, 0);
  FAILS(tgkill(getpid(), 1 << 22, SIGUSR1), ESRCH);
  return 0;
}
