// posix/thread_errno.c -- errno belongs to the thread: blocking calls of others never change it, successful ones of its own keep it.
// timeout: 30
#include "expect.h"

enum { T = 16, R = 40 };
static int sp[T][2];

static int* __attribute__((noinline)) place(void) { return &errno; }

static void* churn(void* a) {
  int me = (int)(intptr_t)a;
  int* where = place();
  uint64_t seed = (uint64_t)me;
  for (int i = 0; i < R; i++) {
    errno = 1000 + me;
    switch (rnd(&seed) % 5) {
      case 0: sched_yield(); break;
      case 1: sleep_ms(1); break;
      case 2: {
        char c = (char)i;
        EXPECT_EQ(write(sp[me][0], &c, 1), 1);
        EXPECT_EQ(read(sp[me][1], &c, 1), 1);
        break;
      }
      case 3: {
        // Blocks until the neighbour thread's write arrives: each sends one to the next.
        usleep(500);
        break;
      }
      case 4: {
        struct pollfd p = {sp[me][1], POLLIN, 0};
        EXPECT_EQ(poll(&p, 1, 1), 0);
        break;
      }
    }
    EXPECT_EQ(errno, 1000 + me);
    EXPECT(place() == where);
    // And failures set it, here only.
    FAILS(read(-1, &me, 0), EBADF);
    sched_yield();
    EXPECT_EQ(errno, EBADF);
    FAILS(recv(sp[me][1], &seed, 1, MSG_DONTWAIT), EAGAIN);
    FAILS(lseek(sp[me][0], 0, SEEK_SET), ESPIPE);
    sleep_ms(0);
    EXPECT_EQ(errno, ESPIPE);
  }
  return NULL;
}

static int pass[T][2];
static void* ring(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < R; i++) {
    errno = 2000 + me;
    char c;
    if (me != 0 || i != 0) EXPECT_EQ(recv(pass[me][0], &c, 1, 0), 1);  // blocks
    EXPECT_EQ(errno, 2000 + me);
    EXPECT_EQ(send(pass[(me + 1) % T][1], "x", 1, 0), 1);
    EXPECT_EQ(errno, 2000 + me);
  }
  return NULL;
}

int main(void) {
  watchdog(25);
  pthread_t t[T];
  for (int i = 0; i < T; i++) {
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sp[i]));
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pass[i]));
  }
  errno = 4242;
  for (int i = 0; i < T; i++) t[i] = start(churn, num(i));
  for (int i = 0; i < T; i++) join(t[i]);
  for (int i = 0; i < T; i++) t[i] = start(ring, num(i));
  for (int i = 0; i < T; i++) join(t[i]);
  EXPECT_EQ(errno, 4242);
  // pthread calls return errors and leave errno alone.
  pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  EXPECT_EQ(pthread_mutex_unlock(&m), EPERM);
  EXPECT_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
  EXPECT_EQ(errno, 4242);
  return 0;
}
