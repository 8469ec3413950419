// posix/io_short_reads.c -- a read that stops early does not mean that the queue is empty: urgent marks, passed descriptors, other writers' credentials.
#include <sys/uio.h>

#include "expect.h"

// Another thread, so that the program has threads at all and reads by waiting.
static void* sits(void* arg) {
  char b;
  EXPECT_EQ(read((int)(intptr_t)arg, &b, 1), 0);
  return NULL;
}

static void expect_bytes(int fd, const char* want) {
  char b[100];
  size_t n = strlen(want);
  EXPECT_EQ(read(fd, b, sizeof b), n);
  EXPECT(!memcmp(b, want, n));
}
// Some reads that wait, so that whatever is learned about the descriptor has been learned.
static void* feeds(void* arg) {
  for (int i = 0; i < 20; i++) {
    sleep_ms(1);
    write_all((int)(intptr_t)arg, "12345", 5);
  }
  return NULL;
}
static void settle(int from, int to) {
  pthread_t t = start(feeds, num(from));
  char b[100];
  for (ssize_t got = 0; got < 100;) got += SYS(read(to, b, sizeof b));
  join(t);
}

// A read of a TCP stream stops before the urgent byte.
static void urgent(void) {
  int v[2];
  tcp_pair(v);
  settle(v[0], v[1]);
  for (int i = 0; i < 10; i++) {
    write_all(v[0], "before", 6);
    EXPECT_EQ(send(v[0], "!", 1, MSG_OOB), 1);
    write_all(v[0], "after", 5);
    sleep_ms(20);
    expect_bytes(v[1], "before");
    char b;
    if (i % 2) EXPECT_EQ(recv(v[1], &b, 1, MSG_OOB), 1);
    expect_bytes(v[1], "after");
  }
  close(v[0]);
  close(v[1]);
}

static void send_with_fd(int to, const char* text, int fd) {
  struct iovec iov = {(void*)text, strlen(text)};
  union {
    char b[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } c = {0};
  struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.b, .msg_controllen = sizeof c.b};
  struct cmsghdr* h = CMSG_FIRSTHDR(&m);
  h->cmsg_level = SOL_SOCKET;
  h->cmsg_type = SCM_RIGHTS;
  h->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(h), &fd, sizeof fd);
  EXPECT_EQ(sendmsg(to, &m, 0), strlen(text));
}

// A read of a Unix stream stops behind bytes that carry a descriptor, also if nobody asked for it.
static void descriptors(void) {
  int v[2];
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  settle(v[0], v[1]);
  for (int i = 0; i < 10; i++) {
    send_with_fd(v[0], "one", 0);
    write_all(v[0], "two", 3);
    send_with_fd(v[0], "three", 0);
    write_all(v[0], "four", 4);
    sleep_ms(20);
    expect_bytes(v[1], "one");
    expect_bytes(v[1], "twothree");
    expect_bytes(v[1], "four");
  }
  close(v[0]);
  close(v[1]);
}

// MSG_WAITALL ends there too.
static void wait_all(void) {
  int v[2];
  char b[200];
  tcp_pair(v);
  settle(v[0], v[1]);
  for (int i = 0; i < 4; i++) {
    write_all(v[0], "before", 6);
    EXPECT_EQ(send(v[0], "!", 1, MSG_OOB), 1);
    write_all(v[0], "after", 5);
    sleep_ms(20);
    EXPECT_EQ(recv(v[1], b, 10, MSG_WAITALL), 6);
    EXPECT_EQ(recv(v[1], b, 5, MSG_WAITALL), 5);
  }
  close(v[0]);
  close(v[1]);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  settle(v[0], v[1]);
  for (int i = 0; i < 4; i++) {
    send_with_fd(v[0], "one", 0);
    write_all(v[0], "two", 3);
    EXPECT_EQ(recv(v[1], b, 6, MSG_WAITALL), 3);
    pthread_t t = start(feeds, num(v[0]));
    EXPECT_EQ(recv(v[1], b, 103, MSG_WAITALL), 103);
    EXPECT(!memcmp(b, "two12345123", 11));
    join(t);
  }
  close(v[0]);
  close(v[1]);
}

// With SO_PASSCRED bytes of two processes are not glued together.
static void credentials(void) {
  int v[2], one = 1;
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  SYS(setsockopt(v[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof one));
  settle(v[0], v[1]);
  for (int i = 0; i < 3; i++) {
    pid_t child = (pid_t)SYS(fork());
    if (child == 0) {
      write_all(v[0], "child", 5);
      _exit(0);
    }
    reap_ok(child);
    write_all(v[0], "parent", 6);
    sleep_ms(20);
    expect_bytes(v[1], "child");
    expect_bytes(v[1], "parent");
  }
  close(v[0]);
  close(v[1]);
}

// Packets through a pipe: O_DIRECT on the writing end, whenever it is set.
static void packets(void) {
  int p[2];
  SYS(pipe(p));
  settle(p[1], p[0]);
  for (int i = 0; i < 10; i++) {
    if (i == 5) SYS(fcntl(p[1], F_SETFL, O_DIRECT));
    write_all(p[1], "one", 3);
    write_all(p[1], "two", 3);
    sleep_ms(2);
    if (i < 5) {
      expect_bytes(p[0], "onetwo");
    } else {
      expect_bytes(p[0], "one");
      expect_bytes(p[0], "two");
    }
  }
  close(p[0]);
  close(p[1]);
}

// Below the low-water mark a read waits, whether it began before the first bytes came or after.
static void* feeds_late(void* arg) {
  char b[110] = {0};
  sleep_ms(30);
  write_all((int)(intptr_t)arg, b, sizeof b);
  return NULL;
}
static void low_water(void) {
  int v[2], low = 100, one = 1;
  tcp_pair(v);
  settle(v[0], v[1]);
  SYS(setsockopt(v[1], SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low));
  char b[200] = {0};
  for (int i = 0; i < 10; i++) {
    struct iovec part = {b, sizeof b};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    write_all(v[0], b, 60);
    if (i % 2) sleep_ms(10);
    pthread_t t = start(feeds_late, num(v[0]));
    EXPECT_EQ(i < 5 ? read(v[1], b, sizeof b) : recvmsg(v[1], &m, 0), 170);
    join(t);
  }
  SYS(setsockopt(v[1], SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one));
  settle(v[0], v[1]);
  close(v[0]);
  close(v[1]);
}

// One's own shutdown ends what there is to read, and nobody is told.
static void shut(void) {
  for (int i = 0; i < 2; i++) {
    int v[2];
    char b;
    if (i) tcp_pair(v);
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    settle(v[0], v[1]);
    SYS(shutdown(v[1], SHUT_RD));
    EXPECT_EQ(read(v[1], &b, 1), 0);
    close(v[0]);
    close(v[1]);
  }
}

// One-to-one SCTP has the type of a stream and delivers messages.
static void sctp(void) {
  int l = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  if (l == -1) return;
  struct sockaddr_in a = loopback(0);
  SYS(bind(l, (struct sockaddr*)&a, sizeof a));
  SYS(listen(l, 4));
  a = name_of(l);
  int from = (int)SYS(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
  SYS(connect(from, (struct sockaddr*)&a, sizeof a));
  int to = (int)SYS(accept(l, NULL, NULL));
  settle(from, to);
  write_all(from, "one", 3);
  write_all(from, "two", 3);
  sleep_ms(100);
  expect_bytes(to, "one");
  expect_bytes(to, "two");
  close(from);
  close(to);
  close(l);
}

int main(void) {
  watchdog(50);
  int p[2];
  SYS(pipe(p));
  pthread_t t = start(sits, num(p[0]));
  urgent();
  descriptors();
  wait_all();
  packets();
  low_water();
  shut();
  sctp();
  credentials();  // forks: last
  close(p[1]);
  join(t);
  return 0;
}
