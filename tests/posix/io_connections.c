// posix/io_connections.c -- sixteen threads in accept serve each connection once; connect waits, succeeds or is refused; resets and ends are told.
// timeout: 30
#include "expect.h"
#include <sys/un.h>

enum { T = 16, CONNS = 400 };
static int listener, served[CONNS], total;
static void* serves(void* a) {
  for (;;) {
    struct sockaddr_in from;
    socklen_t n = sizeof from;
    int fd = (int)SYS((intptr_t)a & 1 ? accept(listener, (struct sockaddr*)&from, &n)
                                 : accept4(listener, (struct sockaddr*)&from, &n, SOCK_CLOEXEC));
    EXPECT_EQ(n, sizeof from);
    int id;
    read_all(fd, &id, sizeof id);
    write_all(fd, &id, sizeof id);
    close(fd);
    if (id < 0) return NULL;
    EXPECT_EQ(ADD(served[id], 1), 1);
    ADD(total, 1);
  }
}
static void* calls(void* a) {
  for (int id = (int)(intptr_t)a; id < CONNS; id += 8) {
    int fd = tcp_connect(listener), back;
    write_all(fd, &id, sizeof id);
    read_all(fd, &back, sizeof back);
    EXPECT_EQ(back, id);
    EXPECT_EQ(read(fd, &back, 1), 0);
    close(fd);
  }
  return NULL;
}

static struct sockaddr_un un;
static socklen_t un_len;
static int connected;
static void* connects_un(void* a) {
  int fd = (int)SYS(socket(AF_UNIX, SOCK_STREAM, 0));
  SYS(connect(fd, (struct sockaddr*)&un, un_len));
  ADD(connected, 1);
  char b;
  EXPECT_EQ(read(fd, &b, 1), 1);
  close(fd);
  return a;
}
static void* connects_full(void* a) {
  int fd = tcp_connect(*(int*)a);
  write_all(fd, "x", 1);  // sent again until the listener has room
  return num(fd);
}
static void* reads_reset(void* a) {
  char b[4];
  FAILS(recv(*(int*)a, b, 4, 0), ECONNRESET);
  return NULL;
}
static void* reads_end(void* a) {
  char b[4];
  EXPECT_EQ(recv(*(int*)a, b, 4, 0), 0);
  return NULL;
}
static void* accept_ends(void* a) {
  FAILS(accept(*(int*)a, NULL, NULL), EINVAL);
  return NULL;
}
static void* writes_broken(void* a) {
  static char big[1 << 20];
  ssize_t n;
  while ((n = write(*(int*)a, big, sizeof big)) > 0) {
  }
  EXPECT(errno == ECONNRESET || errno == EPIPE);
  return NULL;
}

int main(void) {
  watchdog(25);
  signal(SIGPIPE, SIG_IGN);
  listener = tcp_listen(128);
  pthread_t t[T], c[8];
  for (int i = 0; i < T; i++) t[i] = start(serves, num(i));
  sleep_ms(20);
  for (int i = 0; i < 8; i++) c[i] = start(calls, num(i));
  for (int i = 0; i < 8; i++) join(c[i]);
  WAIT_UNTIL(LOAD(total) == CONNS);
  for (int i = 0; i < T; i++) {
    int fd = tcp_connect(listener), id = -1;
    write_all(fd, &id, sizeof id);
    read_all(fd, &id, sizeof id);
    close(fd);
  }
  for (int i = 0; i < T; i++) join(t[i]);
  for (int i = 0; i < CONNS; i++) EXPECT_EQ(served[i], 1);
  close(listener);

  // Refused: bound, nobody listens.
  int b = (int)SYS(socket(AF_INET, SOCK_STREAM, 0));
  struct sockaddr_in a = loopback(0);
  SYS(bind(b, (struct sockaddr*)&a, sizeof a));
  a = name_of(b);
  int fd = (int)SYS(socket(AF_INET, SOCK_STREAM, 0));
  FAILS(connect(fd, (struct sockaddr*)&a, sizeof a), ECONNREFUSED);
  FAILS(accept(b, NULL, NULL), EINVAL);
  close(fd);
  close(b);

  // A full queue makes local connects wait; each accept lets one through.
  int l = (int)SYS(socket(AF_UNIX, SOCK_STREAM, 0));
  un.sun_family = AF_UNIX;
  SYS(bind(l, (struct sockaddr*)&un, sizeof(sa_family_t)));
  un_len = sizeof un;
  SYS(getsockname(l, (struct sockaddr*)&un, &un_len));
  SYS(listen(l, 0));
  for (int i = 0; i < 8; i++) c[i] = start(connects_un, NULL);
  sleep_ms(60);
  EXPECT_LE(LOAD(connected), 2);
  for (int i = 0; i < 8; i++) {
    fd = (int)SYS(accept(l, NULL, NULL));
    write_all(fd, "x", 1);
    close(fd);
  }
  for (int i = 0; i < 8; i++) join(c[i]);
  EXPECT_EQ(connected, 8);
  close(l);

  // TCP too: the kernel drops what does not fit and asks again later.
  l = tcp_listen(0);
  for (int i = 0; i < 3; i++) c[i] = start(connects_full, &l);
  sleep_ms(60);
  int in[3];
  for (int i = 0; i < 3; i++) {
    char b;
    in[i] = (int)SYS(accept(l, NULL, NULL));
    read_all(in[i], &b, 1);
  }
  for (int i = 0; i < 3; i++) {
    close((int)(intptr_t)join(c[i]));
    close(in[i]);
  }
  close(l);

  // Reset: closed with unread data, or by a zero linger.
  int v[2];
  tcp_pair(v);
  t[0] = start(reads_reset, &v[0]);
  sleep_ms(20);
  struct linger lg = {1, 0};
  SYS(setsockopt(v[1], SOL_SOCKET, SO_LINGER, &lg, sizeof lg));
  close(v[1]);
  join(t[0]);
  char x;
  EXPECT_EQ(recv(v[0], &x, 1, 0), 0);
  FAILS(send(v[0], &x, 1, 0), EPIPE);
  close(v[0]);
  tcp_pair(v);
  t[0] = start(writes_broken, &v[0]);
  sleep_ms(50);
  close(v[1]);
  join(t[0]);
  close(v[0]);

  // shutdown wakes a thread that blocks: a receiver with 0, an acceptor with EINVAL.
  for (int kind = 0; kind < 2; kind++) {
    if (kind) tcp_pair(v);
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    t[0] = start(reads_end, &v[0]);
    sleep_ms(30);
    EXPECT_EQ(pthread_tryjoin_np(t[0], NULL), EBUSY);
    SYS(shutdown(v[0], SHUT_RD));
    join(t[0]);
    close(v[0]);
    close(v[1]);
  }
  l = tcp_listen(4);
  for (int i = 0; i < 4; i++) t[i] = start(accept_ends, &l);
  sleep_ms(30);
  SYS(shutdown(l, SHUT_RD));
  for (int i = 0; i < 4; i++) join(t[i]);
  close(l);
  return 0;
}
