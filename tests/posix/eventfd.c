// posix/eventfd.c -- eventfd reads wait for a count, writes wait for room, the semaphore kind gives one at a time.
#include "expect.h"
#include <sys/eventfd.h>

static int fd, got;
static void* takes(void* a) {
  uint64_t v = 0;
  EXPECT_EQ(read(fd, &v, 8), 8);
  EXPECT(v > 0);
  ADD(got, (int)v);
  return a;
}
static void* adds(void* a) {
  sleep_ms(20);
  OK(eventfd_write(fd, (eventfd_t)(uintptr_t)a));
  return NULL;
}
static void* waits_for_room(void* a) {
  OK(eventfd_write(fd, 5));
  ADD(got, 100);
  return a;
}

int main(void) {
  watchdog(9);
  fd = (int)SYS(eventfd(0, EFD_CLOEXEC));
  pthread_t t[10], w = start(adds, num(7));
  uint64_t v;
  EXPECT_EQ(read(fd, &v, 8), 8);
  EXPECT_EQ(v, 7);
  join(w);
  FAILS(read(fd, &v, 4), EINVAL);
  w = start(adds, num(3));
  struct pollfd p = {fd, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 5000), 1);
  OK(eventfd_read(fd, &v));
  EXPECT_EQ(v, 3);
  join(w);
  // No room: the writer waits.
  OK(eventfd_write(fd, UINT64_MAX - 1));
  w = start(waits_for_room, NULL);
  sleep_ms(40);
  EXPECT_EQ(LOAD(got), 0);
  OK(eventfd_read(fd, &v));
  EXPECT(v == UINT64_MAX - 1);
  join(w);
  OK(eventfd_read(fd, &v));
  EXPECT_EQ(v, 5);
  FAILS(eventfd_write(fd, UINT64_MAX), EINVAL);
  close(fd);

  // Semaphore kind: each read takes one, each waiter is served.
  got = 0;
  fd = (int)SYS(eventfd(0, EFD_SEMAPHORE));
  for (int i = 0; i < 10; i++) t[i] = start(takes, NULL);
  sleep_ms(20);
  OK(eventfd_write(fd, 4));
  WAIT_UNTIL(LOAD(got) == 4);
  sleep_ms(20);
  EXPECT_EQ(LOAD(got), 4);
  for (int i = 0; i < 6; i++) OK(eventfd_write(fd, 1));
  for (int i = 0; i < 10; i++) join(t[i]);
  EXPECT_EQ(got, 10);
  close(fd);
  fd = (int)SYS(eventfd(0, EFD_NONBLOCK));
  FAILS(read(fd, &v, 8), EAGAIN);
  return 0;
}
