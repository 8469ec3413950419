// posix/fd_numbers.c -- open() gives the lowest free number, always: nothing of the library's comes and goes there.
// timeout: 60
#include "expect.h"

static int stop;
static volatile unsigned long sink;

static void* burns(void* a) {
  while (!LOAD(stop)) sink++;
  return a;
}
static void* naps(void* a) {
  while (!LOAD(stop)) usleep(100);
  return a;
}

int main(void) {
  pthread_t t[6];
  for (int i = 0; i < 6; i++) OK(pthread_create(&t[i], NULL, i < 4 ? burns : naps, NULL));
  int lowest = (int)SYS(dup(0));
  close(lowest);
  for (int64_t end = now_ns() + 2 * SEC; now_ns() < end;)
    for (int i = 0; i < 100; i++) {
      int fd = (int)SYS(open("/dev/null", O_RDONLY));
      EXPECT_EQ(fd, lowest);
      close(fd);
    }
  STORE(stop, 1);
  for (int i = 0; i < 6; i++) OK(pthread_join(t[i], NULL));
  return 0;
}
