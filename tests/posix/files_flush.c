// posix/files_flush.c -- fsync, fdatasync, msync, syncfs, sync and getrandom from many threads: what they say, and errors as they are.
// timeout: 60
#include <sys/mman.h>
#include <sys/random.h>

#include "expect.h"

enum { T = 4, SIZE = 1 << 16 };
static void* flushes(void* a) {
  char name[16];
  snprintf(name, sizeof name, "f%d", (int)(intptr_t)a);
  int fd = (int)SYS(open(name, O_RDWR | O_CREAT, 0600));
  SYS(ftruncate(fd, SIZE));
  char* p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT(p != MAP_FAILED);
  for (int i = 0; i < 3; i++) {
    memset(p, 'a' + i, SIZE);
    SYS(msync(p, SIZE, i & 1 ? MS_ASYNC : MS_SYNC));
    char b[2];
    EXPECT_EQ(pread(fd, b, 2, SIZE - 2), 2);
    EXPECT(b[0] == 'a' + i && b[1] == 'a' + i);
    SYS(fsync(fd));
    SYS(fdatasync(fd));
    if (a == NULL) {
      SYS(syncfs(fd));
      sync();
    }
    unsigned char r[300];
    memset(r, 0, sizeof r);
    EXPECT_EQ(getrandom(r, sizeof r, 0), sizeof r);
    int sum = 0;
    for (size_t k = 0; k < sizeof r; k++) sum |= r[k];
    EXPECT(sum != 0);
  }
  SYS(munmap(p, SIZE));
  FAILS(msync(p, SIZE, MS_SYNC), ENOMEM);
  close(fd);
  return NULL;
}

int main(void) {
  watchdog(55);
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(flushes, num(i));
  for (int i = 0; i < T; i++) join(t[i]);
  int p[2];
  SYS(pipe(p));
  FAILS(fsync(p[0]), EINVAL);
  FAILS(fdatasync(-1), EBADF);
  FAILS(syncfs(-1), EBADF);
  FAILS(getrandom(p, sizeof p, 0x8000), EINVAL);
  return 0;
}
