// posix/ttys.c -- terminals: a read waits for a line or for VMIN and VTIME, a write for room, tcdrain for the reader; a hang-up ends it all.
// timeout: 40
#include <sys/ioctl.h>
#include <termios.h>

#include "expect.h"

static int stop, ticks;
static void* ticker(void* a) {
  while (!LOAD(stop)) {
    sleep_ms(1);
    ADD(ticks, 1);
  }
  return a;
}
static void others_run(void) {
  int before = LOAD(ticks);
  WAIT_UNTIL(LOAD(ticks) > before + 10);
}

static int master, slave, done;
static void open_pair(void) {
  master = (int)SYS(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  SYS(grantpt(master));
  SYS(unlockpt(master));
  slave = (int)SYS(open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
  struct termios t;
  SYS(tcgetattr(slave, &t));
  t.c_lflag &= ~(tcflag_t)ECHO;
  SYS(tcsetattr(slave, TCSANOW, &t));
}
static void raw(int min, int time) {
  struct termios t;
  SYS(tcgetattr(slave, &t));
  cfmakeraw(&t);
  t.c_cc[VMIN] = (cc_t)min;
  t.c_cc[VTIME] = (cc_t)time;
  SYS(tcsetattr(slave, TCSANOW, &t));
}

static void* reads_line(void* a) {
  char b[100];
  EXPECT_EQ(read(slave, b, sizeof b), 6);
  EXPECT(!memcmp(b, "hello\n", 6));
  STORE(done, 1);
  return a;
}
static void* reads_five(void* a) {
  char b[100];
  EXPECT_EQ(read(slave, b, sizeof b), 5);
  EXPECT(!memcmp(b, "12345", 5));
  STORE(done, 1);
  return a;
}
static char big[1 << 18];
static void* writes_much(void* a) {
  write_all(slave, big, sizeof big);
  SYS(tcdrain(slave));
  STORE(done, 1);
  return a;
}
static void* reads_to_the_end(void* a) {
  char b[100];
  ssize_t n;
  while ((n = read((int)(intptr_t)a, b, sizeof b)) > 0) {
  }
  EXPECT(n == 0 || errno == EIO);
  return NULL;
}
static void handler(int s) { (void)s; }
static void* is_interrupted(void* a) {
  char b;
  FAILS(read(slave, &b, 1), EINTR);
  STORE(done, 1);
  return a;
}
static void* reads_for_ever(void* a) {
  char b;
  SYS(read(slave, &b, 1));
  return a;
}

int main(void) {
  watchdog(35);
  pthread_t t = start(ticker, NULL);
  open_pair();

  // Lines: the terminal holds back what is not complete.
  pthread_t r = start(reads_line, NULL);
  others_run();
  write_all(master, "hel", 3);
  others_run();
  EXPECT_EQ(LOAD(done), 0);
  struct pollfd p = {slave, POLLIN, 0};
  EXPECT_EQ(poll(&p, 1, 10), 0);
  write_all(master, "lo\n", 3);
  join(r);

  // VMIN bytes, however they come; then a limit.
  raw(5, 0);
  done = 0;
  r = start(reads_five, NULL);
  for (int i = 1; i <= 5; i++) {
    EXPECT_EQ(LOAD(done), 0);
    write_all(master, &"012345"[i], 1);
    if (i < 5) others_run();
  }
  join(r);
  raw(0, 1);
  char b[100];
  int64_t t0 = now_ns();
  EXPECT_EQ(read(slave, b, sizeof b), 0);
  EXPECT_GE(now_ns() - t0, 50 * MS);
  raw(1, 0);
  SYS(fcntl(slave, F_SETFL, O_RDWR | O_NONBLOCK));
  FAILS(read(slave, b, 1), EAGAIN);
  SYS(fcntl(slave, F_SETFL, O_RDWR));

  // More than the terminal holds.
  for (size_t i = 0; i < sizeof big; i++) big[i] = (char)('a' + i % 26);
  done = 0;
  r = start(writes_much, NULL);
  others_run();
  EXPECT_EQ(LOAD(done), 0);
  for (size_t got = 0; got < sizeof big;) {
    ssize_t n = SYS(read(master, b, sizeof b));
    for (ssize_t i = 0; i < n; i++) EXPECT_EQ(b[i], 'a' + (got + (size_t)i) % 26);
    got += (size_t)n;
  }
  join(r);
  EXPECT_EQ(done, 1);

  // A signal and a cancellation end a read.
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  SYS(sigaction(SIGUSR1, &sa, NULL));
  done = 0;
  r = start(is_interrupted, NULL);
  while (!LOAD(done)) {
    OK(pthread_kill(r, SIGUSR1));
    sleep_ms(10);
  }
  join(r);
  r = start(reads_for_ever, NULL);
  sleep_ms(20);
  OK(pthread_cancel(r));
  EXPECT(join(r) == PTHREAD_CANCELED);

  // The other side goes: a read ends either way.
  r = start(reads_to_the_end, num(slave));
  others_run();
  close(master);
  join(r);
  close(slave);
  open_pair();
  r = start(reads_to_the_end, num(master));
  others_run();
  close(slave);
  join(r);
  close(master);
  STORE(stop, 1);
  join(t);
  return 0;
}
