// posix/io_accept.c -- accept takes each connection once and waits when there is none, whoever else took some: bursts, resets, no descriptors left, another flag, number or process; and can be cancelled whenever it waits.
// timeout: 60
#include "expect.h"
#include <sys/un.h>

static int listener, taken, clients[256], n_clients;

static void connects(int n) {
  for (int i = 0; i < n; i++) clients[n_clients++] = tcp_connect(listener);
}
static void forget_clients(void) {
  while (n_clients) close(clients[--n_clients]);
}
static void take(int n) {
  for (int i = 0; i < n; i++) close((int)SYS(accept(listener, NULL, NULL)));
}

static void* takes(void* a) {
  for (;;) {
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) return num(errno);
    close(fd);
    ADD(taken, 1);
  }
  return a;
}
// With nothing there accept waits: it takes what comes then, and ends when it is told to.
static void waits_and_takes(int threads) {
  STORE(taken, 0);
  pthread_t t[4];
  for (int i = 0; i < threads; i++) t[i] = start(takes, NULL);
  sleep_ms(10);
  EXPECT_EQ(LOAD(taken), 0);
  connects(1);
  WAIT_UNTIL(LOAD(taken) == 1);
  connects(2);
  WAIT_UNTIL(LOAD(taken) == 3);
  for (int i = 0; i < threads; i++) {
    OK(pthread_cancel(t[i]));
    EXPECT(join(t[i]) == PTHREAD_CANCELED);
  }
  forget_clients();
}

static void bursts(void) {
  for (int threads = 1; threads <= 4; threads += 3) {
    STORE(taken, 0);
    pthread_t t[4];
    for (int i = 0; i < threads; i++) t[i] = start(takes, NULL);
    int sent = 0;
    for (int round = 0; round < 200; round++) {
      int n = 1 + round % 7;
      connects(n);
      sent += n;
      if (round % 3) WAIT_UNTIL(LOAD(taken) == sent);
      if (n_clients > 200) forget_clients();
    }
    WAIT_UNTIL(LOAD(taken) == sent);
    for (int i = 0; i < threads; i++) {
      OK(pthread_cancel(t[i]));
      EXPECT(join(t[i]) == PTHREAD_CANCELED);
    }
    forget_clients();
  }
}

static void resets(void) {
  connects(3);
  struct linger hard = {1, 0};
  SYS(setsockopt(clients[1], SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
  SYS(close(clients[1]));
  clients[1] = (int)SYS(dup(0));
  take(3);
  waits_and_takes(1);
}

static void no_descriptors(void) {
  connects(3);
  take(1);
  struct rlimit was, none;
  SYS(getrlimit(RLIMIT_NOFILE, &was));
  int lowest = (int)SYS(dup(0));
  close(lowest);
  none = was;
  none.rlim_cur = (rlim_t)lowest;
  SYS(setrlimit(RLIMIT_NOFILE, &none));
  for (int i = 0; i < 3; i++) FAILS(accept(listener, NULL, NULL), EMFILE);
  SYS(setrlimit(RLIMIT_NOFILE, &was));
  take(2);
  waits_and_takes(2);
}

static void elsewhere(void) {
  connects(3);
  take(1);
  int fl = (int)SYS(fcntl(listener, F_GETFL));
  SYS(fcntl(listener, F_SETFL, fl | O_NONBLOCK));
  take(2);
  FAILS(accept(listener, NULL, NULL), EAGAIN);
  SYS(fcntl(listener, F_SETFL, fl));
  waits_and_takes(2);
}

static void another_process(void) {
  connects(3);
  take(1);
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    take(2);
    _exit(0);
  }
  int status;
  SYS(waitpid(pid, &status, 0));
  EXPECT_EQ(status, 0);
  waits_and_takes(2);
}

static void another_number(void) {
  connects(4);
  take(1);
  int other = (int)SYS(dup(listener));
  for (int i = 0; i < 2; i++) close((int)SYS(accept(other, NULL, NULL)));
  SYS(close(other));
  take(1);
  waits_and_takes(2);
}

static void number_again(void) {
  connects(3);
  take(1);
  int was = listener;
  SYS(close(listener));
  forget_clients();
  listener = tcp_listen(64);
  EXPECT_EQ(listener, was);
  waits_and_takes(2);
}

static void with_a_limit(void) {
  struct timeval tv = {0, 30000};
  SYS(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  connects(2);
  take(2);
  int64_t before = now_ns();
  FAILS(accept(listener, NULL, NULL), EAGAIN);
  EXPECT_GE(now_ns() - before, 29 * MS);
  tv.tv_usec = 0;
  SYS(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  waits_and_takes(1);
}

static void shut_down(void) {
  connects(2);
  take(1);
  STORE(taken, 0);
  SYS(shutdown(listener, SHUT_RDWR));
  FAILS(accept(listener, NULL, NULL), EINVAL);
  forget_clients();
  SYS(listen(listener, 64));
  waits_and_takes(2);
  pthread_t t = start(takes, NULL);
  sleep_ms(10);
  SYS(shutdown(listener, SHUT_RDWR));
  EXPECT_EQ((intptr_t)join(t), EINVAL);
}

static void not_listeners(void) {
  int fd = (int)SYS(socket(AF_INET, SOCK_STREAM, 0));
  FAILS(accept(fd, NULL, NULL), EINVAL);
  close(fd);
  fd = udp_bound();
  FAILS(accept(fd, NULL, NULL), EOPNOTSUPP);
  close(fd);
  int p[2];
  SYS(pipe(p));
  FAILS(accept(p[0], NULL, NULL), ENOTSOCK);
  close(p[0]);
  close(p[1]);
  FAILS(accept(p[0], NULL, NULL), EBADF);
}

static void* all(void* a) {
  if (!a) listener = tcp_listen(64);
  bursts();
  resets();
  no_descriptors();
  elsewhere();
  another_number();
  number_again();
  with_a_limit();
  another_process();
  bursts();
  number_again();
  shut_down();
  close(listener);
  not_listeners();
  return NULL;
}

int main(void) {
  watchdog(55);
  all(NULL);
  listener = tcp_listen(64);
  join(start(all, num(1)));
  return 0;
}
