// sighold and its kin act on the calling thread's mask and on the process's actions, as the newer calls see them.
#include "expect.h"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile int ran;
static void handler(int sig) { ran = sig; }

static int blocked(int sig) {
  sigset_t s;
  EXPECT(pthread_sigmask(SIG_BLOCK, NULL, &s) == 0);
  return sigismember(&s, sig);
}

static void* other(void* main_thread) {
  usleep(50000);
  EXPECT(pthread_kill(*(pthread_t*)main_thread, SIGUSR1) == 0);
  EXPECT(!blocked(SIGUSR2));
  return NULL;
}

int main(void) {
  pthread_t me = pthread_self(), t;
  EXPECT(pthread_create(&t, NULL, other, &me) == 0);
  EXPECT(sigset(SIGUSR1, handler) == SIG_DFL);
  EXPECT(sighold(SIGUSR1) == 0 && sighold(SIGUSR2) == 0);
  sched_yield();
  EXPECT(blocked(SIGUSR1) && blocked(SIGUSR2));
  errno = 0;
  EXPECT(sigpause(SIGUSR1) == -1 && errno == EINTR && ran == SIGUSR1);
  EXPECT(blocked(SIGUSR1));
  EXPECT(pthread_join(t, NULL) == 0);

  ran = 0;
  EXPECT(raise(SIGUSR1) == 0 && !ran);
  EXPECT(sigrelse(SIGUSR1) == 0 && ran == SIGUSR1);
  EXPECT(sigset(SIGUSR1, SIG_HOLD) == handler && blocked(SIGUSR1));
  EXPECT(sigset(SIGUSR1, SIG_DFL) == SIG_HOLD && !blocked(SIGUSR1));
  EXPECT(sigignore(SIGUSR1) == 0 && raise(SIGUSR1) == 0);
  EXPECT(sigset(SIGUSR1, handler) == SIG_IGN);

  struct sigaction a;
  EXPECT(siginterrupt(SIGUSR1, 0) == 0 && sigaction(SIGUSR1, NULL, &a) == 0 && (a.sa_flags & SA_RESTART));
  EXPECT(siginterrupt(SIGUSR1, 1) == 0 && sigaction(SIGUSR1, NULL, &a) == 0 && !(a.sa_flags & SA_RESTART));
  EXPECT(sigsetmask(sigmask(SIGHUP)) == sigmask(SIGUSR2));
  EXPECT(sigblock(sigmask(SIGINT)) == sigmask(SIGHUP) && siggetmask() == (sigmask(SIGHUP) | sigmask(SIGINT)));
  EXPECT(sighold(0) == -1 && errno == EINVAL && sigrelse(99) == -1 && sigset(SIGKILL, handler) == SIG_ERR);
  return 0;
}
