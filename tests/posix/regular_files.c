// posix/regular_files.c -- regular files: offsets, appends, vectors, sendfile and splice stay exact under many threads.
// timeout: 30
#include "expect.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { T = 16, R = 200, BLOCK = 256 };
static int fd, app;
static void* own_place(void* a) {
  int me = (int)(intptr_t)a;
  char b[BLOCK], c[BLOCK];
  for (int i = 0; i < R; i++) {
    memset(b, (me * 31 + i) & 0xff, sizeof b);
    off_t at = ((off_t)i * T + me) * BLOCK;
    if (i & 1) EXPECT_EQ(pwrite(fd, b, BLOCK, at), BLOCK);
    else EXPECT_EQ(pwritev(fd, (struct iovec[2]){{b, 100}, {b + 100, BLOCK - 100}}, 2, at), BLOCK);
    if (i & 2) EXPECT_EQ(pread(fd, c, BLOCK, at), BLOCK);
    else EXPECT_EQ(preadv(fd, (struct iovec[2]){{c, 50}, {c + 50, BLOCK - 50}}, 2, at), BLOCK);
    EXPECT(!memcmp(b, c, BLOCK));
    if (i == 100) SYS(fsync(fd));
    int rec[2] = {me, i};
    EXPECT_EQ(write(app, rec, sizeof rec), sizeof rec);
  }
  return NULL;
}
static int shared_off, blocks_seen[T * R];
static void* shared_offset(void* a) {
  char b[BLOCK];
  ssize_t n;
  while ((n = read(shared_off, b, BLOCK)) > 0) {
    EXPECT_EQ(n, BLOCK);
    ADD(blocks_seen[0], 1);
  }
  EXPECT_EQ(n, 0);
  return a;
}
static int out[2];
static void* drains(void* a) {
  char b[4096];
  ssize_t n;
  intptr_t sum = 0;
  while ((n = read(out[0], b, sizeof b)) > 0) sum += n;
  (void)a;
  return num(sum);
}

int main(void) {
  watchdog(25);
  FILE *f = tmpfile(), *g = tmpfile();
  EXPECT(f && g);
  fd = fileno(f);
  app = fileno(g);
  SYS(fcntl(app, F_SETFL, O_APPEND));
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(own_place, num(i));
  for (int i = 0; i < T; i++) join(t[i]);
  EXPECT_EQ(lseek(fd, 0, SEEK_END), (off_t)T * R * BLOCK);
  // Appends: all there, each thread's in its order.
  EXPECT_EQ(lseek(app, 0, SEEK_END), (off_t)T * R * 8);
  int next[T] = {0}, rec[2];
  for (int i = 0; i < T * R; i++) {
    EXPECT_EQ(pread(app, rec, 8, i * 8), 8);
    EXPECT_EQ(rec[1], next[rec[0]]++);
  }
  // One offset shared by all: every block read once.
  shared_off = fd;
  SYS(lseek(fd, 0, SEEK_SET));
  for (int i = 0; i < T; i++) t[i] = start(shared_offset, NULL);
  for (int i = 0; i < T; i++) join(t[i]);
  EXPECT_EQ(blocks_seen[0], T * R);

  // sendfile into a socket that fills up, splice through a pipe that fills up.
  size_t total = (size_t)T * R * BLOCK;
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, out));
  t[0] = start(drains, NULL);
  off_t at = 0;
  while ((size_t)at < total) EXPECT(sendfile(out[1], fd, &at, total - (size_t)at) > 0);
  close(out[1]);
  EXPECT_EQ(join(t[0]), total);
  close(out[0]);
  SYS(pipe(out));
  t[0] = start(drains, NULL);
  loff_t from = 0;
  while ((size_t)from < total) EXPECT(splice(fd, &from, out[1], NULL, total - (size_t)from, 0) > 0);
  close(out[1]);
  EXPECT_EQ(join(t[0]), total);
  close(out[0]);

  char b;
  EXPECT_EQ(pread(fd, &b, 1, (off_t)total + 5), 0);
  FAILS(pread(fd, &b, 1, -1), EINVAL);
  int d = open("/", O_RDONLY | O_DIRECTORY);
  FAILS(read(d, &b, 1), EISDIR);
  fclose(f);
  fclose(g);
  return 0;
}
