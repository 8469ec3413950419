// posix/fd_kinds.c -- signalfd, inotify, pidfd and FIFOs: a read waits for what they announce, poll and epoll see it, other threads run.
// timeout: 40
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

#include "expect.h"

static int stop, ticks;
static void* ticker(void* a) {
  while (!LOAD(stop)) {
    sleep_ms(1);
    ADD(ticks, 1);
  }
  return a;
}

// Waits for input in three ways, one after the other; `make` brings it about each time, `take` removes it.
struct wait {
  int fd, came;
  void (*take)(int fd);
};
static void* reads(void* a) {
  struct wait* w = a;
  w->take(w->fd);
  STORE(w->came, 1);
  return NULL;
}
static void* polls(void* a) {
  struct wait* w = a;
  struct pollfd p = {w->fd, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, -1), 1);
  EXPECT(p.revents & POLLIN);
  return reads(a);
}
static void* epolls(void* a) {
  struct wait* w = a;
  int ep = (int)SYS(epoll_create1(EPOLL_CLOEXEC));
  struct epoll_event e = {.events = EPOLLIN};
  SYS(epoll_ctl(ep, EPOLL_CTL_ADD, w->fd, &e));
  EXPECT_EQ(epoll_wait(ep, &e, 1, -1), 1);
  close(ep);
  return reads(a);
}
static void each_way(int fd, void (*make)(void), void (*take)(int fd)) {
  void* (*const ways[])(void*) = {reads, polls, epolls};
  for (int i = 0; i < 6; i++) {
    struct wait w = {fd, 0, take};
    pthread_t t = start(ways[i % 3], &w);
    int before = LOAD(ticks);
    WAIT_UNTIL(LOAD(ticks) > before + 10);
    EXPECT_EQ(LOAD(w.came), 0);
    make();
    join(t);
  }
}

static void make_signal(void) { SYS(kill(getpid(), SIGUSR1)); }
static void take_signal(int fd) {
  struct signalfd_siginfo s;
  EXPECT_EQ(read(fd, &s, sizeof s), sizeof s);
  EXPECT_EQ(s.ssi_signo, SIGUSR1);
  EXPECT_EQ(s.ssi_pid, getpid());
}

static void make_file(void) {
  static int n;
  char name[16];
  snprintf(name, sizeof name, "d/f%d", n++);
  close((int)SYS(open(name, O_CREAT | O_WRONLY, 0600)));
}
static void take_file(int fd) {
  char b[4096] __attribute__((aligned(8)));
  ssize_t n = SYS(read(fd, b, sizeof b));
  EXPECT_GE(n, sizeof(struct inotify_event));
  EXPECT(((struct inotify_event*)(void*)b)->mask & IN_CREATE);
}

static int fifo_out;
static void make_byte(void) { write_all(fifo_out, "x", 1); }
static void take_byte(int fd) {
  char b = 0;
  EXPECT_EQ(read(fd, &b, 1), 1);
  EXPECT_EQ(b, 'x');
}

static void* awaits_child(void* a) {
  struct pollfd p = {(int)(intptr_t)a, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, -1), 1);
  EXPECT_EQ(p.revents, POLLIN);
  return NULL;
}
static void pidfds(void) {
  int go[2];
  SYS(pipe(go));
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    char b;
    close(go[1]);
    EXPECT_EQ(read(go[0], &b, 1), 0);
    _exit(9);
  }
  close(go[0]);
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd == -1 && errno == ENOSYS) fd = -1;
  pthread_t t[4];
  for (int i = 0; fd != -1 && i < 4; i++) t[i] = start(awaits_child, num(fd));
  sleep_ms(20);
  close(go[1]);
  for (int i = 0; fd != -1 && i < 4; i++) join(t[i]);
  siginfo_t info;
  memset(&info, 0, sizeof info);
  if (fd != -1) SYS(waitid(P_PIDFD, (id_t)fd, &info, WEXITED));
  else SYS(waitid(P_PID, (id_t)pid, &info, WEXITED));
  EXPECT_EQ(info.si_status, 9);
  if (fd != -1) close(fd);
}

int main(void) {
  watchdog(35);
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  pthread_t t = start(ticker, NULL);

  int fd = (int)SYS(signalfd(-1, &s, SFD_CLOEXEC));
  each_way(fd, make_signal, take_signal);
  close(fd);

  SYS(mkdir("d", 0700));
  fd = (int)SYS(inotify_init1(IN_CLOEXEC));
  SYS(inotify_add_watch(fd, "d", IN_CREATE));
  each_way(fd, make_file, take_file);
  close(fd);

  SYS(mkfifo("fifo", 0600));
  fd = (int)SYS(open("fifo", O_RDWR | O_CLOEXEC));
  fifo_out = (int)SYS(open("fifo", O_WRONLY | O_CLOEXEC));
  each_way(fd, make_byte, take_byte);
  close(fd);
  close(fifo_out);

  pidfds();
  STORE(stop, 1);
  join(t);
  return 0;
}
