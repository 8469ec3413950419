// posix/io_close.c -- closing a descriptor under a blocked thread leaves it blocked until the peer acts, as on Linux; reused numbers never mix.
// timeout: 30
#include "expect.h"

static int done;
static void* reads_x(void* a) {
  char b = 0;
  EXPECT_EQ(read((int)(intptr_t)a, &b, 1), 1);
  EXPECT_EQ(b, 'x');
  ADD(done, 1);
  return NULL;
}
static void* reads_y(void* a) {
  char b = 0;
  EXPECT_EQ(read((int)(intptr_t)a, &b, 1), 1);
  EXPECT_EQ(b, 'y');
  return NULL;
}
static void* reads_end(void* a) {
  char b;
  EXPECT_EQ(read((int)(intptr_t)a, &b, 1), 0);
  ADD(done, 1);
  return NULL;
}
static void make(int kind, int v[2]) {
  if (kind == 0) SYS(pipe(v));
  else if (kind == 1) SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  else tcp_pair(v);
}
static void* echo_once(void* a) {
  char b[16];
  int fd = (int)(intptr_t)a;
  ssize_t n = read(fd, b, sizeof b);
  EXPECT(n > 0);
  return num(b[0]);
}
static void* churn(void* a) {
  uint64_t s = (uintptr_t)a;
  for (int i = 0; i < 300; i++) {
    int v[2];
    make((int)(rnd(&s) % 3 == 2 && i % 8 == 0 ? 2 : rnd(&s) % 2), v);
    pthread_t t = start(echo_once, num(v[0]));
    if (rnd(&s) & 1) sched_yield();
    char c = (char)('a' + rnd(&s) % 26);
    write_all(v[1], &c, 1);
    EXPECT_EQ(join(t), c);
    close(v[0]);
    close(v[1]);
  }
  return NULL;
}
static void* accepts(void* a) {
  int fd = (int)SYS(accept((int)(intptr_t)a, NULL, NULL));
  ADD(done, 1);
  close(fd);
  return NULL;
}

int main(void) {
  watchdog(25);
  signal(SIGPIPE, SIG_IGN);
  for (int kind = 0; kind < 3; kind++) {
    int v[2], w[2];
    // Closed under it: still blocked; the peer's byte still reaches it.
    make(kind, v);
    done = 0;
    pthread_t t = start(reads_x, num(v[0]));
    sleep_ms(150);
    close(v[0]);
    sleep_ms(60);
    EXPECT_EQ(LOAD(done), 0);
    EXPECT_EQ(write(v[1], "x", 1), 1);
    join(t);
    close(v[1]);

    // Closed, and the number used for something else at once.
    make(kind, v);
    done = 0;
    t = start(reads_x, num(v[0]));
    sleep_ms(150);
    make((kind + 1) % 3, w);
    SYS(dup2(w[0], v[0]));  // takes the number over
    close(w[0]);
    pthread_t t2 = start(reads_y, num(v[0]));
    sleep_ms(100);
    write_all(w[1], "y", 1);
    join(t2);
    EXPECT_EQ(LOAD(done), 0);
    write_all(v[1], "x", 1);
    join(t);
    close(v[0]);
    close(v[1]);
    close(w[1]);

    // Closed here, then the peer ends: told so.
    make(kind, v);
    done = 0;
    t = start(reads_end, num(v[0]));
    sleep_ms(150);
    close(v[0]);
    sleep_ms(150);
    EXPECT_EQ(LOAD(done), 0);
    close(v[1]);
    join(t);

    // One of two descriptors of the same thing closed: nothing happens to the other's reader.
    make(kind, v);
    int d = (int)SYS(dup(v[0]));
    done = 0;
    t = start(reads_x, num(d));
    sleep_ms(100);
    close(v[0]);
    sleep_ms(150);
    EXPECT_EQ(LOAD(done), 0);
    write_all(v[1], "x", 1);
    join(t);
    close(d);
    close(v[1]);
  }
  // accept: a connection still arrives at the closed listener's waiting thread.
  int l = tcp_listen(4);
  struct sockaddr_in a = name_of(l);
  done = 0;
  pthread_t t = start(accepts, num(l));
  sleep_ms(150);
  close(l);
  sleep_ms(150);
  EXPECT_EQ(LOAD(done), 0);
  int c = (int)SYS(socket(AF_INET, SOCK_STREAM, 0));
  SYS(connect(c, (struct sockaddr*)&a, sizeof a));
  join(t);
  close(c);

  // Numbers are reused right after close, from several threads, again and again.
  pthread_t u[6];
  for (int i = 0; i < 6; i++) u[i] = start(churn, num(i + 1));
  for (int i = 0; i < 6; i++) join(u[i]);

  FAILS(close(-1), EBADF);
  int v[2];
  SYS(pipe(v));
  close(v[0]);
  FAILS(close(v[0]), EBADF);
  char b;
  FAILS(read(v[0], &b, 1), EBADF);
  // close_range is a close as well.
  make(1, v);
  int lo = v[0] < v[1] ? v[0] : v[1];
  t = start(reads_x, num(v[0]));
  sleep_ms(100);
  int keep = (int)SYS(fcntl(v[1], F_DUPFD, lo + 50));
  if (close_range((unsigned)lo, (unsigned)lo + 40, 0) == 0) {
    int w[2];
    make(0, w);
    pthread_t t2 = start(reads_y, num(w[0]));
    write_all(w[1], "y", 1);
    join(t2);
  }
  write_all(keep, "x", 1);
  join(t);
  return 0;
}
