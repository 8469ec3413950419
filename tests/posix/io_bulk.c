// posix/io_bulk.c -- 64 MB through a socketpair, and much through pipes and TCP at once, arrive whole and in order past blocked writers.
// timeout: 60
#include "expect.h"

struct flow { int in, out; uint64_t seed, bytes, sum; };
static void* pushes(void* a) {
  struct flow* f = (struct flow*)a;
  uint64_t s = f->seed, left = f->bytes;
  static __thread uint64_t buf[1 << 14];
  uint64_t sizes = f->seed ^ 1;
  while (left) {
    size_t n = 8 * (1 + rnd(&sizes) % (1 << 14));
    if (n > left) n = left;
    for (size_t i = 0; i < n / 8; i++) buf[i] = s = s * 6364136223846793005ull + 1442695040888963407ull;
    // One blocking write on a stream takes all of it.
    ssize_t r;
    switch (rnd(&sizes) % 2) {
      case 0: r = write(f->out, buf, n); break;
      default: r = send(f->out, buf, n, 0);
        if (r == -1 && errno == ENOTSOCK) r = write(f->out, buf, n);
    }
    EXPECT_EQ(r, n);
    left -= n;
  }
  close(f->out);
  return NULL;
}
static void* pulls(void* a) {
  struct flow* f = (struct flow*)a;
  uint64_t s = f->seed, got = 0, sizes = f->seed ^ 2;
  static __thread unsigned char buf[1 << 17];
  size_t have = 0;
  for (;;) {
    size_t want = 1 + rnd(&sizes) % (sizeof buf - have);
    ssize_t n = read(f->in, buf + have, want);
    EXPECT(n >= 0);
    if (n == 0) break;
    have += (size_t)n;
    size_t k = 0;
    for (; k + 8 <= have; k += 8) {
      uint64_t x;
      memcpy(&x, buf + k, 8);
      s = s * 6364136223846793005ull + 1442695040888963407ull;
      EXPECT(x == s);
    }
    got += k;
    memmove(buf, buf + k, have - k);
    have -= k;
  }
  EXPECT_EQ(have, 0);
  EXPECT_EQ(got, f->bytes);
  close(f->in);
  return NULL;
}

int main(void) {
  watchdog(55);
  static const uint64_t mb[] = {64, 16, 16, 4, 4, 4};
  enum { N = sizeof mb / sizeof *mb };
  struct flow f[N];
  pthread_t t[2 * N];
  for (int i = 0; i < N; i++) {
    int v[2];
    if (i == 1) tcp_pair(v);
    else if (i == 2) SYS(pipe(v));
    else SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, v));
    f[i] = (struct flow){v[0], v[1], 77 + (uint64_t)i, mb[i] << 20, 0};
    t[2 * i] = start(pushes, &f[i]);
    t[2 * i + 1] = start(pulls, &f[i]);
  }
  for (int i = 0; i < 2 * N; i++) join(t[i]);
  return 0;
}
