// posix/select.c -- select and pselect: limits never early, sets rewritten as documented, the time left given back by select only.
// timeout: 30
#include "expect.h"
#include <sys/select.h>

struct later { int fd; int ms; };
static void* writes(void* a) {
  struct later* l = (struct later*)a;
  sleep_ms(l->ms);
  write_all(l->fd, "x", 1);
  return NULL;
}
static void* expires(void* a) {
  int ms = (int)(intptr_t)a, v[2];
  SYS(pipe(v));
  for (int i = 0; i < 3; i++) {
    fd_set r;
    FD_ZERO(&r);
    FD_SET(v[0], &r);
    struct timeval tv = {0, ms * 1000};
    int64_t t0 = now_ns();
    EXPECT_EQ(select(v[0] + 1, &r, NULL, NULL, &tv), 0);
    EXPECT_GE(now_ns() - t0, ms * MS);
    EXPECT(!FD_ISSET(v[0], &r));
    EXPECT(tv.tv_sec == 0 && tv.tv_usec == 0);
    FD_SET(v[0], &r);
    struct timespec ts = ts_of(ms * MS);
    t0 = now_ns();
    EXPECT_EQ(pselect(v[0] + 1, &r, NULL, NULL, &ts, NULL), 0);
    EXPECT_GE(now_ns() - t0, ms * MS);
    EXPECT_EQ(ts.tv_nsec, ms * MS);
    tv = (struct timeval){0, ms * 1000};
    t0 = now_ns();
    EXPECT_EQ(select(0, NULL, NULL, NULL, &tv), 0);
    EXPECT_GE(now_ns() - t0, ms * MS);
  }
  close(v[0]);
  close(v[1]);
  return NULL;
}

int main(void) {
  watchdog(25);
  enum { T = 20 };
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(expires, num(10 + i * 3));
  for (int i = 0; i < T; i++) join(t[i]);

  int v[5][2];
  for (int i = 0; i < 5; i++) {
    if (i % 3 == 0) SYS(pipe(v[i]));
    else if (i % 3 == 1) SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v[i]));
    else tcp_pair(v[i]);
  }
  int max = 0;
  for (int i = 0; i < 5; i++) {
    if (v[i][0] > max) max = v[i][0];
    if (v[i][1] > max) max = v[i][1];
  }
  for (int hit = 0; hit < 5; hit++) {
    fd_set r, x;
    FD_ZERO(&r);
    FD_ZERO(&x);
    for (int i = 0; i < 5; i++) FD_SET(v[i][0], &r);
    FD_SET(v[1][0], &x);
    struct later l = {v[hit][1], 20};
    struct timeval tv = {20, 0};
    t[0] = start(writes, &l);
    int64_t t0 = now_ns();
    EXPECT_EQ(select(max + 1, &r, NULL, &x, &tv), 1);
    int64_t took = now_ns() - t0, left = tv.tv_sec * SEC + tv.tv_usec * 1000;
    EXPECT(left > 0 && left < 20 * SEC);
    EXPECT_GE(left, 20 * SEC - took - SEC);
    for (int i = 0; i < 5; i++) EXPECT_EQ(!!FD_ISSET(v[i][0], &r), i == hit);
    EXPECT(!FD_ISSET(v[1][0], &x));
    join(t[0]);
    // Read and write sets together: both counted.
    fd_set w;
    FD_ZERO(&w);
    FD_SET(v[1][0], &w);
    FD_ZERO(&r);
    FD_SET(v[hit][0], &r);
    EXPECT_EQ(select(max + 1, &r, &w, NULL, NULL), 2);
    EXPECT(FD_ISSET(v[1][0], &w));
    char b;
    read_all(v[hit][0], &b, 1);
    tv = (struct timeval){0, 0};
    FD_SET(v[hit][0], &r);
    EXPECT_EQ(select(max + 1, &r, NULL, NULL, &tv), 0);
    EXPECT(!FD_ISSET(v[hit][0], &r));
  }
  // The end of a pipe is readable.
  close(v[0][1]);
  fd_set r;
  FD_ZERO(&r);
  FD_SET(v[0][0], &r);
  EXPECT_EQ(select(max + 1, &r, NULL, NULL, NULL), 1);
  // Errors leave the sets alone.
  close(v[0][0]);
  FD_ZERO(&r);
  FD_SET(v[0][0], &r);
  FAILS(select(max + 1, &r, NULL, NULL, NULL), EBADF);
  EXPECT(FD_ISSET(v[0][0], &r));
  FAILS(select(-1, NULL, NULL, NULL, NULL), EINVAL);
  struct timeval bad = {-1, 0};
  FAILS(select(0, NULL, NULL, NULL, &bad), EINVAL);
  struct timespec badts = {0, 1000000000};
  FAILS(pselect(0, NULL, NULL, NULL, &badts, NULL), EINVAL);
  return 0;
}
