// posix/io_timeouts.c -- SO_RCVTIMEO and SO_SNDTIMEO end receive, send, accept and connect with the right error, never early.
// timeout: 30
#include "expect.h"
#include <sys/uio.h>
#include <sys/un.h>

static void limit(int fd, int what, int ms) {
  struct timeval t = {ms / 1000, ms % 1000 * 1000}, r;
  SYS(setsockopt(fd, SOL_SOCKET, what, &t, sizeof t));
  socklen_t n = sizeof r;
  SYS(getsockopt(fd, SOL_SOCKET, what, &r, &n));
  EXPECT_GE(r.tv_sec * 1000 + r.tv_usec / 1000, ms);
}
// The kernel counts these in jiffies, and may end one jiffy (at most 10 ms) before the exact time.
#define TIMED(call, err, ms)                          \
  do {                                                \
    int64_t t0_ = now_ns();                           \
    FAILS(call, err);                                 \
    EXPECT_GE(now_ns() - t0_, ((ms)-10) * MS);        \
    EXPECT_LE(now_ns() - t0_, (ms)*MS + 3 * SEC);     \
  } while (0)

static int pairs[8][2];
static void* times_out(void* a) {
  int fd = pairs[(intptr_t)a][0];
  char b[8];
  for (int i = 0; i < 3; i++) TIMED(recv(fd, b, 8, 0), EAGAIN, 80);
  return NULL;
}
static void* sends_late(void* a) {
  sleep_ms(30);
  EXPECT_EQ(send(*(int*)a, "x", 1, 0), 1);
  return NULL;
}

int main(void) {
  watchdog(25);
  int v[2];
  char b[8];
  for (int kind = 0; kind < 2; kind++) {
    if (kind) tcp_pair(v);
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    limit(v[0], SO_RCVTIMEO, 80);
    struct iovec iv = {b, 8};
    struct msghdr m;
    memset(&m, 0, sizeof m);
    m.msg_iov = &iv;
    m.msg_iovlen = 1;
    TIMED(recv(v[0], b, 8, 0), EAGAIN, 80);
    TIMED(recvfrom(v[0], b, 8, 0, NULL, NULL), EAGAIN, 80);
    TIMED(recvmsg(v[0], &m, 0), EAGAIN, 80);
    TIMED(read(v[0], b, 8), EAGAIN, 80);
    TIMED(readv(v[0], &iv, 1), EAGAIN, 80);
    pthread_t t = start(sends_late, &v[1]);
    EXPECT_EQ(recv(v[0], b, 8, 0) == 1 || recv(v[0], b, 8, 0) == 1, 1);
    join(t);
    // MSG_WAITALL gives what came in time.
    t = start(sends_late, &v[1]);
    EXPECT_EQ(recv(v[0], b, 8, MSG_WAITALL) == 1 || recv(v[0], b, 8, MSG_WAITALL) == 1, 1);
    join(t);
    // Off again: waits.
    limit(v[0], SO_RCVTIMEO, 0);
    t = start(sends_late, &v[1]);
    EXPECT_EQ(recv(v[0], b, 8, 0), 1);
    join(t);

    limit(v[0], SO_SNDTIMEO, 80);
    static char big[1 << 20];
    int64_t t0 = now_ns();
    ssize_t n = 0;
    while ((n = send(v[0], big, sizeof big, 0)) > 0) {
    }
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_GE(now_ns() - t0, 70 * MS);
    TIMED(send(v[0], big, sizeof big, 0), EAGAIN, 80);
    TIMED(write(v[0], big, sizeof big), EAGAIN, 80);
    close(v[0]);
    close(v[1]);
  }
  // Datagrams.
  int u = udp_bound();
  limit(u, SO_RCVTIMEO, 80);
  TIMED(recv(u, b, 8, 0), EAGAIN, 80);
  close(u);
  // accept.
  int l = tcp_listen(1);
  limit(l, SO_RCVTIMEO, 80);
  TIMED(accept(l, NULL, NULL), EAGAIN, 80);
  TIMED(accept4(l, NULL, NULL, SOCK_CLOEXEC), EAGAIN, 80);
  int c = tcp_connect(l);
  close((int)SYS(accept(l, NULL, NULL)));
  close(c);
  close(l);
  // connect: to a local listener whose queue is full.
  l = (int)SYS(socket(AF_UNIX, SOCK_STREAM, 0));
  struct sockaddr_un a;
  memset(&a, 0, sizeof a);
  a.sun_family = AF_UNIX;
  SYS(bind(l, (struct sockaddr*)&a, sizeof(sa_family_t)));  // the kernel chooses a name
  socklen_t len = sizeof a;
  SYS(getsockname(l, (struct sockaddr*)&a, &len));
  SYS(listen(l, 0));
  int first = (int)SYS(socket(AF_UNIX, SOCK_STREAM, 0)), second = (int)SYS(socket(AF_UNIX, SOCK_STREAM, 0));
  SYS(connect(first, (struct sockaddr*)&a, len));
  limit(second, SO_SNDTIMEO, 80);
  TIMED(connect(second, (struct sockaddr*)&a, len), EAGAIN, 80);
  close((int)SYS(accept(l, NULL, NULL)));
  SYS(connect(second, (struct sockaddr*)&a, len));

  // Many at once.
  pthread_t t[8];
  for (int i = 0; i < 8; i++) {
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]));
    limit(pairs[i][0], SO_RCVTIMEO, 80);
    t[i] = start(times_out, num(i));
  }
  for (int i = 0; i < 8; i++) join(t[i]);
  return 0;
}
