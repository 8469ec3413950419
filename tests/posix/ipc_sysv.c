// posix/ipc_sysv.c -- System V semaphores and messages wait, time out, and are interrupted in spite of SA_RESTART; others run meanwhile.
// timeout: 40
#include "expect.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

struct text { long type; char b[100]; };
static int sem, queue;
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
static int op(int num, int by, int flags) {
  struct sembuf o = {(unsigned short)num, (short)by, (short)flags};
  return semop(sem, &o, 1);
}
static void* ups(void* a) {
  sleep_ms((intptr_t)a);
  SYS(op(0, 1, 0));
  return NULL;
}
static void* kills(void* a) {
  sleep_ms(30);
  OK(pthread_kill(*(pthread_t*)a, SIGUSR1));
  return NULL;
}
static void* sends(void* a) {
  struct text m = {7, "late"};
  sleep_ms((intptr_t)a);
  SYS(msgsnd(queue, &m, 5, 0));
  return NULL;
}
static void* takes_one(void* a) {
  struct text m;
  sleep_ms((intptr_t)a);
  EXPECT(SYS(msgrcv(queue, &m, sizeof m.b, 0, 0)) > 0);
  return NULL;
}
static void* waits_message(void* a) {
  struct text m;
  (void)a;
  msgrcv(queue, &m, sizeof m.b, 1, 0);
  return NULL;
}

// Handing a token round: 8 threads, each waits for its own semaphore.
enum { RING = 8, LAPS = 100 };
static void* ring(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < LAPS; i++) {
    SYS(op(1 + me, -1, 0));
    SYS(op(1 + (me + 1) % RING, 1, 0));
  }
  return NULL;
}
// Two semaphores at once, both or none.
static int inside;
static void* both(void* a) {
  (void)a;
  struct sembuf down[2] = {{1, -1, SEM_UNDO}, {2, -1, SEM_UNDO}}, up[2] = {{1, 1, SEM_UNDO}, {2, 1, SEM_UNDO}};
  for (int i = 0; i < 100; i++) {
    SYS(semop(sem, down, 2));
    EXPECT_EQ(ADD(inside, 1), 1);
    ADD(inside, -1);
    SYS(semop(sem, up, 2));
  }
  return NULL;
}

static void interrupted(void) {
  pthread_t me = pthread_self(), t;
  struct text m = {1, ""};
  struct timespec limit = {20, 0};
  struct sembuf down = {0, -1, 0};
  for (int restart = 0; restart < 2; restart++) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    sa.sa_flags = restart ? SA_RESTART : 0;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    int before = LOAD(hits);
    t = start(kills, &me);
    FAILS(semop(sem, &down, 1), EINTR);
    join(t);
    t = start(kills, &me);
    FAILS(semtimedop(sem, &down, 1, &limit), EINTR);
    join(t);
    EXPECT_EQ(limit.tv_sec, 20);
    t = start(kills, &me);
    FAILS(msgrcv(queue, &m, sizeof m.b, 99, 0), EINTR);
    join(t);
    while (msgsnd(queue, &m, sizeof m.b, IPC_NOWAIT) == 0) {
    }
    EXPECT_EQ(errno, EAGAIN);
    t = start(kills, &me);
    FAILS(msgsnd(queue, &m, sizeof m.b, 0), EINTR);
    join(t);
    EXPECT_EQ(LOAD(hits), before + 4);
    while (msgrcv(queue, &m, sizeof m.b, 0, IPC_NOWAIT) >= 0) {
    }
    EXPECT_EQ(errno, ENOMSG);
  }
}

int main(void) {
  watchdog(35);
  sem = semget(IPC_PRIVATE, 1 + RING, 0600);
  queue = msgget(IPC_PRIVATE, 0600);
  if (sem == -1 || queue == -1) skip("no System V IPC here");
  struct msqid_ds d;
  SYS(msgctl(queue, IPC_STAT, &d));
  d.msg_qbytes = 4000;
  SYS(msgctl(queue, IPC_SET, &d));

  // Waiting holds nobody up.
  pthread_t tick = start(ticker, NULL), t = start(ups, num(100));
  int before = LOAD(ticks);
  SYS(op(0, -1, 0));
  EXPECT_GE(LOAD(ticks), before + 5);
  join(t);
  struct text m;
  before = LOAD(ticks);
  t = start(sends, num(100));
  EXPECT_EQ(msgrcv(queue, &m, sizeof m.b, 7, 0), 5);
  EXPECT_EQ(m.type, 7);
  EXPECT(!strcmp(m.b, "late"));
  EXPECT_GE(LOAD(ticks), before + 5);
  join(t);
  STORE(stop, 1);
  join(tick);

  // Limits: never early.
  FAILS(op(0, -1, IPC_NOWAIT), EAGAIN);
  struct sembuf down = {0, -1, 0};
  struct timespec limit = ts_of(50 * MS);
  int64_t t0 = now_ns();
  FAILS(semtimedop(sem, &down, 1, &limit), EAGAIN);
  EXPECT_GE(now_ns() - t0, 50 * MS);
  EXPECT_EQ(limit.tv_nsec, 50 * MS);
  limit.tv_nsec = -1;
  FAILS(semtimedop(sem, &down, 1, &limit), EINVAL);
  limit = ts_of(20 * SEC);
  t = start(ups, num(10));
  SYS(semtimedop(sem, &down, 1, &limit));
  join(t);
  FAILS(msgrcv(queue, &m, sizeof m.b, 0, IPC_NOWAIT), ENOMSG);

  pthread_t r[RING];
  for (int i = 0; i < RING; i++) r[i] = start(ring, num(i));
  SYS(op(1, 1, 0));
  for (int i = 0; i < RING; i++) join(r[i]);
  SYS(op(2, 1, 0));
  for (int i = 0; i < RING; i++) r[i] = start(both, NULL);
  for (int i = 0; i < RING; i++) join(r[i]);

  // A full queue: the sender waits for room.
  struct text big = {3, ""};
  while (msgsnd(queue, &big, sizeof big.b, IPC_NOWAIT) == 0) {
  }
  EXPECT_EQ(errno, EAGAIN);
  t = start(takes_one, num(20));
  SYS(msgsnd(queue, &big, sizeof big.b, 0));
  join(t);
  while (msgrcv(queue, &m, sizeof m.b, 0, IPC_NOWAIT) >= 0) {
  }

  interrupted();

  // msgrcv is a cancellation point; a removed object ends its waits.
  t = start(waits_message, NULL);
  sleep_ms(10);
  OK(pthread_cancel(t));
  EXPECT(join(t) == PTHREAD_CANCELED);
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    sleep_ms(50);
    semctl(sem, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    _exit(0);
  }
  FAILS(op(0, -1, 0), EIDRM);
  reap_ok(pid);
  FAILS(msgrcv(queue, &m, sizeof m.b, 0, 0), EINVAL);
  return 0;
}
