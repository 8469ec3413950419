// posix/files_dont_stall.c -- threads that write megabytes to disk and flush them do not hold up an echo over a socket.
// timeout: 60
// procs: 1 2
#include "expect.h"
#include <sys/file.h>

enum { MB = 1 << 20, WRITERS = 3, ECHOES = 200 };
static int stop, rounds;
static void* writer(void* a) {
  char name[16];
  sprintf(name, "big%d", (int)(intptr_t)a);
  int fd = (int)SYS(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));
  char* b = (char*)malloc(MB);
  memset(b, 'w', MB);
  for (int i = 0; !LOAD(stop); i++) {
    SYS(flock(fd, LOCK_EX));
    if (i & 1) EXPECT_EQ(pwrite(fd, b, MB, 0), MB);
    else EXPECT_EQ(write(fd, b, MB), MB);
    SYS(i % 3 ? fdatasync(fd) : fsync(fd));
    SYS(flock(fd, LOCK_UN));
    SYS(lseek(fd, 0, SEEK_SET));
    ADD(rounds, 1);
  }
  free(b);
  close(fd);
  return NULL;
}
static void* echo(void* a) {
  char c;
  while (read(*(int*)a, &c, 1) == 1) write_all(*(int*)a, &c, 1);
  return NULL;
}

int main(void) {
  watchdog(55);
  int v[2];
  tcp_pair(v);
  pthread_t e = start(echo, &v[1]), w[WRITERS];
  for (int i = 0; i < WRITERS; i++) w[i] = start(writer, num(i));
  WAIT_UNTIL(LOAD(rounds) >= WRITERS);
  int64_t times[ECHOES];
  for (int i = 0; i < ECHOES; i++) {
    char c = (char)i;
    int64_t t0 = now_ns();
    write_all(v[0], &c, 1);
    read_all(v[0], &c, 1);
    times[i] = now_ns() - t0;
    EXPECT_EQ(c, (char)i);
    sleep_ms(1);
  }
  STORE(stop, 1);
  for (int i = 0; i < WRITERS; i++) join(w[i]);
  SYS(shutdown(v[0], SHUT_WR));
  join(e);
  // A machine that is busy or slow delays some; most are quick.
  int slow = 0;
  for (int i = 0; i < ECHOES; i++) slow += times[i] > 50 * MS;
  EXPECT_LE(slow, ECHOES / 4);
  return 0;
}
