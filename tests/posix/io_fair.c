// posix/io_fair.c -- a server that is never idle serves everybody: with more requests waiting than it can answer, no connection is left behind.
// timeout: 60
// Counted in replies, not in time: the load comes from another process and each connection sends its next request
// when it has the reply, so equal service means equal counts.
#include "expect.h"
#include <sys/epoll.h>
#include <sys/wait.h>

enum { kConns = 600, kPerConn = 150 };

static int ends[kConns][2];

static void* echo(void* arg) {
  int fd = ends[(intptr_t)arg][0];
  char buf[64];
  ssize_t n;
  while ((n = read(fd, buf, sizeof buf)) > 0) {
    // Some work for each request, so that the queue is always long.
    for (volatile int i = 0; i < 12000; i++) {}
    if (send(fd, buf, (size_t)n, MSG_NOSIGNAL) != n) break;
  }
  EXPECT(n == 0 || errno == ECONNRESET || errno == EPIPE);  // the load ends with replies unread
  return 0;
}

// The child: until kConns * kPerConn replies came in all. Each connection must have had its share.
static int load(void) {
  static int count[kConns];
  int ep = epoll_create1(0);
  char b[64] = "request";
  for (int i = 0; i < kConns; i++) {
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = (unsigned)i};
    EXPECT(fcntl(ends[i][1], F_SETFL, O_NONBLOCK) == 0);
    EXPECT(epoll_ctl(ep, EPOLL_CTL_ADD, ends[i][1], &e) == 0);
    EXPECT(write(ends[i][1], b, sizeof b) == sizeof b);
  }
  long all = 0;
  while (all < (long)kConns * kPerConn) {
    struct epoll_event ev[256];
    int n = epoll_wait(ep, ev, 256, -1);
    EXPECT(n > 0);
    for (int k = 0; k < n; k++) {
      int i = (int)ev[k].data.u32;
      EXPECT(read(ends[i][1], b, sizeof b) == sizeof b);
      EXPECT(write(ends[i][1], b, sizeof b) == sizeof b);
      count[i]++;
      all++;
    }
  }
  int least = count[0];
  for (int i = 1; i < kConns; i++) least = count[i] < least ? count[i] : least;
  if (least < kPerConn / 5) {
    fprintf(stderr, "a connection had %d replies, the mean is %d\n", least, kPerConn);
    return 1;
  }
  return 0;
}

int main(void) {
  for (int i = 0; i < kConns; i++) EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) == 0);
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    for (int i = 0; i < kConns; i++) close(ends[i][0]);
    _exit(load());
  }
  for (int i = 0; i < kConns; i++) close(ends[i][1]);
  pthread_t t[kConns];
  pthread_attr_t a;
  EXPECT(pthread_attr_init(&a) == 0 && pthread_attr_setstacksize(&a, 65536) == 0);
  for (intptr_t i = 0; i < kConns; i++) EXPECT(pthread_create(&t[i], &a, echo, (void*)i) == 0);
  for (int i = 0; i < kConns; i++) EXPECT(pthread_join(t[i], 0) == 0);
  int status;
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}
