// posix/fork_handlers.c -- pthread_atfork handlers run in order, in the forking thread, and can guard locks across fork.
// timeout: 30
#include "expect.h"

static char log_[64];
static int n;
static pthread_t forker;
static void say(char c) {
  EXPECT(pthread_equal(forker, pthread_self()));
  log_[n++] = c;
}
static void a1(void) { say('a'); }
static void a2(void) { say('b'); }
static void p1(void) { say('A'); }
static void p2(void) { say('B'); }
static void c1(void) { say('1'); }
static void c2(void) { say('2'); }

// The usual use: take the lock before, release it on both sides. It blocks while another thread holds it.
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;  // 0 whenever m is free
static void take(void) { OK(pthread_mutex_lock(&m)); }
static void give(void) { OK(pthread_mutex_unlock(&m)); }

static int quit;
static void* holds(void* a) {
  while (!LOAD(quit)) {
    OK(pthread_mutex_lock(&m));
    balance++;
    usleep(500);
    balance--;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* touches(void* a) {
  OK(pthread_mutex_lock(&m));
  EXPECT_EQ(balance, 0);
  OK(pthread_mutex_unlock(&m));
  return a;
}
static void* forks(void* a) {
  forker = pthread_self();
  for (int i = 0; i < 10; i++) {
    n = 0;
    memset(log_, 0, sizeof log_);
    pid_t pid = (pid_t)SYS(fork());
    if (pid == 0) {
      watchdog(10);
      EXPECT(!strcmp(log_, "ba12"));
      touches(NULL);
      join(start(touches, NULL));
      _exit(0);
    }
    EXPECT(!strcmp(log_, "baAB"));
    reap_ok(pid);
  }
  return a;
}

int main(void) {
  watchdog(25);
  OK(pthread_atfork(a1, p1, c1));
  OK(pthread_atfork(take, give, give));
  OK(pthread_atfork(a2, p2, c2));
  pthread_t h[3];
  for (int i = 0; i < 3; i++) h[i] = start(holds, NULL);
  forks(NULL);
  join(start(forks, NULL));
  STORE(quit, 1);
  for (int i = 0; i < 3; i++) join(h[i]);
  return 0;
}
