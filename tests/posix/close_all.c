// posix/close_all.c -- a program may close every descriptor above some number at any time, by loop, close_range or closefrom: threads go on.
// timeout: 40
#include "expect.h"

static void* echo(void* a) {
  char c;
  int* v = a;
  while (read(v[0], &c, 1) == 1) write_all(v[1], &c, 1);
  return a;
}
static void* sleeps(void* a) {
  for (int i = 0; i < 20; i++) sleep_ms(1);
  return a;
}
static int in[2], out[2];
static void works(void) {
  pthread_t s = start(sleeps, NULL);
  for (int i = 0; i < 100; i++) {
    char c = (char)i, d = 0;
    write_all(in[1], &c, 1);
    read_all(out[0], &d, 1);
    EXPECT_EQ(c, d);
  }
  join(s);
}

int main(void) {
  watchdog(35);
  SYS(pipe(in));
  SYS(pipe(out));
  pthread_t t = start(echo, (int[2]){in[0], out[1]});
  works();
  int lo = out[1] + 1;
  for (int how = 0; how < 4; how++) {
    int one = (int)SYS(fcntl(in[0], F_DUPFD, lo)), far = (int)SYS(fcntl(in[0], F_DUPFD, 900));
    switch (how) {
      case 0:
        for (int fd = lo; fd < 1500; fd++) close(fd);
        break;
      case 1: SYS(close_range((unsigned)lo, ~0u, 0)); break;
      case 2: closefrom(lo); break;
      case 3: SYS(syscall(SYS_close_range, lo, ~0u, 0)); break;
    }
    FAILS(fcntl(one, F_GETFD), EBADF);
    FAILS(fcntl(far, F_GETFD), EBADF);
    works();
  }
  // Any number may be asked for.
  for (int fd = 900; fd < 1100; fd++) {
    EXPECT_EQ(dup2(in[1], fd), fd);
    if (fd % 40 == 0) works();
  }
  works();
  for (int fd = 900; fd < 1100; fd++) SYS(close(fd));
  works();
  close(in[1]);
  join(t);
  return 0;
}
