// posix/file_locks.c -- waits for file locks (lockf, F_SETLKW, F_OFD_SETLKW, flock) end with the lock or a signal, and hold up no other thread.
// timeout: 40
#include <sys/file.h>

#include "expect.h"

static int stop, ticks;
static void* ticker(void* a) {
  while (!LOAD(stop)) {
    sleep_ms(1);
    ADD(ticks, 1);
  }
  return a;
}
static void handler(int s) { (void)s; }

enum { LOCKF, SETLKW, OFD_SETLKW, FLOCK, KINDS };
static struct flock whole(short type) {
  struct flock l;
  memset(&l, 0, sizeof l);
  l.l_type = type;
  l.l_whence = SEEK_SET;
  return l;
}
static int lock(int kind, int fd) {
  struct flock l = whole(F_WRLCK);
  switch (kind) {
    case LOCKF: return lockf(fd, F_LOCK, 0);
    case SETLKW: return fcntl(fd, F_SETLKW, &l);
    case OFD_SETLKW: return fcntl(fd, F_OFD_SETLKW, &l);
    default: return flock(fd, LOCK_EX);
  }
}
static int unlock(int kind, int fd) {
  struct flock l = whole(F_UNLCK);
  switch (kind) {
    case LOCKF: return lockf(fd, F_ULOCK, 0);
    case SETLKW: return fcntl(fd, F_SETLK, &l);
    case OFD_SETLKW: return fcntl(fd, F_OFD_SETLK, &l);
    default: return flock(fd, LOCK_UN);
  }
}

// A process that holds the lock until its pipe ends.
struct holder { pid_t pid; int end; };
static struct holder hold(int kind) {
  int go[2], end[2];
  SYS(pipe(go));
  SYS(pipe(end));
  struct holder h = {(pid_t)SYS(fork()), end[1]};
  if (h.pid == 0) {
    char b;
    close(end[1]);
    int fd = (int)SYS(open("file", O_RDWR));
    SYS(lock(kind, fd));
    write_all(go[1], "x", 1);
    EXPECT_EQ(read(end[0], &b, 1), 0);
    _exit(0);
  }
  close(end[0]);
  char b;
  read_all(go[0], &b, 1);
  close(go[0]);
  close(go[1]);
  return h;
}
static void let_go(struct holder h) {
  close(h.end);
  reap_ok(h.pid);
}

struct waiter { int kind, done; };
static void* waits(void* a) {
  struct waiter* w = a;
  int fd = (int)SYS(open("file", O_RDWR));
  SYS(lock(w->kind, fd));
  STORE(w->done, 1);
  SYS(unlock(w->kind, fd));
  close(fd);
  return NULL;
}
static void* is_interrupted(void* a) {
  struct waiter* w = a;
  int fd = (int)SYS(open("file", O_RDWR));
  FAILS(lock(w->kind, fd), EINTR);
  STORE(w->done, 1);
  close(fd);
  return NULL;
}

int main(void) {
  watchdog(35);
  close((int)SYS(open("file", O_RDWR | O_CREAT, 0600)));
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  SYS(sigaction(SIGUSR1, &sa, NULL));
  pthread_t t = start(ticker, NULL);
  for (int kind = 0; kind < KINDS; kind++) {
    struct holder h = hold(kind);
    struct waiter w = {kind, 0};
    pthread_t p = start(waits, &w);
    int before = LOAD(ticks);
    WAIT_UNTIL(LOAD(ticks) > before + 20);
    EXPECT_EQ(LOAD(w.done), 0);
    int fd = (int)SYS(open("file", O_RDWR));
    if (kind == FLOCK) FAILS(flock(fd, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    if (kind == LOCKF) FAILS(lockf(fd, F_TEST, 0), EACCES);
    let_go(h);
    join(p);
    EXPECT_EQ(w.done, 1);

    h = hold(kind);
    w.done = 0;
    p = start(is_interrupted, &w);
    while (!LOAD(w.done)) {  // a signal may come before the wait
      OK(pthread_kill(p, SIGUSR1));
      sleep_ms(10);
    }
    join(p);
    let_go(h);
    close(fd);
  }
  // Locks of the open file: between threads of one process, too.
  int a = (int)SYS(open("file", O_RDWR));
  SYS(lock(OFD_SETLKW, a));
  struct waiter w = {OFD_SETLKW, 0};
  pthread_t p = start(waits, &w);
  sleep_ms(20);
  EXPECT_EQ(LOAD(w.done), 0);
  SYS(unlock(OFD_SETLKW, a));
  join(p);
  STORE(stop, 1);
  join(t);
  return 0;
}
