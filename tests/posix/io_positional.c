// posix/io_positional.c -- pread, pwrite and their vector forms keep offsets exact; at offset -1 the v2 calls wait as readv and writev do.
// timeout: 30
#include "expect.h"
#include <sys/uio.h>

enum { T = 8, R = 100, BLOCK = 512 };
static int file;

static void* own_stripe(void* a) {
  int me = (int)(intptr_t)a;
  char w[BLOCK], r[BLOCK];
  for (int i = 0; i < R; i++) {
    off_t at = ((off_t)i * T + me) * BLOCK;
    memset(w, me * 16 + i % 16, BLOCK);
    struct iovec out[3] = {{w, 1}, {w + 1, 100}, {w + 101, BLOCK - 101}}, in[2] = {{r, 300}, {r + 300, BLOCK - 300}};
    switch (i % 3) {
      case 0: EXPECT_EQ(pwrite(file, w, BLOCK, at), BLOCK); break;
      case 1: EXPECT_EQ(pwritev(file, out, 3, at), BLOCK); break;
      case 2: EXPECT_EQ(pwritev2(file, out, 3, at, 0), BLOCK); break;
    }
    memset(r, 0, sizeof r);
    switch (i % 4) {
      case 0: EXPECT_EQ(pread(file, r, BLOCK, at), BLOCK); break;
      case 1: EXPECT_EQ(preadv(file, in, 2, at), BLOCK); break;
      case 2: EXPECT_EQ(preadv2(file, in, 2, at, 0), BLOCK); break;
      case 3: EXPECT_EQ(pread64(file, r, BLOCK, at), BLOCK); break;
    }
    EXPECT(!memcmp(w, r, BLOCK));
  }
  return NULL;
}

static void* writes_late(void* a) {
  int fd = *(int*)a;
  sleep_ms(20);
  struct iovec v[2] = {{(void*)"he", 2}, {(void*)"llo", 3}};
  EXPECT_EQ(pwritev2(fd, v, 2, -1, 0), 5);
  return NULL;
}
static void* reads_never(void* a) {
  char b[8];
  struct iovec v = {b, sizeof b};
  preadv2(*(int*)a, &v, 1, -1, 0);
  return NULL;
}
static int drained;
static void* drains(void* a) {
  char b[4096];
  sleep_ms(20);
  STORE(drained, 1);
  for (size_t got = 0; got < 300000;) got += (size_t)SYS(read(*(int*)a, b, sizeof b));
  return NULL;
}

static void stream(int v[2]) {
  char b[16];
  struct iovec in[2] = {{b, 3}, {b + 3, 13}};
  pthread_t t = start(writes_late, &v[1]);
  EXPECT_EQ(preadv2(v[0], in, 2, -1, 0), 5);
  EXPECT(!memcmp(b, "hello", 5));
  join(t);
  EXPECT(preadv2(v[0], in, 2, -1, RWF_NOWAIT) == -1);
  EXPECT(errno == EAGAIN || errno == EOPNOTSUPP);
  // A full one is written to the end.
  static char big[300000];
  STORE(drained, 0);
  t = start(drains, &v[0]);
  struct iovec out[2] = {{big, 100000}, {big + 100000, 200000}};
  EXPECT_EQ(pwritev2(v[1], out, 2, -1, 0), 300000);
  EXPECT(LOAD(drained));
  join(t);
  FAILS(pread(v[0], b, 1, 0), ESPIPE);
  FAILS(pwrite(v[1], b, 1, 0), ESPIPE);
  FAILS(preadv(v[0], in, 2, 0), ESPIPE);
  t = start(reads_never, &v[0]);
  sleep_ms(20);
  OK(pthread_cancel(t));
  EXPECT(join(t) == PTHREAD_CANCELED);
  close(v[0]);
  close(v[1]);
}

int main(void) {
  watchdog(25);
  file = (int)SYS(open("positional", O_RDWR | O_CREAT | O_TRUNC, 0600));
  struct stat st;
  SYS(fstat(file, &st));
  EXPECT_EQ(st.st_mode & 0777, 0600);
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(own_stripe, num(i));
  for (int i = 0; i < T; i++) join(t[i]);
  EXPECT_EQ(lseek(file, 0, SEEK_CUR), 0);  // none of them moved it
  EXPECT_EQ(lseek(file, 0, SEEK_END), (off_t)T * R * BLOCK);
  char b[8] = "1234567";
  struct iovec v = {b, 8};
  EXPECT_EQ(pread(file, b, 8, (off_t)T * R * BLOCK), 0);
  FAILS(pread(file, b, 8, -1), EINVAL);
  FAILS(pwrite(-1, b, 8, 0), EBADF);
  FAILS(preadv(file, &v, -1, 0), EINVAL);
  // -1 of the v2 calls is the file's own offset.
  EXPECT_EQ(lseek(file, 0, SEEK_SET), 0);
  EXPECT_EQ(pwritev2(file, &v, 1, -1, 0), 8);
  EXPECT_EQ(lseek(file, 0, SEEK_CUR), 8);
  EXPECT_EQ(pwritev2(file, &v, 1, 0, RWF_APPEND), 8);
  EXPECT_EQ(lseek(file, 0, SEEK_END), (off_t)T * R * BLOCK + 8);
  int p[2];
  SYS(pipe(p));
  stream(p);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, p));
  stream(p);
  return 0;
}
