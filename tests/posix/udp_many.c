// posix/udp_many.c -- sixteen threads receiving on one UDP socket get each datagram exactly once, and none sleeps through.
// timeout: 30
#include "expect.h"

enum { T = 16, N = 4000, BURST = 40 };
static int fd, seen[N], total;
static void* receives(void* a) {
  for (;;) {
    int id = -2;
    ssize_t n;
    switch ((intptr_t)a % 3) {
      case 0: n = recv(fd, &id, sizeof id, 0); break;
      case 1: n = read(fd, &id, sizeof id); break;
      default: {
        struct sockaddr_in from;
        socklen_t l = sizeof from;
        n = recvfrom(fd, &id, sizeof id, 0, (struct sockaddr*)&from, &l);
      }
    }
    EXPECT_EQ(n, sizeof id);
    if (id == -1) return NULL;
    EXPECT_EQ(ADD(seen[id], 1), 1);
    ADD(total, 1);
  }
}

int main(void) {
  watchdog(25);
  fd = udp_bound();
  int out = udp_bound();
  struct sockaddr_in to = name_of(fd);
  SYS(connect(out, (struct sockaddr*)&to, sizeof to));
  pthread_t t[T];
  for (int i = 0; i < T; i++) t[i] = start(receives, num(i));
  for (int i = 0; i < N; i++) {
    EXPECT_EQ(send(out, &i, sizeof i, 0), sizeof i);
    // Not more than the socket's buffer holds: loopback loses nothing then.
    if (i % BURST == BURST - 1) WAIT_UNTIL(LOAD(total) == i + 1);
  }
  for (int i = 0; i < N; i++) EXPECT_EQ(seen[i], 1);
  for (int i = 0, end = -1; i < T; i++) EXPECT_EQ(send(out, &end, sizeof end, 0), sizeof end);
  for (int i = 0; i < T; i++) join(t[i]);
  return 0;
}
