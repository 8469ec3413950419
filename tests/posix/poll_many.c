// posix/poll_many.c -- poll and select over thousands of descriptors, odd ones among them, and memory that is not there.
// timeout: 60
// flags: -Wno-stringop-overflow
#include "expect.h"
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>

enum { N = 2000, THREADS = 4, ROUNDS = 25 };
static int in[N], out[N];

// Each thread owns every THREADS-th descriptor's byte; all poll all of them.
static int served;
static void* serves(void* a) {
  int me = (int)(intptr_t)a;
  struct pollfd* p = (struct pollfd*)malloc(N * sizeof *p);
  for (int i = 0; i < N; i++) p[i] = (struct pollfd){in[i], POLLIN, 0};
  for (int got = 0; got < ROUNDS;) {
    int n = (int)SYS(poll(p, N, 20000));
    EXPECT(n > 0);
    int seen = 0;
    for (int i = 0; i < N; i++) {
      if (!p[i].revents) continue;
      seen++;
      EXPECT_EQ(p[i].revents, POLLIN);
      if (i % THREADS != me) continue;
      char b;
      read_all(in[i], &b, 1);
      ADD(served, 1);
      got++;
    }
    EXPECT_EQ(seen, n);
    if (n) sched_yield();
  }
  free(p);
  return NULL;
}

struct later { int fd; int ms; };
static void* writes(void* a) {
  struct later* l = (struct later*)a;
  sleep_ms(l->ms);
  write_all(l->fd, "x", 1);
  return NULL;
}

int main(void) {
  watchdog(50);
  need_files(2 * N + 100);
  for (int i = 0; i < N; i++) {
    int v[2];
    if (i % 2) SYS(pipe(v));
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    in[i] = v[0];
    out[i] = v[1];
  }
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) t[i] = start(serves, num(i));
  for (int k = 0; k < ROUNDS; k++) {
    for (int i = 0; i < THREADS; i++) write_all(out[(k * 37 * THREADS + i) % N], "x", 1);
    WAIT_UNTIL(LOAD(served) == (k + 1) * THREADS);
  }
  for (int i = 0; i < THREADS; i++) join(t[i]);

  // select with sets as large as the descriptors need.
  size_t bytes = (size_t)(out[N - 1] / 64 + 1) * 8;
  fd_set* r = (fd_set*)calloc(2, bytes);
  fd_set* w = (fd_set*)((char*)r + bytes);
  unsigned long *rb = (unsigned long*)r, *wb = (unsigned long*)w;
  for (int k = 0; k < 3; k++) {
    int hit = k * (N / 3) + 7;
    memset(r, 0, 2 * bytes);
    for (int i = 0; i < N; i++) rb[in[i] / 64] |= 1ul << in[i] % 64;
    struct later l = {out[hit], 10};
    t[0] = start(writes, &l);
    EXPECT_EQ(select(out[N - 1] + 1, r, NULL, NULL, NULL), 1);
    for (int i = 0; i < N; i++) EXPECT_EQ(rb[in[i] / 64] >> in[i] % 64 & 1, i == hit);
    join(t[0]);
    wb[out[hit] / 64] |= 1ul << out[hit] % 64;
    EXPECT_EQ(select(out[N - 1] + 1, r, w, NULL, NULL), 2);
    char b;
    read_all(in[hit], &b, 1);
    struct timeval tv = {0, 20000};
    EXPECT_EQ(select(out[N - 1] + 1, r, NULL, NULL, &tv), 0);
    EXPECT_EQ(rb[in[hit] / 64], 0);
  }
  free(r);
  for (int i = 500; i < N; i++) {  // below FD_SETSIZE remain some
    close(in[i]);
    close(out[i]);
  }

  // Regular files among what can be waited for: POLLPRI never comes there.
  int f = (int)SYS(open("/proc/self/exe", O_RDONLY));
  struct pollfd p[3] = {{f, POLLPRI, 0}, {in[0], POLLIN, 0}, {-1, POLLIN, 5}};
  EXPECT_EQ(poll(p, 3, 20), 0);
  EXPECT_EQ(p[2].revents, 0);
  struct later l = {out[0], 10};
  t[0] = start(writes, &l);
  EXPECT_EQ(poll(p, 3, 20000), 1);
  EXPECT_EQ(p[1].revents, POLLIN);
  join(t[0]);
  char b;
  read_all(in[0], &b, 1);

  // Pages that are not there.
  char* page = (char*)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(page != MAP_FAILED);
  SYS(munmap(page + 4096, 4096));
  struct pollfd* cut = (struct pollfd*)(page + 4096 - sizeof *p);
  *cut = p[1];
  volatile nfds_t two = 2;
  FAILS(poll(cut, two, 20), EFAULT);
  FAILS(poll((struct pollfd*)8, 1, 20), EFAULT);
  EXPECT_EQ(poll(cut, 1, 20), 0);
  struct timeval tv = {0, 20000};
  FAILS(select(900, (fd_set*)(page + 4096 - 64), NULL, NULL, &tv), EFAULT);
  FAILS(select(8, NULL, (fd_set*)64, NULL, &tv), EFAULT);
  memset(page, 0, 4096);
  tv = (struct timeval){0, 20000};
  EXPECT_EQ(select(500, (fd_set*)(page + 4096 - 64), NULL, NULL, &tv), 0);  // reads no further than it must
  FAILS(ppoll(p + 1, 1, NULL, (sigset_t*)8), EFAULT);
  struct timespec ts = {0, 1000000};
  FAILS(pselect(0, NULL, NULL, NULL, &ts, (sigset_t*)8), EFAULT);
  int ep = (int)SYS(epoll_create1(0));
  struct epoll_event e = {.events = EPOLLIN, .data = {.fd = 1}};
  SYS(epoll_ctl(ep, EPOLL_CTL_ADD, in[0], &e));
  FAILS(epoll_pwait(ep, &e, 1, 5, (sigset_t*)8), EFAULT);
  write_all(out[0], "x", 1);
  FAILS(epoll_wait(ep, (struct epoll_event*)8, 1, 5), EFAULT);
  ts = (struct timespec){0, 1000000000};
  FAILS(epoll_pwait2(ep, &e, 1, &ts, NULL), EINVAL);
  return 0;
}
