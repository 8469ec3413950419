// posix/poll_signals.c -- poll, select and epoll_wait against signals: EINTR, masks in force while waiting, nothing lost between.
// timeout: 60
#include "expect.h"
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

enum { POLL, SELECT, EPOLL, EPOLL2, KINDS };
static int hits;
static void handler(int s) { ADD(hits, 1); (void)s; }

static sigset_t set_of(int sig) {
  sigset_t s;
  sigemptyset(&s);
  if (sig) sigaddset(&s, sig);
  return s;
}

// One wait on a pipe's read end; ns < 0: no limit.
static int waits(int kind, int fd, int ep, int64_t ns, const sigset_t* mask) {
  struct timespec ts = ts_of(ns < 0 ? 0 : ns), *t = ns < 0 ? NULL : &ts;
  struct pollfd p = {fd, POLLIN, 0};
  struct epoll_event e;
  fd_set r;
  FD_ZERO(&r);
  FD_SET(fd, &r);
  int got = -1;
  switch (kind) {
    case POLL: got = ppoll(&p, 1, t, mask); break;
    case SELECT:
      got = pselect(fd + 1, &r, NULL, NULL, t, mask);
      if (got < 0) EXPECT(FD_ISSET(fd, &r));
      break;
    case EPOLL: got = epoll_pwait(ep, &e, 1, ns < 0 ? -1 : (int)(ns / MS), mask); break;
    case EPOLL2: got = epoll_pwait2(ep, &e, 1, t, mask); break;
  }
  return got;
}

struct later { pthread_t to; int ms; int whole; };
static void* kills(void* a) {
  struct later* l = (struct later*)a;
  sleep_ms(l->ms);
  if (l->whole) kill(getpid(), SIGUSR1);
  else pthread_kill(l->to, SIGUSR1);
  return NULL;
}

// A thread waits with a mask that lets the signal through; each signal must end exactly one wait.
enum { ROUNDS = 300 };
static int acked;
struct racer { int kind; int fd, ep; };
static void* races(void* a) {
  struct racer* r = (struct racer*)a;
  sigset_t none = set_of(0);
  for (int i = 0; i < ROUNDS; i++) {
    FAILS(waits(r->kind, r->fd, r->ep, 20 * SEC, &none), EINTR);
    ADD(acked, 1);
  }
  return NULL;
}
static void* cancelled(void* a) {
  struct racer* r = (struct racer*)a;
  waits(r->kind, r->fd, r->ep, -1, NULL);
  return NULL;
}
// A request that the thread does not accept ends nothing.
static void* not_cancelled(void* a) {
  struct racer* r = (struct racer*)a;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  EXPECT_EQ(waits(r->kind, r->fd, r->ep, 40 * MS, NULL), 0);
  return NULL;
}

int main(void) {
  watchdog(50);
  sigset_t usr1 = set_of(SIGUSR1), none = set_of(0), now;
  int q[2];
  SYS(pipe(q));
  int ep = (int)SYS(epoll_create1(EPOLL_CLOEXEC));
  struct epoll_event e = {.events = EPOLLIN, .data = {.fd = q[0]}};
  SYS(epoll_ctl(ep, EPOLL_CTL_ADD, q[0], &e));
  struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
  SYS(sigaction(SIGUSR1, &sa, NULL));
  int want = 0;
  char b;

  for (int k = 0; k < KINDS; k++) {
    for (int whole = 0; whole < 2; whole++) {
      // It comes while waiting: EINTR in spite of SA_RESTART.
      struct later l = {pthread_self(), 20, whole};
      pthread_sigmask(SIG_BLOCK, &usr1, NULL);  // the thread that sends inherits this
      pthread_t t = start(kills, &l);
      pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
      FAILS(waits(k, q[0], ep, -1, NULL), EINTR);
      EXPECT_EQ(LOAD(hits), ++want);
      join(t);
      // Blocked outside, let through by the mask: pending before, sent during the wait.
      pthread_sigmask(SIG_BLOCK, &usr1, NULL);
      l.ms = 0;
      kills(&l);
      EXPECT_EQ(LOAD(hits), want);
      FAILS(waits(k, q[0], ep, -1, &none), EINTR);
      EXPECT_EQ(LOAD(hits), ++want);
      kills(&l);
      if (k == POLL || k == SELECT) {  // also without waiting; epoll does not look then
        FAILS(waits(k, q[0], ep, 0, &none), EINTR);
        want++;
      } else {
        EXPECT_EQ(waits(k, q[0], ep, 0, &none), 0);
        pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
        WAIT_UNTIL(LOAD(hits) == want + 1);
        want++;
        pthread_sigmask(SIG_BLOCK, &usr1, NULL);
      }
      EXPECT_EQ(LOAD(hits), want);
      l.ms = 20;
      t = start(kills, &l);
      FAILS(waits(k, q[0], ep, -1, &none), EINTR);
      EXPECT_EQ(LOAD(hits), ++want);
      join(t);
      pthread_sigmask(SIG_SETMASK, NULL, &now);
      EXPECT(sigismember(&now, SIGUSR1));
      // Descriptors that are ready come first; the signal stays.
      l.ms = 0;
      kills(&l);
      write_all(q[1], "x", 1);
      EXPECT_EQ(waits(k, q[0], ep, -1, &none), 1);
      read_all(q[0], &b, 1);
      EXPECT_EQ(LOAD(hits), want);
      pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
      WAIT_UNTIL(LOAD(hits) == want + 1);
      want++;
      // Blocked by the mask only: the limit runs out, then the handler.
      l.ms = 5;
      pthread_sigmask(SIG_BLOCK, &usr1, NULL);
      t = start(kills, &l);
      pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
      int64_t t0 = now_ns();
      EXPECT_EQ(waits(k, q[0], ep, 50 * MS, &usr1), 0);
      EXPECT_GE(now_ns() - t0, 50 * MS);
      join(t);
      WAIT_UNTIL(LOAD(hits) == want + 1);
      want++;
    }
    // An ignored signal ends nothing.
    signal(SIGUSR1, SIG_IGN);
    struct later l = {pthread_self(), 5, 0};
    pthread_t t = start(kills, &l);
    EXPECT_EQ(waits(k, q[0], ep, 40 * MS, NULL), 0);
    join(t);
    SYS(sigaction(SIGUSR1, &sa, NULL));
    // Many, one after another: none may fall between two looks.
    struct racer r = {k, q[0], ep};
    STORE(acked, 0);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    t = start(races, &r);
    for (int i = 0; i < ROUNDS; i++) {
      EXPECT_EQ(pthread_kill(t, SIGUSR1), 0);
      WAIT_UNTIL(LOAD(acked) == i + 1);
      want++;
    }
    join(t);
    EXPECT_EQ(LOAD(hits), want);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    for (int i = 0; i < 2; i++) {
      t = start(i ? not_cancelled : cancelled, &r);
      sleep_ms(10);
      OK(pthread_cancel(t));
      void* res;
      OK(pthread_join(t, &res));
      EXPECT(res == (i ? NULL : PTHREAD_CANCELED));
    }
  }
  // select tells the time left when interrupted.
  struct later l = {pthread_self(), 20, 0};
  pthread_t t = start(kills, &l);
  struct timeval tv = {20, 0};
  FAILS(select(0, NULL, NULL, NULL, &tv), EINTR);
  int64_t left = tv.tv_sec * SEC + tv.tv_usec * 1000;
  EXPECT(left > 0 && left < 20 * SEC);
  join(t);
  return 0;
}
