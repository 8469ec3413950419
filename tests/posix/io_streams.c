// posix/io_streams.c -- blocking reads and writes of every kind on pipes, socketpairs and TCP wait, move exact bytes, and see the end.
// timeout: 30
#include "expect.h"
#include <sys/uio.h>

// A late writer for the other end; the reader blocks first.
struct late { int fd; const char* text; int ms; int then_close; };
static void* writes_late(void* a) {
  struct late* l = (struct late*)a;
  sleep_ms(l->ms);
  write_all(l->fd, l->text, strlen(l->text));
  if (l->then_close) close(l->fd);
  return NULL;
}

static void one_way(int rd, int wr) {
  char b[64], c[64];
  struct late l = {wr, "hello", 20, 0};
  pthread_t t = start(writes_late, &l);
  EXPECT_EQ(read(rd, b, sizeof b), 5);  // blocks, then short
  EXPECT(!memcmp(b, "hello", 5));
  join(t);
  t = start(writes_late, &l);
  struct iovec v[3] = {{b, 2}, {NULL, 0}, {c, 60}};
  EXPECT_EQ(readv(rd, v, 3), 5);
  EXPECT(!memcmp(b, "he", 2) && !memcmp(c, "llo", 3));
  join(t);
  struct iovec w[3] = {{(void*)"ab", 2}, {NULL, 0}, {(void*)"cde", 3}};
  EXPECT_EQ(writev(wr, w, 3), 5);
  EXPECT_EQ(read(rd, b, 1), 1);
  EXPECT_EQ(read(rd, b + 1, 4), 4);
  EXPECT(!memcmp(b, "abcde", 5));
  EXPECT_EQ(read(rd, b, 0), 0);
  EXPECT_EQ(write(wr, b, 0), 0);
}

// Two-way request and reply, several pairs at once.
struct pair { int a, b; };
static void* echo(void* a) {
  int fd = ((struct pair*)a)->b;
  char b[256];
  ssize_t n;
  while ((n = read(fd, b, sizeof b)) > 0) write_all(fd, b, (size_t)n);
  EXPECT_EQ(n, 0);
  close(fd);
  return NULL;
}
static void* asks(void* a) {
  int fd = ((struct pair*)a)->a;
  uint64_t s = (uintptr_t)a;
  for (int i = 0; i < 200; i++) {
    char out[200], in[200];
    size_t n = 1 + rnd(&s) % sizeof out;
    for (size_t k = 0; k < n; k++) out[k] = (char)rnd(&s);
    write_all(fd, out, n);
    read_all(fd, in, n);
    EXPECT(!memcmp(in, out, n));
  }
  close(fd);
  return NULL;
}

static int before(int n, int fd[2]) { return n == 0 ? pipe(fd) : socketpair(AF_UNIX, SOCK_STREAM, 0, fd); }

int main(void) {
  watchdog(25);
  signal(SIGPIPE, SIG_IGN);
  for (int kind = 0; kind < 3; kind++) {
    int v[2];
    if (kind < 2) SYS(before(kind, v));
    else tcp_pair(v);
    int rd = v[0], wr = v[1];
    one_way(rd, wr);
    if (kind) one_way(wr, rd);
    // The end: what is left, then 0 for ever; a write without a reader is EPIPE.
    struct late l = {wr, "last", 20, 1};
    pthread_t t = start(writes_late, &l);
    char b[8];
    read_all(rd, b, 4);
    EXPECT_EQ(read(rd, b, 8), 0);
    EXPECT_EQ(read(rd, b, 8), 0);
    join(t);
    if (kind == 1) FAILS(write(rd, "x", 1), EPIPE);
    close(rd);
    // A read that blocks while the other end closes without writing.
    if (kind < 2) SYS(before(kind, v));
    else tcp_pair(v);
    l = (struct late){v[1], "", 30, 1};
    t = start(writes_late, &l);
    EXPECT_EQ(read(v[0], b, 8), 0);
    join(t);
    close(v[0]);
  }
  int v[2];
  SYS(pipe(v));
  close(v[0]);
  FAILS(write(v[1], "x", 1), EPIPE);
  FAILS(read(v[1], &v, 1), EBADF);
  close(v[1]);

  enum { N = 16 };
  struct pair p[N];
  pthread_t t[2 * N];
  for (int i = 0; i < N; i++) {
    int f[2];
    if (i & 1) tcp_pair(f);
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, f));
    p[i] = (struct pair){f[0], f[1]};
    t[2 * i] = start(echo, &p[i]);
    t[2 * i + 1] = start(asks, &p[i]);
  }
  for (int i = 0; i < 2 * N; i++) join(t[i]);
  return 0;
}
