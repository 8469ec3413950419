// posix/blocking_eintr.c -- a handler without SA_RESTART ends every call that waits in the kernel, with SA_RESTART those that restart go on.
// flags: -lrt
// timeout: 60
#include "expect.h"
#include <mqueue.h>
#include <sys/file.h>

static int hits;
static mqd_t q;
static int file;
static void handler(int s) { ADD(hits, 1); (void)s; }

enum { WAITPID, WAITID, FIFO, FLOCK, SETLKW, MQ, CALLS };
// A child holds the locks and neither ends nor opens the FIFO.
static int call(int k) {
  struct flock l;
  siginfo_t si;
  char b[64];
  memset(&l, 0, sizeof l);
  l.l_type = F_WRLCK;
  switch (k) {
    case WAITPID: return waitpid(-1, NULL, 0);
    case WAITID: return waitid(P_ALL, 0, &si, WEXITED);
    case FIFO: return open("fifo", O_RDONLY);
    case FLOCK: return flock(file, LOCK_EX);
    case SETLKW: return fcntl(file, F_SETLKW, &l);
    case MQ: return (int)mq_receive(q, b, sizeof b, NULL);
  }
  return 0;
}
struct killer { pthread_t to; int whole; };
static void* kills(void* a) {
  struct killer* k = (struct killer*)a;
  sleep_ms(20);
  if (k->whole) kill(getpid(), SIGUSR1);
  else pthread_kill(k->to, SIGUSR1);
  return NULL;
}
static int done;
static void* calls(void* a) {
  int r = call((int)(intptr_t)a);
  EXPECT(r == -1 && errno == EINTR);
  STORE(done, 1);
  return NULL;
}

int main(void) {
  watchdog(50);
  struct mq_attr at;
  memset(&at, 0, sizeof at);
  at.mq_maxmsg = 2;
  at.mq_msgsize = 64;
  char name[64];
  snprintf(name, sizeof name, "/gmpt-eintr-%d", (int)getpid());
  q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &at);
  int calls_here = q == (mqd_t)-1 ? MQ : CALLS;
  if (calls_here == CALLS) SYS(mq_unlink(name));
  SYS(mkfifo("fifo", 0600));
  int p[2];
  SYS(pipe(p));
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    int f = open("file", O_RDWR | O_CREAT, 0600);
    struct flock l;
    memset(&l, 0, sizeof l);
    l.l_type = F_WRLCK;
    if (flock(f, LOCK_EX) || fcntl(f, F_SETLKW, &l) || write(p[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char b;
  read_all(p[0], &b, 1);
  file = (int)SYS(open("file", O_RDWR));
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  int want = 0;
  for (int k = 0; k < calls_here; k++) {
    sa.sa_flags = 0;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    for (int whole = 0; whole < 2; whole++) {
      struct killer who = {pthread_self(), whole};
      OK(pthread_sigmask(SIG_BLOCK, &usr1, NULL));  // the thread that sends does not take it
      pthread_t t = start(kills, &who);
      OK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
      FAILS(call(k), EINTR);
      join(t);
      EXPECT_EQ(LOAD(hits), ++want);
    }
    // With it the handler runs and the call goes on; taken away, it ends.
    sa.sa_flags = SA_RESTART;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    STORE(done, 0);
    pthread_t t = start(calls, num(k));
    sleep_ms(10);
    OK(pthread_kill(t, SIGUSR1));
    want++;
    WAIT_UNTIL(LOAD(hits) == want);
    sleep_ms(10);
    EXPECT_EQ(LOAD(done), 0);
    sa.sa_flags = 0;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    OK(pthread_kill(t, SIGUSR1));
    join(t);
    want++;
    EXPECT_EQ(LOAD(hits), want);
  }
  SYS(kill(pid, SIGKILL));
  SYS(waitpid(pid, NULL, 0));
  return 0;
}
