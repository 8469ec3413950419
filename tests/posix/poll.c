// posix/poll.c -- poll and ppoll: limits never early, several descriptors, every result bit, many waiters on one descriptor.
// timeout: 30
#include "expect.h"

struct later { int fd; int ms; char what; };
static void* acts(void* a) {
  struct later* l = (struct later*)a;
  sleep_ms(l->ms);
  if (l->what == 'w') write_all(l->fd, "x", 1);
  if (l->what == 'c') close(l->fd);
  if (l->what == 'r') {
    static char big[1 << 22];
    SYS(read(l->fd, big, sizeof big));
  }
  return NULL;
}
static void* waits(void* a) {
  struct pollfd p = {*(int*)a, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 20000), 1);
  EXPECT_EQ(p.revents, POLLIN);
  return NULL;
}
static void* expires(void* a) {
  int ms = (int)(intptr_t)a, v[2];
  SYS(pipe(v));
  struct pollfd p = {v[0], POLLIN, 7};
  for (int i = 0; i < 3; i++) {
    int64_t t0 = now_ns();
    EXPECT_EQ(poll(&p, 1, ms), 0);
    EXPECT_GE(now_ns() - t0, ms * MS);
    EXPECT_EQ(p.revents, 0);
    t0 = now_ns();
    struct timespec ts = ts_of(ms * MS + 1000);
    EXPECT_EQ(ppoll(&p, 1, &ts, NULL), 0);
    EXPECT_GE(now_ns() - t0, ms * MS + 1000);
    EXPECT_EQ(ts.tv_sec * SEC + ts.tv_nsec, ms * MS + 1000);  // not changed
    t0 = now_ns();
    EXPECT_EQ(poll(NULL, 0, ms), 0);  // just a sleep
    EXPECT_GE(now_ns() - t0, ms * MS);
  }
  close(v[0]);
  close(v[1]);
  return NULL;
}

int main(void) {
  watchdog(25);
  signal(SIGPIPE, SIG_IGN);
  enum { T = 20 };
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(expires, num(10 + i * 3));
  for (int i = 0; i < T; i++) join(t[i]);

  // Several descriptors, of several kinds; the one that gets ready is told.
  int v[6][2];
  for (int i = 0; i < 6; i++) {
    if (i % 3 == 0) SYS(pipe(v[i]));
    else if (i % 3 == 1) SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v[i]));
    else tcp_pair(v[i]);
  }
  for (int hit = 0; hit < 6; hit++) {
    struct pollfd p[8];
    for (int i = 0; i < 6; i++) p[i] = (struct pollfd){v[i][0], POLLIN, 0};
    p[6] = (struct pollfd){-1, POLLIN, 9};  // ignored
    p[7] = (struct pollfd){v[0][1], POLLIN, 0};
    struct later l = {v[hit][1], 20, 'w'};
    t[0] = start(acts, &l);
    EXPECT_EQ(poll(p, 7, -1), 1);
    for (int i = 0; i < 6; i++) EXPECT_EQ(p[i].revents, i == hit ? POLLIN : 0);
    EXPECT_EQ(p[6].revents, 0);
    EXPECT_EQ(poll(p, 7, 0), 1);  // level: still ready
    join(t[0]);
    char b;
    read_all(v[hit][0], &b, 1);
    EXPECT_EQ(poll(p, 7, 0), 0);
    // The same descriptor twice.
    p[0] = p[1] = (struct pollfd){v[hit][0], POLLIN, 0};
    t[0] = start(acts, &l);
    EXPECT_EQ(poll(p, 2, 20000), 2);
    join(t[0]);
    read_all(v[hit][0], &b, 1);
  }
  // Ready at once.
  struct pollfd p[2] = {{v[1][0], POLLIN | POLLOUT, 0}, {v[2][0], POLLOUT, 0}};
  EXPECT_EQ(poll(p, 2, -1), 2);
  EXPECT_EQ(p[0].revents, POLLOUT);

  // Full, then room.
  for (int k = 0; k < 2; k++) {
    int w = v[3 + k][1], r = v[3 + k][0];
    SYS(fcntl(w, F_SETFL, O_NONBLOCK));
    static char big[1 << 16];
    while (write(w, big, sizeof big) > 0) {
    }
    p[0] = (struct pollfd){w, POLLOUT, 0};
    EXPECT_EQ(poll(p, 1, 30), 0);
    struct later l = {r, 20, 'r'};
    t[0] = start(acts, &l);
    EXPECT_EQ(poll(p, 1, 20000), 1);
    EXPECT_EQ(p[0].revents, POLLOUT);
    join(t[0]);
  }

  // Hang-ups and errors.
  int q[2];
  SYS(pipe(q));
  struct later l = {q[1], 20, 'c'};
  t[0] = start(acts, &l);
  p[0] = (struct pollfd){q[0], POLLIN, 0};
  EXPECT_EQ(poll(p, 1, 20000), 1);
  EXPECT_EQ(p[0].revents, POLLHUP);
  join(t[0]);
  p[0] = (struct pollfd){q[0], 0, 0};  // told without asking
  EXPECT_EQ(poll(p, 1, -1), 1);
  EXPECT_EQ(p[0].revents, POLLHUP);
  close(q[0]);
  SYS(pipe(q));
  close(q[0]);
  p[0] = (struct pollfd){q[1], POLLOUT, 0};
  EXPECT_EQ(poll(p, 1, -1), 1);
  EXPECT_EQ(p[0].revents, POLLOUT | POLLERR);
  close(q[1]);
  p[0] = (struct pollfd){q[1], POLLIN, 0};  // closed: POLLNVAL, at once, beside a live one
  p[1] = (struct pollfd){v[0][0], POLLIN, 0};
  EXPECT_EQ(poll(p, 2, 20000), 1);
  EXPECT_EQ(p[0].revents, POLLNVAL);
  EXPECT_EQ(p[1].revents, 0);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, q));
  l = (struct later){q[1], 20, 'c'};
  t[0] = start(acts, &l);
  p[0] = (struct pollfd){q[0], POLLIN | POLLRDHUP, 0};
  EXPECT_EQ(poll(p, 1, 20000), 1);
  EXPECT_EQ(p[0].revents, POLLIN | POLLRDHUP | POLLHUP);
  join(t[0]);
  close(q[0]);

  // Twenty waiters, one byte: all are told.
  for (int r = 0; r < 3; r++) {
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, q));
    for (int i = 0; i < T; i++) t[i] = start(waits, &q[0]);
    sleep_ms(20);
    write_all(q[1], "x", 1);
    for (int i = 0; i < T; i++) join(t[i]);
    close(q[0]);
    close(q[1]);
  }
  // A listener.
  int ls = tcp_listen(4);
  t[0] = start(waits, &ls);
  sleep_ms(10);
  int c = tcp_connect(ls);
  join(t[0]);
  close(c);

  // Regular files are always ready.
  int f = open("/proc/self/exe", O_RDONLY);
  p[0] = (struct pollfd){f, POLLIN | POLLOUT, 0};
  EXPECT_EQ(poll(p, 1, 1000), 1);
  EXPECT_EQ(p[0].revents, POLLIN | POLLOUT);
  struct timespec bad = {0, -1};
  struct rlimit lim;
  SYS(getrlimit(RLIMIT_NOFILE, &lim));
  volatile nfds_t too_many = lim.rlim_cur + 1;
  FAILS(ppoll(p, 1, &bad, NULL), EINVAL);
  FAILS(poll(p, too_many, 0), EINVAL);
  return 0;
}
