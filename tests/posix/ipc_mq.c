// posix/ipc_mq.c -- POSIX message queues: order by priority, waits for room and for messages, limits, signals, poll.
// flags: -lrt
// timeout: 40
#include "expect.h"
#include <mqueue.h>

static mqd_t q;
static int hits, ticks, stop;
static void handler(int s) { ADD(hits, 1); (void)s; }
static void* ticker(void* a) {
  (void)a;
  while (!LOAD(stop)) {
    sleep_ms(2);
    ADD(ticks, 1);
  }
  return NULL;
}
static void* sends(void* a) {
  sleep_ms((intptr_t)a);
  SYS(mq_send(q, "late", 4, 1));
  return NULL;
}
static void* takes(void* a) {
  char b[32];
  sleep_ms((intptr_t)a);
  SYS(mq_receive(q, b, sizeof b, NULL));
  return NULL;
}
static void* kills(void* a) {
  (void)a;
  sleep_ms(30);
  SYS(kill(getpid(), SIGUSR1));
  return NULL;
}
static void* receives(void* a) {
  char b[32];
  (void)a;
  mq_receive(q, b, sizeof b, NULL);
  return NULL;
}
enum { T = 4, EACH = 200 };
static int seen[T * EACH];
static void* producer(void* a) {
  for (int i = 0; i < EACH; i++) {
    int v = (int)(intptr_t)a * EACH + i;
    SYS(mq_send(q, (char*)&v, sizeof v, 0));
  }
  return NULL;
}
static void* consumer(void* a) {
  char b[32];
  (void)a;
  for (int i = 0; i < EACH; i++) {
    EXPECT_EQ(mq_receive(q, b, sizeof b, NULL), (ssize_t)sizeof(int));
    int v;
    memcpy(&v, b, sizeof v);
    ADD(seen[v], 1);
  }
  return NULL;
}

int main(void) {
  watchdog(35);
  char name[64], b[32];
  snprintf(name, sizeof name, "/gmpt-test-%d", (int)getpid());
  struct mq_attr at;
  memset(&at, 0, sizeof at);
  at.mq_maxmsg = 4;
  at.mq_msgsize = sizeof b;
  q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &at);
  if (q == (mqd_t)-1) skip("no POSIX message queues here");
  SYS(mq_unlink(name));

  pthread_t tick = start(ticker, NULL), t = start(sends, num(100));
  int before = LOAD(ticks);
  unsigned prio = 9;
  EXPECT_EQ(mq_receive(q, b, sizeof b, &prio), 4);
  EXPECT_EQ(prio, 1);
  EXPECT_GE(LOAD(ticks), before + 5);
  join(t);
  STORE(stop, 1);
  join(tick);

  for (unsigned i = 0; i < 4; i++) SYS(mq_send(q, (char*)&i, sizeof i, i));
  struct timespec when = ts_in(CLOCK_REALTIME, 50 * MS), past = {1, 0}, bad = {1, -1};
  FAILS(mq_timedsend(q, "x", 1, 0, &past), ETIMEDOUT);
  FAILS(mq_timedsend(q, "x", 1, 0, &bad), EINVAL);
  FAILS(mq_timedsend(q, "x", 1, 0, &when), ETIMEDOUT);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), (int64_t)when.tv_sec * SEC + when.tv_nsec);
  t = start(takes, num(20));
  SYS(mq_send(q, "room", 4, 0));
  join(t);
  for (unsigned i = 3; i-- > 0;) {
    EXPECT_EQ(mq_receive(q, b, sizeof b, &prio), 4);
    EXPECT_EQ(prio, i);
  }
  SYS(mq_receive(q, b, sizeof b, &prio));
  when = ts_in(CLOCK_REALTIME, 50 * MS);
  FAILS(mq_timedreceive(q, b, sizeof b, NULL, &when), ETIMEDOUT);
  EXPECT_GE(clock_ns(CLOCK_REALTIME), (int64_t)when.tv_sec * SEC + when.tv_nsec);
  FAILS(mq_receive(q, b, 4, NULL), EMSGSIZE);
  FAILS(mq_send(q, b, sizeof b + 1, 0), EMSGSIZE);

  pthread_t p[T], c[T];
  for (int i = 0; i < T; i++) p[i] = start(producer, num(i)), c[i] = start(consumer, NULL);
  for (int i = 0; i < T; i++) join(p[i]), join(c[i]);
  for (int i = 0; i < T * EACH; i++) EXPECT_EQ(seen[i], 1);

  // A handler with SA_RESTART ends nothing. All threads but this one block the signal.
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sa.sa_flags = SA_RESTART;
  SYS(sigaction(SIGUSR1, &sa, NULL));
  OK(pthread_sigmask(SIG_BLOCK, &usr1, NULL));
  t = start(kills, NULL);
  pthread_t t2 = start(sends, num(100));
  OK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
  EXPECT_EQ(mq_receive(q, b, sizeof b, NULL), 4);
  EXPECT_EQ(LOAD(hits), 1);
  join(t);
  join(t2);

  // A descriptor, here: it may be polled.
  struct pollfd pf = {(int)q, POLLIN, 0};
  EXPECT_EQ(poll(&pf, 1, 10), 0);
  t = start(sends, num(20));
  EXPECT_EQ(poll(&pf, 1, 20000), 1);
  SYS(mq_receive(q, b, sizeof b, NULL));
  join(t);
  at.mq_flags = O_NONBLOCK;
  SYS(mq_setattr(q, &at, NULL));
  FAILS(mq_receive(q, b, sizeof b, NULL), EAGAIN);
  at.mq_flags = 0;
  SYS(mq_setattr(q, &at, NULL));
  t = start(receives, NULL);
  sleep_ms(10);
  OK(pthread_cancel(t));
  EXPECT(join(t) == PTHREAD_CANCELED);
  SYS(mq_close(q));
  FAILS(mq_receive(q, b, sizeof b, NULL), EBADF);
  return 0;
}
