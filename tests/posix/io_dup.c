// posix/io_dup.c -- dup, dup2, dup3 and F_DUPFD copies share one queue: each byte goes to one reader, each waiter can be woken.
// timeout: 30
#include "expect.h"

static int got;
static void* reads(void* a) {
  char b;
  EXPECT_EQ(recv((int)(intptr_t)a, &b, 1, 0), 1);
  ADD(got, 1);
  return num(b);
}

int main(void) {
  watchdog(25);
  for (int round = 0; round < 10; round++) {
    int v[2], d[4];
    if (round & 1) tcp_pair(v);
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    d[0] = v[0];
    d[1] = (int)SYS(dup(v[0]));
    d[2] = (int)SYS(fcntl(v[0], F_DUPFD_CLOEXEC, 50));
    EXPECT(fcntl(d[2], F_GETFD) & FD_CLOEXEC);
    d[3] = (int)SYS(dup3(v[0], d[2] + 1, O_CLOEXEC));
    got = 0;
    pthread_t t[8];
    for (int i = 0; i < 8; i++) t[i] = start(reads, num(d[i % 4]));
    sleep_ms(20);
    for (int i = 1; i <= 8; i++) {
      write_all(v[1], &"0abcdefgh"[i], 1);
      if (round & 2) WAIT_UNTIL(LOAD(got) == i);
    }
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += (int)(intptr_t)join(t[i]);
    EXPECT_EQ(sum, 'a' + 'b' + 'c' + 'd' + 'e' + 'f' + 'g' + 'h');
    // dup2 onto an open descriptor closes that one: its peer sees the end.
    int w[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, w));
    EXPECT_EQ(dup2(v[0], w[0]), w[0]);
    char b;
    EXPECT_EQ(read(w[1], &b, 1), 0);
    t[0] = start(reads, num(w[0]));
    sleep_ms(5);
    write_all(v[1], "q", 1);
    EXPECT_EQ(join(t[0]), 'q');
    EXPECT_EQ(dup2(w[0], w[0]), w[0]);
    FAILS(dup3(w[0], w[0], 0), EINVAL);
    FAILS(dup2(-1, w[0]), EBADF);
    // The peer sees the end only when the last copy is closed.
    for (int i = 0; i < 4; i++) close(d[i]);
    FAILS(recv(v[1], &b, 1, MSG_DONTWAIT), EAGAIN);
    close(w[0]);
    EXPECT_EQ(read(v[1], &b, 1), 0);
    close(w[1]);
    close(v[1]);
  }
  return 0;
}
