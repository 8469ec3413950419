// posix/open_fifo.c -- opening a FIFO waits for the other end, in many threads at once, and nobody else is held up.
// timeout: 30
#include "expect.h"

enum { N = 20 };
static int opened;
static void path_of(int i, char* b) { sprintf(b, "fifo%d", i); }
static void* reader(void* a) {
  char p[16], b[8];
  path_of((int)(intptr_t)a, p);
  int fd = (int)(((intptr_t)a & 1) ? SYS(open(p, O_RDONLY)) : SYS(openat(AT_FDCWD, p, O_RDONLY | O_CLOEXEC)));
  ADD(opened, 1);
  read_all(fd, b, 3);
  EXPECT(!memcmp(b, "abc", 3));
  EXPECT_EQ(read(fd, b, 1), 0);
  close(fd);
  return NULL;
}
static void* opens(void* a) {
  (void)a;
  open("fifo0", O_WRONLY);
  return NULL;
}

int main(void) {
  watchdog(25);
  char p[16];
  pthread_t t[N];
  for (int i = 0; i < N; i++) {
    path_of(i, p);
    SYS(mkfifo(p, 0600));
    t[i] = start(reader, num(i));
  }
  for (int i = 0; i < 10; i++) sleep_ms(2);
  EXPECT_EQ(LOAD(opened), 0);
  for (int i = 0; i < N; i++) {
    path_of(i, p);
    int fd = (int)SYS(open64(p, O_WRONLY));
    sleep_ms(1);
    write_all(fd, "abc", 3);
    close(fd);
  }
  for (int i = 0; i < N; i++) join(t[i]);
  FAILS(open("fifo0", O_WRONLY | O_NONBLOCK), ENXIO);
  FAILS(open("nowhere", O_RDONLY), ENOENT);
  FAILS(openat(-1, "nowhere", O_RDONLY), EBADF);
  int fd = (int)SYS(open("fifo0", O_RDONLY | O_NONBLOCK)), w = (int)SYS(open("fifo0", O_WRONLY));
  char b;
  FAILS(read(fd, &b, 1), EAGAIN);  // the flag given at open holds
  SYS(fcntl(fd, F_SETFL, 0));
  write_all(w, "z", 1);
  EXPECT_EQ(read(fd, &b, 1), 1);
  close(fd);
  close(w);
  struct stat st;
  fd = (int)SYS(creat("made", 0640));
  SYS(fstat(fd, &st));
  umask(022);
  EXPECT(S_ISREG(st.st_mode) && (st.st_mode & 0700) == 0600);
  close(fd);
  fd = open(".", O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0) {
    SYS(fstat(fd, &st));
    EXPECT_EQ(st.st_mode & 0777, 0600);
    close(fd);
  }

  pthread_t k = start(opens, NULL);
  sleep_ms(10);
  OK(pthread_cancel(k));
  EXPECT(join(k) == PTHREAD_CANCELED);
  return 0;
}
