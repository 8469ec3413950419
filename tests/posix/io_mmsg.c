// posix/io_mmsg.c -- recvmmsg waits for all its messages, or for one, or until its limit; sendmmsg waits for room and splits no message.
// timeout: 40
#include "expect.h"

enum { N = 8 };
struct batch { struct mmsghdr m[N]; struct iovec v[N]; char b[N][64]; };
static void prepare(struct batch* x, size_t len) {
  memset(x, 0, sizeof *x);
  for (int i = 0; i < N; i++) {
    x->v[i] = (struct iovec){x->b[i], len};
    x->m[i].msg_hdr.msg_iov = &x->v[i];
    x->m[i].msg_hdr.msg_iovlen = 1;
  }
}
struct sender { int fd; int n; int gap_ms; };
static void* sends(void* a) {
  struct sender* s = (struct sender*)a;
  for (int i = 0; i < s->n; i++) {
    sleep_ms(s->gap_ms);
    char b[8];
    int n = snprintf(b, sizeof b, "m%d", i);
    EXPECT_EQ(send(s->fd, b, (size_t)n, 0), n);
  }
  return NULL;
}
static int hits;
static void handler(int s) { ADD(hits, 1); (void)s; }
struct killer { pthread_t to; int ms; };
static void* kills(void* a) {
  struct killer* k = (struct killer*)a;
  sleep_ms(k->ms);
  OK(pthread_kill(k->to, SIGUSR1));
  return NULL;
}
static void* waits_for_all(void* a) {
  struct batch x;
  prepare(&x, 64);
  recvmmsg(*(int*)a, x.m, N, 0, NULL);
  return NULL;
}
static void* reads_slowly(void* a) {
  char b[65536];
  for (size_t got = 0; got < 4 * 200000;) {
    ssize_t n = (ssize_t)SYS(read(*(int*)a, b, sizeof b));
    EXPECT(n > 0);
    for (ssize_t i = 0; i < n; i++, got++) EXPECT_EQ(b[i], 'a' + (char)(got / 200000));
    if (got < 200000) sleep_ms(1);
  }
  return NULL;
}

int main(void) {
  watchdog(35);
  int v[2];
  SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, v));
  struct batch x;
  prepare(&x, 64);
  // All eight, however slowly they come.
  struct sender s = {v[1], N, 5};
  pthread_t t = start(sends, &s);
  EXPECT_EQ(recvmmsg(v[0], x.m, N, 0, NULL), N);
  for (int i = 0; i < N; i++) EXPECT(x.m[i].msg_len == 2 && x.b[i][0] == 'm' && x.b[i][1] == '0' + i);
  join(t);
  // One is enough.
  s.n = 1;
  t = start(sends, &s);
  EXPECT_EQ(recvmmsg(v[0], x.m, N, MSG_WAITFORONE, NULL), 1);
  join(t);
  FAILS(recvmmsg(v[0], x.m, N, MSG_DONTWAIT, NULL), EAGAIN);
  // The limit counts after each message: the third comes too late, and ends the call.
  s = (struct sender){v[1], 1, 1200};
  struct timespec limit = ts_of(SEC);
  int64_t t0 = now_ns();
  EXPECT_EQ(send(v[1], "1", 1, 0), 1);
  EXPECT_EQ(send(v[1], "2", 1, 0), 1);
  t = start(sends, &s);
  EXPECT_EQ(recvmmsg(v[0], x.m, N, 0, &limit), 3);
  EXPECT_GE(now_ns() - t0, SEC);
  EXPECT(limit.tv_sec == 0 && limit.tv_nsec == 0);
  join(t);
  // What is left of it is told.
  s = (struct sender){v[1], 2, 10};
  limit = ts_of(20 * SEC);
  t = start(sends, &s);
  EXPECT_EQ(recvmmsg(v[0], x.m, 2, 0, &limit), 2);
  join(t);
  EXPECT(limit.tv_sec >= 10 && limit.tv_sec < 20);
  limit.tv_nsec = -1;
  FAILS(recvmmsg(v[0], x.m, 2, 0, &limit), EINVAL);
  // SO_RCVTIMEO ends the wait for the first and for a later one.
  struct timeval tv = {0, 50000};
  SYS(setsockopt(v[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  FAILS(recvmmsg(v[0], x.m, 2, 0, NULL), EAGAIN);
  EXPECT_EQ(send(v[1], "x", 1, 0), 1);
  EXPECT_EQ(recvmmsg(v[0], x.m, 2, 0, NULL), 1);
  tv.tv_usec = 0;
  SYS(setsockopt(v[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  // Signals.
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  SYS(sigaction(SIGUSR1, &sa, NULL));
  struct killer k = {pthread_self(), 20};
  t = start(kills, &k);
  FAILS(recvmmsg(v[0], x.m, N, 0, NULL), EINTR);
  join(t);
  EXPECT_EQ(send(v[1], "x", 1, 0), 1);
  t = start(kills, &k);
  EXPECT_EQ(recvmmsg(v[0], x.m, N, 0, NULL), 1);  // what came is not lost
  join(t);
  EXPECT_EQ(LOAD(hits), 2);
  close(v[0]);  // Linux keeps the interruption as an error of the socket
  close(v[1]);
  SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, v));
  t = start(waits_for_all, &v[0]);
  sleep_ms(10);
  OK(pthread_cancel(t));
  EXPECT(join(t) == PTHREAD_CANCELED);
  close(v[0]);
  close(v[1]);
  FAILS(recvmmsg(v[0], x.m, 1, 0, NULL), EBADF);
  FAILS(sendmmsg(v[0], x.m, 1, 0), EBADF);

  // A datagram queue that fills up: all go out, in order.
  SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, v));
  static struct mmsghdr many[300];
  static struct iovec mv[300];
  static char text[300];
  for (int i = 0; i < 300; i++) {
    text[i] = (char)i;
    mv[i] = (struct iovec){&text[i], 1};
    many[i].msg_hdr.msg_iov = &mv[i];
    many[i].msg_hdr.msg_iovlen = 1;
  }
  t = start(waits_for_all, &v[0]);
  struct batch rest;
  prepare(&rest, 64);
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    sleep_ms(50);
    for (int i = N; i < 300; i++) {
      char c;
      EXPECT_EQ(recv(v[0], &c, 1, 0), 1);
      EXPECT_EQ(c, (char)i);
    }
    _exit(0);
  }
  sleep_ms(10);
  EXPECT_EQ(sendmmsg(v[1], many, 300, 0), 300);
  for (int i = 0; i < 300; i++) EXPECT_EQ(many[i].msg_len, 1);
  join(t);
  reap_ok(pid);
  // A stream: each message goes out whole.
  close(v[0]);
  close(v[1]);
  tcp_pair(v);
  int small = 20000;
  SYS(setsockopt(v[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small));
  static char big[4][200000];
  struct mmsghdr four[4];
  struct iovec fv[8];
  memset(four, 0, sizeof four);
  for (int i = 0; i < 4; i++) {
    memset(big[i], 'a' + i, sizeof big[i]);
    fv[2 * i] = (struct iovec){big[i], 1000};
    fv[2 * i + 1] = (struct iovec){big[i] + 1000, sizeof big[i] - 1000};
    four[i].msg_hdr.msg_iov = &fv[2 * i];
    four[i].msg_hdr.msg_iovlen = 2;
  }
  t = start(reads_slowly, &v[0]);
  EXPECT_EQ(sendmmsg(v[1], four, 4, 0), 4);
  for (int i = 0; i < 4; i++) EXPECT_EQ(four[i].msg_len, 200000);
  join(t);
  int fl = (int)SYS(fcntl(v[1], F_GETFL));
  SYS(fcntl(v[1], F_SETFL, fl | O_NONBLOCK));
  int sent;
  while ((sent = sendmmsg(v[1], four, 4, 0)) > 0) {
  }
  EXPECT(sent == -1 && errno == EAGAIN);
  close(v[0]);
  EXPECT_EQ(sendmmsg(v[1], four, 4, MSG_NOSIGNAL), -1);
  EXPECT(errno == EPIPE || errno == ECONNRESET);
  return 0;
}
