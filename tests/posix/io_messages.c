// posix/io_messages.c -- recv, send, recvfrom, sendto, recvmsg, sendmsg and the mmsg calls keep their flags' meaning, blocking and not.
// timeout: 30
#include "expect.h"

struct late { int fd; const char* text; int ms; };
static void* sends_late(void* a) {
  struct late* l = (struct late*)a;
  sleep_ms(l->ms);
  EXPECT_EQ(send(l->fd, l->text, strlen(l->text), 0), (ssize_t)strlen(l->text));
  return NULL;
}
static void* sends_in_parts(void* a) {
  for (int i = 0; i < 10; i++) {
    sleep_ms(3);
    EXPECT_EQ(send(*(int*)a, "0123456789" + i, 1, 0), 1);
  }
  return NULL;
}
static void* closes_after_part(void* a) {
  sleep_ms(10);
  EXPECT_EQ(send(*(int*)a, "abc", 3, 0), 3);
  sleep_ms(10);
  SYS(shutdown(*(int*)a, SHUT_WR));
  return NULL;
}

static void stream(int v[2]) {
  char b[64];
  FAILS(recv(v[0], b, 8, MSG_DONTWAIT), EAGAIN);
  struct late l = {v[1], "peekable", 20};
  pthread_t t = start(sends_late, &l);
  EXPECT_EQ(recv(v[0], b, 4, MSG_PEEK), 4);  // blocks, leaves it there
  EXPECT(!memcmp(b, "peek", 4));
  EXPECT_EQ(recv(v[0], b, sizeof b, MSG_PEEK | MSG_DONTWAIT), 8);
  EXPECT_EQ(recv(v[0], b, 4, 0), 4);
  EXPECT_EQ(recv(v[0], b, sizeof b, MSG_DONTWAIT), 4);
  EXPECT(!memcmp(b, "able", 4));
  FAILS(recv(v[0], b, 8, MSG_DONTWAIT), EAGAIN);
  join(t);

  // MSG_WAITALL: all of it, though it comes in parts; less only at the end.
  t = start(sends_in_parts, &v[1]);
  EXPECT_EQ(recv(v[0], b, 10, MSG_WAITALL), 10);
  EXPECT(!memcmp(b, "0123456789", 10));
  join(t);
  t = start(sends_in_parts, &v[1]);
  EXPECT_EQ(recvfrom(v[0], b, 7, MSG_WAITALL, NULL, NULL), 7);
  struct iovec iv[2] = {{b + 7, 1}, {b + 8, 2}};
  struct msghdr m;
  memset(&m, 0, sizeof m);
  m.msg_iov = iv;
  m.msg_iovlen = 2;
  EXPECT_EQ(recvmsg(v[0], &m, MSG_WAITALL), 3);
  EXPECT(!memcmp(b, "0123456789", 10));
  join(t);

  // sendmsg gathers, recvmsg scatters.
  iv[0] = (struct iovec){(void*)"sca", 3};
  iv[1] = (struct iovec){(void*)"tter", 4};
  EXPECT_EQ(sendmsg(v[1], &m, 0), 7);
  iv[0] = (struct iovec){b, 5};
  iv[1] = (struct iovec){b + 32, 20};
  EXPECT_EQ(recvmsg(v[0], &m, 0), 7);
  EXPECT(!memcmp(b, "scatt", 5) && !memcmp(b + 32, "er", 2));

  // Fill it up: a non-blocking send takes part, then EAGAIN.
  static char big[1 << 16];
  ssize_t n;
  size_t sent = 0;
  while ((n = send(v[1], big, sizeof big, MSG_DONTWAIT)) > 0) sent += (size_t)n;
  EXPECT_EQ(errno, EAGAIN);
  size_t got = 0;
  while (got < sent) got += (size_t)SYS(recv(v[0], big, sizeof big, 0));
  EXPECT_EQ(got, sent);

  t = start(closes_after_part, &v[1]);
  EXPECT_EQ(recv(v[0], b, 10, MSG_WAITALL), 3);
  EXPECT_EQ(recv(v[0], b, 10, MSG_WAITALL), 0);
  join(t);
  FAILS(send(v[1], "x", 1, MSG_NOSIGNAL), EPIPE);
  close(v[0]);
  close(v[1]);
}

struct udp { int fd; struct sockaddr_in to; };
static void* datagram_late(void* a) {
  struct udp* u = (struct udp*)a;
  sleep_ms(20);
  EXPECT_EQ(sendto(u->fd, "datagram", 8, 0, (struct sockaddr*)&u->to, sizeof u->to), 8);
  return NULL;
}
static void datagrams(void) {
  int a = udp_bound(), b = udp_bound();
  struct sockaddr_in aa = name_of(a), ba = name_of(b), from;
  socklen_t len = sizeof from;
  char buf[64];
  FAILS(recvfrom(a, buf, sizeof buf, MSG_DONTWAIT, NULL, NULL), EAGAIN);
  struct udp u = {b, aa};
  pthread_t t = start(datagram_late, &u);
  EXPECT_EQ(recvfrom(a, buf, sizeof buf, 0, (struct sockaddr*)&from, &len), 8);
  EXPECT_EQ(len, sizeof from);
  EXPECT_EQ(from.sin_port, ba.sin_port);
  join(t);
  // Cut off, with and without telling.
  t = start(datagram_late, &u);
  EXPECT_EQ(recv(a, buf, 3, MSG_TRUNC), 8);
  EXPECT(!memcmp(buf, "dat", 3));
  join(t);
  t = start(datagram_late, &u);
  EXPECT_EQ(recv(a, buf, 3, MSG_PEEK | MSG_TRUNC), 8);
  struct iovec iv = {buf, 3};
  struct msghdr m;
  memset(&m, 0, sizeof m);
  m.msg_iov = &iv;
  m.msg_iovlen = 1;
  m.msg_name = &from;
  m.msg_namelen = sizeof from;
  EXPECT_EQ(recvmsg(a, &m, 0), 3);
  EXPECT(m.msg_flags & MSG_TRUNC);
  EXPECT_EQ(from.sin_port, ba.sin_port);
  join(t);
  // Empty datagrams are datagrams.
  EXPECT_EQ(sendto(b, NULL, 0, 0, (struct sockaddr*)&aa, sizeof aa), 0);
  EXPECT_EQ(recv(a, buf, sizeof buf, 0), 0);
  // Connected: read and write; MSG_WAITALL means nothing here.
  SYS(connect(a, (struct sockaddr*)&ba, sizeof ba));
  SYS(connect(b, (struct sockaddr*)&aa, sizeof aa));
  EXPECT_EQ(write(a, "hi", 2), 2);
  EXPECT_EQ(recv(b, buf, sizeof buf, MSG_WAITALL), 2);
  // Several in one call: blocks for the first.
  struct mmsghdr mm[4];
  struct iovec miv[4];
  char mb[4][8];
  memset(mm, 0, sizeof mm);
  for (int i = 0; i < 4; i++) {
    miv[i] = (struct iovec){mb[i], 8};
    mm[i].msg_hdr.msg_iov = &miv[i];
    mm[i].msg_hdr.msg_iovlen = 1;
  }
  struct late l = {a, "one", 20};
  t = start(sends_late, &l);
  EXPECT_EQ(recvmmsg(b, mm, 4, MSG_WAITFORONE, NULL), 1);
  EXPECT_EQ(mm[0].msg_len, 3);
  join(t);
  FAILS(recvmmsg(b, mm, 4, MSG_DONTWAIT, NULL), EAGAIN);
  for (int i = 0; i < 4; i++) miv[i] = (struct iovec){(void*)"four", (size_t)i + 1};
  EXPECT_EQ(sendmmsg(a, mm, 4, 0), 4);
  for (int i = 0; i < 4; i++) miv[i] = (struct iovec){mb[i], 8};
  EXPECT_EQ(recvmmsg(b, mm, 4, 0, NULL), 4);
  for (int i = 0; i < 4; i++) EXPECT_EQ(mm[i].msg_len, i + 1);
  // Nobody there any more: the error comes to the next call.
  close(b);
  EXPECT_EQ(send(a, "x", 1, 0), 1);
  FAILS(recv(a, buf, 8, 0), ECONNREFUSED);
  close(a);
}

static void* seq_late(void* a) {
  sleep_ms(20);
  EXPECT_EQ(send(*(int*)a, "packet1", 7, 0), 7);
  EXPECT_EQ(send(*(int*)a, "p2", 2, 0), 2);
  return NULL;
}

int main(void) {
  watchdog(25);
  int v[2];
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  stream(v);
  tcp_pair(v);
  stream(v);
  datagrams();

  // Packets keep their borders.
  SYS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, v));
  pthread_t t = start(seq_late, &v[1]);
  char b[32];
  EXPECT_EQ(recv(v[0], b, 32, 0), 7);
  EXPECT_EQ(read(v[0], b, 32), 2);
  join(t);
  close(v[1]);
  EXPECT_EQ(recv(v[0], b, 32, 0), 0);
  FAILS(recv(-1, b, 1, 0), EBADF);
  int p[2];
  SYS(pipe(p));
  FAILS(recv(p[0], b, 1, 0), ENOTSOCK);
  return 0;
}
