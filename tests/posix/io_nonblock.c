// posix/io_nonblock.c -- O_NONBLOCK descriptors answer EAGAIN at once; nobody sees the flag change on the others, even while threads block on them.
// timeout: 30
#include "expect.h"
#include <sys/ioctl.h>

static void* reads(void* a) {
  char b[8];
  EXPECT_EQ(read(*(int*)a, b, 1), 1);
  return NULL;
}
static void* recvs(void* a) {
  char b[8];
  EXPECT_EQ(recv(*(int*)a, b, 1, 0), 1);
  return NULL;
}
static void* accepts(void* a) {
  int fd = (int)SYS(accept(*(int*)a, NULL, NULL));
  EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  close(fd);
  return NULL;
}
static void* polls(void* a) {
  struct pollfd p = {*(int*)a, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, -1), 1);
  return NULL;
}
static void* fills(void* a) {
  static char big[1 << 20];
  write_all(*(int*)a, big, sizeof big);
  return NULL;
}
static void* connects(void* a) {
  int fd = tcp_connect(*(int*)a);
  EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  close(fd);
  return NULL;
}

static int64_t quick;
#define AT_ONCE(call)                    \
  do {                                   \
    quick = now_ns();                    \
    FAILS(call, EAGAIN);                 \
    EXPECT_LE(now_ns() - quick, 2 * SEC); \
  } while (0)

int main(void) {
  watchdog(25);
  int p[2], full[2], s[2], tcp[2], l = tcp_listen(8), l2 = tcp_listen(8);
  SYS(pipe(p));
  SYS(pipe(full));
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  tcp_pair(tcp);
  int all[] = {p[0], p[1], full[0], full[1], s[0], s[1], tcp[0], tcp[1], l, l2};
  enum { N = sizeof all / sizeof *all };
  int flags[N];
  for (int i = 0; i < N; i++) {
    flags[i] = (int)SYS(fcntl(all[i], F_GETFL));
    EXPECT_EQ(flags[i] & O_NONBLOCK, 0);
  }
  // Another process, sharing the open descriptions, watches the flags all the time.
  int stop[2];
  SYS(pipe(stop));
  pid_t watcher = (pid_t)SYS(fork());
  if (watcher == 0) {
    watchdog(20);
    close(stop[1]);
    struct pollfd w = {stop[0], POLLIN, 0};
    long looks = 0;
    do {
      for (int k = 0; k < 100; k++)
        for (int i = 0; i < N; i++) EXPECT_EQ(fcntl(all[i], F_GETFL), flags[i]);
      looks++;
    } while (poll(&w, 1, 0) == 0);
    _exit(looks > 0 ? 0 : 1);
  }
  close(stop[0]);
  for (int round = 0; round < 5; round++) {
    pthread_t t[9] = {start(reads, &p[0]),   start(reads, &s[0]),   start(recvs, &s[1]),
                      start(recvs, &tcp[0]), start(recvs, &tcp[0]), start(accepts, &l),
                      start(polls, &tcp[1]), start(fills, &full[1]), start(connects, &l2)};
    sleep_ms(40);
    for (int i = 0; i < N; i++) EXPECT_EQ(fcntl(all[i], F_GETFL), flags[i]);
    write_all(p[1], "x", 1);
    write_all(s[1], "x", 1);
    write_all(s[0], "x", 1);
    write_all(tcp[1], "xy", 2);
    write_all(tcp[0], "x", 1);
    close(tcp_connect(l));
    static char big[1 << 20];
    read_all(full[0], big, sizeof big);
    close((int)SYS(accept(l2, NULL, NULL)));
    for (int i = 0; i < 9; i++) join(t[i]);
    read_all(tcp[1], big, 1);
  }
  close(stop[1]);
  reap_ok(watcher);

  // The program's own O_NONBLOCK, set in every way there is.
  char b[8];
  SYS(fcntl(p[0], F_SETFL, O_NONBLOCK));
  AT_ONCE(read(p[0], b, 1));
  int on = 1, off = 0;
  SYS(ioctl(s[0], FIONBIO, &on));
  EXPECT(fcntl(s[0], F_GETFL) & O_NONBLOCK);
  AT_ONCE(read(s[0], b, 1));
  AT_ONCE(recv(s[0], b, 1, 0));
  AT_ONCE(recv(s[0], b, 1, MSG_WAITALL));
  AT_ONCE(recvmsg(s[0], &(struct msghdr){.msg_iovlen = 0}, 0));
  static char big[1 << 20];
  while (write(s[0], big, sizeof big) > 0) {
  }
  EXPECT_EQ(errno, EAGAIN);
  AT_ONCE(send(s[0], b, 1, 0));
  // The peer has its own flag.
  EXPECT_EQ(fcntl(s[1], F_GETFL) & O_NONBLOCK, 0);
  SYS(fcntl(l, F_SETFL, O_NONBLOCK));
  AT_ONCE(accept(l, NULL, NULL));
  AT_ONCE(accept4(l, NULL, NULL, SOCK_NONBLOCK));
  int c = tcp_connect(l);
  struct pollfd pf = {l, POLLIN, 0};
  EXPECT_EQ(poll(&pf, 1, 5000), 1);
  int got = (int)SYS(accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT(fcntl(got, F_GETFL) & O_NONBLOCK);
  EXPECT(fcntl(got, F_GETFD) & FD_CLOEXEC);
  AT_ONCE(recv(got, b, 1, 0));
  close(got);
  close(c);
  int np[2], ns[2];
  SYS(pipe2(np, O_NONBLOCK));
  AT_ONCE(read(np[0], b, 1));
  SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ns));
  AT_ONCE(recv(ns[1], b, 1, 0));
  // A dup shares it; another process changing it counts as well.
  int d = (int)SYS(dup(ns[1]));
  AT_ONCE(recv(d, b, 1, 0));
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) _exit(fcntl(ns[1], F_SETFL, 0) == 0 ? 0 : 1);
  reap_ok(pid);
  pthread_t t = start(recvs, &d);  // blocks now
  sleep_ms(30);
  EXPECT_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
  write_all(ns[0], "x", 1);
  join(t);
  pid = (pid_t)SYS(fork());
  if (pid == 0) _exit(fcntl(ns[1], F_SETFL, O_NONBLOCK) == 0 ? 0 : 1);
  reap_ok(pid);
  AT_ONCE(recv(d, b, 1, 0));
  AT_ONCE(read(d, b, 1));
  // And switched off again.
  SYS(fcntl(p[0], F_SETFL, 0));
  t = start(reads, &p[0]);
  sleep_ms(20);
  EXPECT_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
  write_all(p[1], "x", 1);
  join(t);
  SYS(ioctl(s[0], FIONBIO, &off));
  t = start(recvs, &s[0]);
  sleep_ms(20);
  EXPECT_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
  write_all(s[1], "x", 1);
  join(t);

  // Non-blocking connect: EINPROGRESS, then writable, then SO_ERROR says 0.
  c = (int)SYS(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  struct sockaddr_in a = name_of(l2);
  int e = connect(c, (struct sockaddr*)&a, sizeof a);
  if (e == -1) EXPECT_EQ(errno, EINPROGRESS);
  pf = (struct pollfd){c, POLLOUT, 0};
  EXPECT_EQ(poll(&pf, 1, 5000), 1);
  socklen_t len = sizeof e;
  SYS(getsockopt(c, SOL_SOCKET, SO_ERROR, &e, &len));
  EXPECT_EQ(e, 0);
  FAILS(connect(c, (struct sockaddr*)&a, sizeof a) == 0 ? connect(c, (struct sockaddr*)&a, sizeof a) : -1, EISCONN);
  return 0;
}
