// posix/io_splice_sendfile.c -- sendfile, splice, tee, vmsplice and copy_file_range wait for data and room, and move every byte once.
// timeout: 40
#include "expect.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { SIZE = 3000000 };
static char data[SIZE], back[SIZE];
static int source;

struct reader { int fd; size_t n; int wait_ms; };
static void* reads(void* a) {
  struct reader* r = (struct reader*)a;
  sleep_ms(r->wait_ms);
  read_all(r->fd, back, r->n);
  return NULL;
}
static void* writes(void* a) {
  struct reader* r = (struct reader*)a;
  sleep_ms(r->wait_ms);
  write_all(r->fd, data, r->n);
  return NULL;
}

static void sends_file(int v[2], size_t n) {
  memset(back, 0, sizeof back);
  struct reader r = {v[0], n, 20};
  pthread_t t = start(reads, &r);
  off_t at = 1000;
  size_t done = 0;
  while (done < n - 1000) {
    ssize_t k = (ssize_t)SYS(sendfile(v[1], source, &at, n - 1000 - done));
    EXPECT(k > 0);
    done += (size_t)k;
  }
  EXPECT_EQ(at, (off_t)n);
  SYS(lseek(source, 0, SEEK_SET));
  EXPECT_EQ(sendfile(v[1], source, NULL, 1000), 1000);
  EXPECT_EQ(lseek(source, 0, SEEK_CUR), 1000);
  join(t);
  EXPECT(!memcmp(back, data + 1000, n - 1000));
  EXPECT(!memcmp(back + n - 1000, data, 1000));
}

// Four requests at once on blocking sockets whose readers stand still: nobody else is held up.
static void* sends_whole(void* a) {
  off_t at = 0;
  EXPECT_EQ(sendfile(*(int*)a, source, &at, SIZE), SIZE);
  EXPECT_EQ(at, SIZE);
  return NULL;
}
static void stalled(void) {
  int v[4][2], ping[2];
  pthread_t t[4];
  for (int i = 0; i < 4; i++) {
    tcp_pair(v[i]);
    t[i] = start(sends_whole, &v[i][1]);
  }
  sleep_ms(20);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, ping));
  struct reader r = {ping[1], 1, 1};
  for (int i = 0; i < 20; i++) {
    char b;
    pthread_t w = start(writes, &r);
    read_all(ping[0], &b, 1);
    join(w);
  }
  for (int i = 0; i < 4; i++) {
    memset(back, 0, sizeof back);
    read_all(v[i][0], back, SIZE);
    EXPECT(!memcmp(back, data, SIZE));
    join(t[i]);
    close(v[i][0]);
    close(v[i][1]);
  }
  close(ping[0]);
  close(ping[1]);
}

static int hits;
static void handler(int s) { ADD(hits, 1); (void)s; }
static void* kills(void* a) {
  sleep_ms(20);
  OK(pthread_kill(*(pthread_t*)a, SIGUSR1));
  return NULL;
}
static void* splices_forever(void* a) {
  int* p = (int*)a;
  splice(p[0], NULL, p[1], NULL, 100, 0);
  return NULL;
}

int main(void) {
  watchdog(35);
  uint64_t seed = 1;
  for (size_t i = 0; i < SIZE; i += 4) memcpy(data + i, &(uint32_t){(uint32_t)rnd(&seed)}, 4);
  source = (int)SYS(open("source", O_RDWR | O_CREAT | O_TRUNC, 0600));
  write_all(source, data, SIZE);
  int v[2], p[2], q[2];
  tcp_pair(v);
  sends_file(v, SIZE);
  FAILS(sendfile(v[1], -1, NULL, 10), EBADF);
  EXPECT_EQ(sendfile(v[1], source, &(off_t){SIZE}, 10), 0);
  EXPECT_EQ(sendfile(v[1], source, &(off_t){SIZE - 4}, 10), 4);
  read_all(v[0], back, 4);
  close(v[0]);
  close(v[1]);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
  sends_file(v, 1000000);
  // O_NONBLOCK: what fits, then EAGAIN.
  SYS(fcntl(v[1], F_SETFL, O_NONBLOCK));
  off_t at = 0;
  ssize_t k;
  while ((k = sendfile(v[1], source, &at, SIZE)) > 0) {
  }
  EXPECT(k == -1 && errno == EAGAIN);
  EXPECT(at > 0 && at < SIZE);
  close(v[0]);
  close(v[1]);
  int copy = (int)SYS(open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600));
  at = 0;
  EXPECT_EQ(sendfile(copy, source, &at, SIZE), SIZE);
  SYS(pipe(p));
  sends_file(p, 500000);
  stalled();

  // splice from an empty pipe waits for data; into a full one, for room.
  SYS(pipe(q));
  struct reader w = {p[1], 100, 20}, r = {q[0], 200000, 20};
  pthread_t t = start(writes, &w);
  EXPECT_EQ(splice(p[0], NULL, q[1], NULL, 1000, 0), 100);
  join(t);
  read_all(q[0], back, 100);
  EXPECT(!memcmp(back, data, 100));
  FAILS(splice(p[0], NULL, q[1], NULL, 1000, SPLICE_F_NONBLOCK), EAGAIN);
  FAILS(splice(source, NULL, copy, NULL, 10, 0), EINVAL);
  FAILS(splice(-1, NULL, q[1], NULL, 10, 0), EBADF);
  t = start(reads, &r);
  loff_t off = 0;
  while (off < 200000) EXPECT(SYS(splice(source, &off, q[1], NULL, 200000 - (size_t)off, 0)) > 0);
  join(t);
  EXPECT(!memcmp(back, data, 200000));
  // A socket through a pipe into a socket, both ends slow.
  int a[2], b[2];
  tcp_pair(a);
  tcp_pair(b);
  memset(back, 0, sizeof back);
  w = (struct reader){a[1], SIZE, 10};
  r = (struct reader){b[0], SIZE, 30};
  pthread_t tw = start(writes, &w), tr = start(reads, &r);
  for (size_t moved = 0; moved < SIZE;) {
    ssize_t in = (ssize_t)SYS(splice(a[0], NULL, p[1], NULL, SIZE - moved, SPLICE_F_MOVE));
    EXPECT(in > 0);
    for (ssize_t left = in; left > 0;) left -= (ssize_t)SYS(splice(p[0], NULL, b[1], NULL, (size_t)left, SPLICE_F_MOVE));
    moved += (size_t)in;
  }
  join(tw);
  join(tr);
  EXPECT(!memcmp(back, data, SIZE));
  close(a[1]);
  EXPECT_EQ(splice(a[0], NULL, p[1], NULL, 100, 0), 0);  // the end of the stream

  // tee copies without consuming; vmsplice takes from memory and waits for room.
  w = (struct reader){p[1], 50, 20};
  t = start(writes, &w);
  EXPECT_EQ(tee(p[0], q[1], 1000, 0), 50);
  join(t);
  read_all(p[0], back, 50);
  read_all(q[0], back + 50, 50);
  EXPECT(!memcmp(back, data, 50) && !memcmp(back + 50, data, 50));
  FAILS(tee(p[0], q[1], 1000, SPLICE_F_NONBLOCK), EAGAIN);
  r = (struct reader){q[0], 400000, 20};
  t = start(reads, &r);
  for (size_t put = 0; put < 400000;) {
    struct iovec iv = {data + put, 400000 - put};
    put += (size_t)SYS(vmsplice(q[1], &iv, 1, 0));
  }
  join(t);
  EXPECT(!memcmp(back, data, 400000));
  struct iovec iv = {back, 64};
  memset(back, 0, 64);
  w = (struct reader){p[1], 64, 20};
  t = start(writes, &w);
  EXPECT_EQ(vmsplice(p[0], &iv, 1, 0), 64);
  EXPECT(!memcmp(back, data, 64));
  join(t);

  // O_NONBLOCK pipes do not wait; signals and cancellation end a wait.
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  SYS(sigaction(SIGUSR1, &sa, NULL));
  pthread_t me = pthread_self();
  t = start(kills, &me);
  FAILS(splice(p[0], NULL, q[1], NULL, 1000, 0), EINTR);
  join(t);
  EXPECT_EQ(LOAD(hits), 1);
  int both[2] = {p[0], q[1]};
  t = start(splices_forever, both);
  sleep_ms(10);
  OK(pthread_cancel(t));
  EXPECT(join(t) == PTHREAD_CANCELED);
  SYS(fcntl(q[1], F_SETFL, O_NONBLOCK));
  FAILS(splice(p[0], NULL, q[1], NULL, 1000, 0), EAGAIN);

  loff_t from = 100, to = 0;
  SYS(ftruncate(copy, 0));
  k = copy_file_range(source, &from, copy, &to, 5000, 0);
  if (k == -1 && (errno == ENOSYS || errno == EXDEV || errno == EOPNOTSUPP)) return 0;
  EXPECT_EQ(k, 5000);
  EXPECT(from == 5100 && to == 5000);
  EXPECT_EQ(pread(copy, back, 5000, 0), 5000);
  EXPECT(!memcmp(back, data + 100, 5000));
  return 0;
}
