// posix/thread_exit_main.c -- pthread_exit in main lets the other threads finish; then the process exits with 0 and atexit handlers run once.
// timeout: 30
#include "expect.h"

static void bye(void) {
  printf("atexit\n");
}
static void cleanup(void* a) {
  printf("cleanup %s\n", (const char*)a);
}
static void* later(void* a) {
  sleep_ms(150);
  printf("later\n");
  return a;
}
static void* later_joins_main(void* a) {
  void* r = NULL;
  OK(pthread_join(*(pthread_t*)a, &r));
  EXPECT_EQ(r, 33);
  printf("joined\n");
  return NULL;
}
static void* creates(void* a) {
  sleep_ms(30);
  OK(pthread_detach(pthread_self()));
  start(later, NULL);
  return a;
}
static void* quits(void* a) {
  sleep_ms(50);
  (void)a;
  exit(9);
}
static pthread_t self;
static void ends_by_signal(void) {
  kill(getpid(), SIGUSR1);
  sleep_ms(200);
}
static void* opens(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  OK(pthread_sigmask(SIG_UNBLOCK, &s, NULL));
  sleep_ms(50);
  return a;
}

int main(int argc, char** argv) {
  watchdog(25);
  if (argc > 1) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(bye);
    switch (argv[1][0]) {
      case 'a':  // another thread still runs
        start(later, NULL);
        pthread_cleanup_push(cleanup, (void*)"main");
        pthread_exit(num(1));
        pthread_cleanup_pop(0);
        break;
      case 'b':  // main is joined by another thread
        self = pthread_self();
        start(later_joins_main, &self);
        pthread_exit(num(33));
      case 'c':  // the last thread is one created after main left
        start(creates, NULL);
        pthread_exit(NULL);
      case 'd':  // alone
        pthread_exit(num(5));
      case 'e':  // another thread decides the status afterwards
        start(quits, NULL);
        pthread_exit(NULL);
    }
    // What runs at exit has the mask of the thread that ended last.
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    atexit(ends_by_signal);
    switch (argv[1][0]) {
      case 'f':  // main's own
        join(start(opens, NULL));
        pthread_exit(NULL);
      case 'g':
        OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
        start(opens, NULL);
        pthread_exit(NULL);
      case 'h':
        OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
        start(later, NULL);
        OK(pthread_sigmask(SIG_UNBLOCK, &s, NULL));
        pthread_exit(NULL);
    }
    return 99;
  }
  char out[200];
  int st = run_self("a", out, sizeof out);
  EXPECT_EXITED(st, 0);
  EXPECT(!strcmp(out, "cleanup main\nlater\natexit\n"));
  st = run_self("b", out, sizeof out);
  EXPECT_EXITED(st, 0);
  EXPECT(!strcmp(out, "joined\natexit\n"));
  st = run_self("c", out, sizeof out);
  EXPECT_EXITED(st, 0);
  EXPECT(!strcmp(out, "later\natexit\n"));
  st = run_self("d", out, sizeof out);
  EXPECT_EXITED(st, 0);
  EXPECT(!strcmp(out, "atexit\n"));
  st = run_self("e", out, sizeof out);
  EXPECT_EXITED(st, 9);
  EXPECT(!strcmp(out, "atexit\n"));
  EXPECT_EQ(run_self("f", out, sizeof out), SIGUSR1);
  EXPECT_EQ(run_self("g", out, sizeof out), SIGUSR1);
  EXPECT_EXITED(run_self("h", out, sizeof out), 0);
  return 0;
}
