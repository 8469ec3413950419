// posix/io_fd_passing.c -- descriptors that come from elsewhere (over a socket, from /proc, inherited) block and wake like any other.
// timeout: 30
#include "expect.h"

static void give(int via, int fd) {
  char c = 'f', ctl[CMSG_SPACE(sizeof(int))];
  struct iovec iv = {&c, 1};
  struct msghdr m;
  memset(&m, 0, sizeof m);
  m.msg_iov = &iv;
  m.msg_iovlen = 1;
  m.msg_control = ctl;
  m.msg_controllen = sizeof ctl;
  struct cmsghdr* h = CMSG_FIRSTHDR(&m);
  h->cmsg_level = SOL_SOCKET;
  h->cmsg_type = SCM_RIGHTS;
  h->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(h), &fd, sizeof fd);
  EXPECT_EQ(sendmsg(via, &m, 0), 1);
}
static int take(int via) {
  char c, ctl[CMSG_SPACE(sizeof(int))];
  struct iovec iv = {&c, 1};
  struct msghdr m;
  memset(&m, 0, sizeof m);
  m.msg_iov = &iv;
  m.msg_iovlen = 1;
  m.msg_control = ctl;
  m.msg_controllen = sizeof ctl;
  EXPECT_EQ(recvmsg(via, &m, 0), 1);
  struct cmsghdr* h = CMSG_FIRSTHDR(&m);
  EXPECT(h && h->cmsg_type == SCM_RIGHTS);
  int fd;
  memcpy(&fd, CMSG_DATA(h), sizeof fd);
  return fd;
}
static void* reads(void* a) {
  char b;
  EXPECT_EQ(read((int)(intptr_t)a, &b, 1), 1);
  return num(b);
}
static void blocks_and_wakes(int rd, int wr) {
  for (int i = 0; i < 3; i++) {
    pthread_t t = start(reads, num(rd));
    sleep_ms(20);
    EXPECT_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
    write_all(wr, "y", 1);
    EXPECT_EQ(join(t), 'y');
  }
}
static void* takes(void* a) { return num(take(*(int*)a)); }

int main(int argc, char** argv) {
  watchdog(25);
  if (argc > 2) {  // the child program: standard input is a pipe the library never saw being made
    int wr = atoi(argv[2]);
    blocks_and_wakes(0, wr);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) t[i] = start(reads, num(0));
    sleep_ms(20);
    write_all(wr, "abcd", 4);
    for (int i = 0; i < 4; i++) join(t[i]);
    return 0;
  }
  int via[2];
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, via));
  for (int kind = 0; kind < 3; kind++) {
    int v[2];
    if (kind == 0) SYS(pipe(v));
    else if (kind == 1) SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    else tcp_pair(v);
    pthread_t t = start(takes, &via[0]);  // blocks in recvmsg
    sleep_ms(10);
    give(via[1], v[0]);
    int fd = (int)(intptr_t)join(t);
    close(v[0]);
    blocks_and_wakes(fd, v[1]);
    close(fd);
    close(v[1]);
  }
  // A new description of the same pipe.
  int p[2];
  SYS(pipe(p));
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", p[0]);
  int again = open(path, O_RDONLY);
  if (again >= 0) {
    blocks_and_wakes(again, p[1]);
    close(again);
  }
  // A descriptor of another process.
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    int q[2];
    SYS(pipe(q));
    give(via[1], q[0]);
    sleep_ms(30);
    write_all(q[1], "z", 1);
    _exit(0);
  }
  int fd = take(via[0]);
  EXPECT_EQ(join(start(reads, num(fd))), 'z');
  reap_ok(pid);

  // Over exec.
  SYS(pipe(p));
  pid = (pid_t)SYS(fork());
  if (pid == 0) {
    dup2(p[0], 0);
    char w[16];
    snprintf(w, sizeof w, "%d", p[1]);
    execl("/proc/self/exe", "self", "stdin", w, (char*)NULL);
    _exit(127);
  }
  reap_ok(pid);
  return 0;
}
