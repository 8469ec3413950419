// posix/process_exit.c -- exit from any thread, or returning from main, ends the process with that status while other threads run, sleep, spin or wait.
// timeout: 30
#include "expect.h"

static void bye(void) { printf("bye %d\n", getpid() == gettid() ? 1 : 0); }
static volatile int forever = 1;
static void* spins(void* a) {
  while (forever) {
  }
  return a;
}
static void* sleeps(void* a) {
  sleep(1000);
  return a;
}
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void* waits(void* a) {
  pthread_mutex_lock(&m);
  for (;;) pthread_cond_wait(&c, &m);
  return a;
}
static void* reads(void* a) {
  int p[2];
  SYS(pipe(p));
  char b;
  if (read(p[0], &b, 1) == 99) return a;
  return a;
}
static void* exits(void* a) {
  sleep_ms(50);
  exit((int)(intptr_t)a);
}
static void* exits_raw(void* a) {
  sleep_ms(50);
  _exit((int)(intptr_t)a);
}
static void* returns(void* a) { return a; }

static void crowd(int spin) {
  for (int i = 0; i < 5; i++) {
    start(sleeps, NULL);
    start(waits, NULL);
    start(reads, NULL);
  }
  if (spin) start(spins, NULL);
}

int main(int argc, char** argv) {
  watchdog(25);
  if (argc > 1) {
    atexit(bye);
    crowd(argv[1][1] == 's');
    switch (argv[1][0]) {
      case 'r': sleep_ms(30); return 11;
      case 'e': start(exits, num(12)); sleep(1000); break;
      case '_': start(exits_raw, num(13)); sleep(1000); break;
      case 'j': start(exits, num(14)); join(start(sleeps, NULL)); break;
      case 'm': start(exits, num(15)); waits(NULL); break;
      case 'q': join(start(returns, NULL)); exit(16);
    }
    return 99;
  }
  static const struct { const char* arg; int code; const char* out; } v[] = {
      {"r", 11, "bye 1\n"}, {"rs", 11, "bye 1\n"}, {"e", 12, "bye 0\n"}, {"es", 12, "bye 0\n"}, {"_", 13, ""},
      {"_s", 13, ""},       {"j", 14, "bye 0\n"},  {"m", 15, "bye 0\n"}, {"q", 16, "bye 1\n"}, {"qs", 16, "bye 1\n"},
  };
  for (unsigned i = 0; i < sizeof v / sizeof *v; i++) {
    char out[200];
    int64_t t0 = now_ns();
    int st = run_self(v[i].arg, out, sizeof out);
    EXPECT_EXITED(st, v[i].code);
    EXPECT(!strcmp(out, v[i].out));
    EXPECT_LE(now_ns() - t0, 10 * SEC);
  }
  return 0;
}
