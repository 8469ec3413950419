// posix/epoll.c -- the program's own epoll: level, edge and one-shot, limits, several threads on one set, changes while a thread waits.
// timeout: 30
#include "expect.h"
#include <sys/epoll.h>

static int ep;
static void add(int fd, uint32_t ev) {
  struct epoll_event e = {.events = ev, .data = {.fd = fd}};
  SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
}
struct later { int fd; int ms; };
static void* writes(void* a) {
  struct later* l = (struct later*)a;
  sleep_ms(l->ms);
  write_all(l->fd, "x", 1);
  return NULL;
}
static void* expires(void* a) {
  int ms = (int)(intptr_t)a;
  struct epoll_event e;
  int mine = (int)SYS(epoll_create1(EPOLL_CLOEXEC));
  for (int i = 0; i < 3; i++) {
    int64_t t0 = now_ns();
    EXPECT_EQ(epoll_wait(mine, &e, 1, ms), 0);
    EXPECT_GE(now_ns() - t0, ms * MS);
    t0 = now_ns();
    EXPECT_EQ(epoll_pwait(mine, &e, 1, ms, NULL), 0);
    EXPECT_GE(now_ns() - t0, ms * MS);
  }
  close(mine);
  return NULL;
}
static int events_seen;
static void* waits_one(void* a) {
  struct epoll_event e;
  EXPECT_EQ(epoll_wait(ep, &e, 1, 20000), 1);
  ADD(events_seen, 1);
  return a;
}
static void* waits_fd(void* a) {
  struct epoll_event e;
  EXPECT_EQ(epoll_wait(ep, &e, 1, -1), 1);
  EXPECT_EQ(e.data.fd, (intptr_t)a);
  return NULL;
}

// A small server: two threads on one edge-triggered set, many connections.
enum { CONNS = 20, MSGS = 100 };
static int stop, handled[CONNS * 2 + 200];
static void* serves(void* a) {
  struct epoll_event e[8];
  while (!LOAD(stop)) {
    int n = (int)SYS(epoll_wait(ep, e, 8, 50));
    for (int i = 0; i < n; i++) {
      int fd = e[i].data.fd;
      char b[64];
      ssize_t r;
      while ((r = recv(fd, b, sizeof b, MSG_DONTWAIT)) > 0) {
        ADD(handled[fd], (int)r);
        write_all(fd, b, (size_t)r);
      }
      EXPECT(r == 0 || errno == EAGAIN);
      struct epoll_event again = {.events = EPOLLIN | EPOLLET | EPOLLONESHOT, .data = {.fd = fd}};
      if (r != 0) SYS(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &again));
    }
  }
  return a;
}
static void* client(void* a) {
  int fd = (int)(intptr_t)a;
  for (int i = 0; i < MSGS; i++) {
    char out = (char)i, in;
    write_all(fd, &out, 1);
    read_all(fd, &in, 1);
    EXPECT_EQ(in, out);
  }
  return NULL;
}

int main(void) {
  watchdog(25);
  pthread_t t[CONNS];
  for (int i = 0; i < 10; i++) t[i] = start(expires, num(10 + 5 * i));
  for (int i = 0; i < 10; i++) join(t[i]);

  struct epoll_event e[8];
  ep = (int)SYS(epoll_create1(EPOLL_CLOEXEC));
  int v[2];
  char b[8];
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  // Level.
  add(v[0], EPOLLIN);
  struct later l = {v[1], 20};
  pthread_t w = start(writes, &l);
  EXPECT_EQ(epoll_wait(ep, e, 8, -1), 1);
  EXPECT_EQ(e[0].data.fd, v[0]);
  EXPECT_EQ(e[0].events, EPOLLIN);
  EXPECT_EQ(epoll_wait(ep, e, 8, 0), 1);
  join(w);
  read_all(v[0], b, 1);
  EXPECT_EQ(epoll_wait(ep, e, 8, 0), 0);
  // Edge: once for each arrival.
  struct epoll_event m = {.events = EPOLLIN | EPOLLET, .data = {.fd = v[0]}};
  SYS(epoll_ctl(ep, EPOLL_CTL_MOD, v[0], &m));
  write_all(v[1], "x", 1);
  EXPECT_EQ(epoll_wait(ep, e, 8, 20000), 1);
  EXPECT_EQ(epoll_wait(ep, e, 8, 30), 0);
  w = start(writes, &l);
  EXPECT_EQ(epoll_wait(ep, e, 8, 20000), 1);
  join(w);
  read_all(v[0], b, 2);
  // A blocking read by another thread beside the program's own registration.
  w = start(writes, &l);
  read_all(v[0], b, 1);
  join(w);
  while (epoll_wait(ep, e, 8, 0) > 0) {
  }
  // One-shot: silent until re-armed.
  m.events = EPOLLIN | EPOLLONESHOT;
  SYS(epoll_ctl(ep, EPOLL_CTL_MOD, v[0], &m));
  write_all(v[1], "x", 1);
  EXPECT_EQ(epoll_wait(ep, e, 8, 20000), 1);
  write_all(v[1], "x", 1);
  EXPECT_EQ(epoll_wait(ep, e, 8, 30), 0);
  SYS(epoll_ctl(ep, EPOLL_CTL_MOD, v[0], &m));
  EXPECT_EQ(epoll_wait(ep, e, 8, 20000), 1);
  read_all(v[0], b, 2);

  // Two threads on one set, one-shot: two events, one each.
  int u[2];
  SYS(pipe(u));
  add(u[0], EPOLLIN | EPOLLONESHOT);
  SYS(epoll_ctl(ep, EPOLL_CTL_MOD, v[0], &m));
  t[0] = start(waits_one, NULL);
  t[1] = start(waits_one, NULL);
  sleep_ms(20);
  write_all(v[1], "x", 1);
  WAIT_UNTIL(LOAD(events_seen) == 1);
  sleep_ms(30);
  EXPECT_EQ(LOAD(events_seen), 1);
  write_all(u[1], "x", 1);
  join(t[0]);
  join(t[1]);
  SYS(epoll_ctl(ep, EPOLL_CTL_DEL, v[0], NULL));
  SYS(epoll_ctl(ep, EPOLL_CTL_DEL, u[0], NULL));
  read_all(v[0], b, 1);

  // Added, and modified, while a thread waits.
  t[0] = start(waits_fd, num(u[0]));
  sleep_ms(20);
  add(u[0], EPOLLIN);  // has a byte already
  join(t[0]);
  read_all(u[0], b, 1);
  m = (struct epoll_event){.events = 0, .data = {.fd = v[0]}};
  SYS(epoll_ctl(ep, EPOLL_CTL_ADD, v[0], &m));
  t[0] = start(waits_fd, num(v[0]));
  sleep_ms(20);
  m.events = EPOLLOUT;
  SYS(epoll_ctl(ep, EPOLL_CTL_MOD, v[0], &m));
  join(t[0]);
  SYS(epoll_ctl(ep, EPOLL_CTL_DEL, v[0], NULL));
  // Hang-up; then gone after close.
  close(u[1]);
  EXPECT_EQ(epoll_wait(ep, e, 8, 20000), 1);
  EXPECT_EQ(e[0].events, EPOLLHUP);
  close(u[0]);
  EXPECT_EQ(epoll_wait(ep, e, 8, 20), 0);

  // A set inside a set, and a set inside poll.
  int outer = (int)SYS(epoll_create1(0));
  m = (struct epoll_event){.events = EPOLLIN, .data = {.fd = ep}};
  SYS(epoll_ctl(outer, EPOLL_CTL_ADD, ep, &m));
  add(v[0], EPOLLIN);
  EXPECT_EQ(epoll_wait(outer, e, 8, 10), 0);
  w = start(writes, &l);
  EXPECT_EQ(epoll_wait(outer, e, 8, 20000), 1);
  EXPECT_EQ(e[0].data.fd, ep);
  struct pollfd p = {ep, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 20000), 1);
  join(w);
  read_all(v[0], b, 1);
  SYS(epoll_ctl(ep, EPOLL_CTL_DEL, v[0], NULL));

  int c[CONNS][2];
  for (int i = 0; i < CONNS; i++) {
    if (i & 1) tcp_pair(c[i]);
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, c[i]));
    EXPECT_LE(c[i][1], (int)(sizeof handled / sizeof *handled) - 1);
    add(c[i][1], EPOLLIN | EPOLLET | EPOLLONESHOT);
  }
  pthread_t s[2] = {start(serves, NULL), start(serves, NULL)};
  for (int i = 0; i < CONNS; i++) t[i] = start(client, num(c[i][0]));
  for (int i = 0; i < CONNS; i++) join(t[i]);
  STORE(stop, 1);
  join(s[0]);
  join(s[1]);
  for (int i = 0; i < CONNS; i++) EXPECT_EQ(handled[c[i][1]], MSGS);

  FAILS(epoll_wait(ep, e, 0, 0), EINVAL);
  FAILS(epoll_wait(-1, e, 1, 0), EBADF);
  FAILS(epoll_wait(v[0], e, 1, 0), EINVAL);
  FAILS(epoll_ctl(ep, EPOLL_CTL_ADD, c[0][1], &m), EEXIST);
  FAILS(epoll_ctl(ep, EPOLL_CTL_DEL, v[0], &m), ENOENT);
  return 0;
}
