// posix/io_close_race.c -- a descriptor closed just as another thread begins to read it: the read ends with the end of the file, or with EBADF, and never stays.
// timeout: 60
#include "expect.h"

static int fd, go;
static void* reads(void* a) {
  char b;
  for (int i = 1; i <= (int)(intptr_t)a; i++) {
    while (LOAD(go) != i) {
    }
    ssize_t n = read(fd, &b, 1);
    EXPECT(n == 0 || (n == -1 && (errno == EBADF || errno == ECONNRESET)));
    STORE(go, -i);
  }
  return NULL;
}

int main(void) {
  watchdog(55);
  enum { N = 600 };
  uint64_t s = 1;
  pthread_t t = start(reads, num(N));
  for (int i = 1; i <= N; i++) {
    int v[2];
    if (i % 3 == 0) SYS(pipe(v));
    else if (i % 3 == 1) SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    else tcp_pair(v);
    fd = (int)SYS(fcntl(v[0], F_DUPFD, 100));  // away from the lowest number, which anything may open meanwhile
    close(v[0]);
    STORE(go, i);
    for (volatile uint64_t k = rnd(&s) % 4000; k > 0; k--) {
    }
    close(fd);
    for (volatile uint64_t k = rnd(&s) % 4000; k > 0; k--) {
    }
    close(v[1]);
    int64_t limit = now_ns() + 20 * SEC;
    while (LOAD(go) != -i) {
      EXPECT(now_ns() < limit && "the read has not ended");
      if (i % 2) sched_yield();
    }
  }
  join(t);
  return 0;
}
