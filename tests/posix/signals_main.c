// posix/signals_main.c -- a signal to the process goes to the main thread if that takes it: its call ends, whatever the others do.
// timeout: 60
#include "expect.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <sys/time.h>

static pthread_t main_thread;
static volatile int in_main, elsewhere, stop;
static volatile unsigned long sink;
static sem_t sem;

static void on_signal(int sig) {
  if (pthread_equal(pthread_self(), main_thread)) in_main++;
  else elsewhere++;
}
static void* burns(void* a) {
  if (a) {  // a worker that leaves signals to others
    sigset_t all;
    sigfillset(&all);
    OK(pthread_sigmask(SIG_BLOCK, &all, NULL));
  }
  while (!stop) sink++;
  return NULL;
}
// A child that sends sig to us after a while, twice at least.
static pid_t sender(int sig) {
  pid_t me = getpid(), pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    for (int i = 0; i < 100; i++) {
      usleep(20000);
      kill(me, sig);
    }
    _exit(0);
  }
  return pid;
}
static void end(pid_t pid) {
  int st;
  kill(pid, SIGKILL);
  while (waitpid(pid, &st, 0) != pid) EXPECT_EQ(errno, EINTR);
}

static int pipes[2];
static void each_call(void) {
  char b;
  in_main = 0;
  EXPECT_EQ(pause(), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(read(pipes[0], &b, 1), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_EQ(sem_wait(&sem), -1);
  EXPECT_EQ(errno, EINTR);
  struct timespec t = {100, 0};
  EXPECT_EQ(nanosleep(&t, NULL), -1);
  EXPECT_EQ(errno, EINTR);
  EXPECT_GE(in_main, 4);
}

static void* sends(void* a) {
  for (int i = 1; i <= 5; i++) {  // one at a time: while main is in its handler, another thread is as good
    usleep(5000);
    kill(getpid(), SIGUSR1);
    WAIT_UNTIL(in_main >= i);
    usleep(5000);
  }
  return a;
}
static void* writes(void* a) {
  int p[2], before = elsewhere;
  OK(pipe(p));
  close(p[0]);
  EXPECT_EQ(write(p[1], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(elsewhere, before + 1);  // SIGPIPE is the writer's
  close(p[1]);
  return a;
}

// A thread that is almost always inside libc cannot be moved off its kernel thread at once.
static void on_stop(int sig) {
  on_signal(sig);
  stop = 1;
}
static void* burns_in_libc(void* a) {
  static char text[1 << 20];
  memset(text, 'x', sizeof text - 1);
  while (!stop) sink += strlen(text);
  return a;
}
static void beside_libc(void) {
  struct sigaction sa = {.sa_handler = on_stop};
  OK(sigaction(SIGUSR2, &sa, NULL));
  for (int round = 0; round < 10; round++) {
    stop = in_main = 0;
    pthread_t t = start(burns_in_libc, NULL);
    pid_t pid = sender(SIGUSR2);
    join(t);  // until main's handler says so
    end(pid);
    EXPECT_GE(in_main, 1);
    EXPECT_EQ(elsewhere, 0);
  }
}

int main(void) {
  main_thread = pthread_self();
  // Not blocked while its handler runs: else the next one is rightly another thread's.
  struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
  OK(sigaction(SIGTERM, &sa, NULL));
  OK(sigaction(SIGUSR1, &sa, NULL));
  OK(sigaction(SIGALRM, &sa, NULL));
  OK(sigaction(SIGPIPE, &sa, NULL));
  OK(pipe(pipes));
  OK(sem_init(&sem, 0, 0));
  for (int blocked = 0; blocked < 2; blocked++) {
    pthread_t t[4], s;
    stop = 0;
    for (int i = 0; i < 4; i++) OK(pthread_create(&t[i], NULL, burns, blocked ? &sem : NULL));
    pid_t pid = sender(SIGTERM);
    each_call();
    end(pid);
    EXPECT_EQ(elsewhere, 0);
    // alarm() and kill() of the own process, from a thread that would take it as well.
    struct itimerval it = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
    OK(setitimer(ITIMER_REAL, &it, NULL));
    each_call();
    OK(setitimer(ITIMER_REAL, &off, NULL));
    in_main = 0;
    OK(pthread_create(&s, NULL, sends, NULL));
    EXPECT_EQ(pause(), -1);
    OK(pthread_join(s, NULL));
    WAIT_UNTIL(in_main >= 1);
    EXPECT_EQ(elsewhere, 0);
    OK(pthread_create(&s, NULL, writes, NULL));
    OK(pthread_join(s, NULL));
    EXPECT_EQ(elsewhere, 1);
    elsewhere = 0;
    stop = 1;
    for (int i = 0; i < 4; i++) OK(pthread_join(t[i], NULL));
  }
  beside_libc();
  // What main blocks is for the others.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
  stop = 0;
  pthread_t t[2];
  for (int i = 0; i < 2; i++) OK(pthread_create(&t[i], NULL, burns, NULL));
  for (int i = 0; i < 2; i++) EXPECT_EQ(pthread_kill(t[i], 0), 0);
  in_main = 0;
  // They inherited the mask: nobody takes it, it pends.
  OK(kill(getpid(), SIGTERM));
  sleep_ms(20);
  EXPECT_EQ(elsewhere + in_main, 0);
  OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
  EXPECT_EQ(in_main, 1);
  stop = 1;
  for (int i = 0; i < 2; i++) OK(pthread_join(t[i], NULL));
  return 0;
}
