// posix/libc_blocked.c -- threads blocked inside libc or in system calls of their own do not stop the others: a ticker's gaps stay short.
// timeout: 60
#include "expect.h"
#include <netdb.h>
#include <sys/file.h>

static int quit, ticks;
static int64_t worst;
static void* ticker(void* a) {
  int64_t last = now_ns();
  while (!LOAD(quit)) {
    sleep_ms(1);
    int64_t n = now_ns(), d = n - last;
    if (d > __atomic_load_n(&worst, __ATOMIC_RELAXED)) __atomic_store_n(&worst, d, __ATOMIC_RELAXED);
    last = n;
    ADD(ticks, 1);
  }
  return a;
}
static int64_t case_start;
static void begin(void) {
  sleep_ms(5);
  STORE(worst, 0);
  STORE(ticks, 0);
  case_start = now_ns();
}
static void end(const char* what) {
  int64_t ms = (now_ns() - case_start) / MS;
  printf("%-12s %4lld ms, ticks %4d, worst gap %.1f ms\n", what, (long long)ms, LOAD(ticks), LOAD(worst) / 1e6);
  fflush(stdout);
  EXPECT_LE(LOAD(worst), 200 * MS);
  EXPECT_GE(LOAD(ticks), ms / 20);
}
enum { T = 8 };
static void all(void* (*f)(void*), int n) {
  pthread_t t[64];
  for (int i = 0; i < n; i++) t[i] = start(f, num(i));
  for (int i = 0; i < n; i++) join(t[i]);
}

static int pipes[T][2];
static void* fgets_pipe(void* a) {
  FILE* f = fdopen(pipes[(intptr_t)a][0], "r");
  char b[32];
  EXPECT(f && fgets(b, sizeof b, f) && !strcmp(b, "line\n"));
  fclose(f);
  return NULL;
}
static void* fgets_all(void* a) {
  pthread_t t[T];
  for (int i = 0; i < T; i++) {
    SYS(pipe2(pipes[i], O_CLOEXEC));
    t[i] = start(fgets_pipe, num(i));
  }
  sleep_ms(300);
  for (int i = 0; i < T; i++) write_all(pipes[i][1], "line\n", 5);
  for (int i = 0; i < T; i++) join(t[i]);
  for (int i = 0; i < T; i++) close(pipes[i][1]);
  return a;
}

static FILE* locked;
static void* prints(void* a) {
  for (int i = 0; i < 10; i++) EXPECT(fputs("x", locked) >= 0);
  return a;
}
static void* flockfile_sleeps(void* a) {
  flockfile(locked);
  sleep_ms(300);
  sched_yield();
  funlockfile(locked);
  return a;
}
static void* mixed_flockfile(void* a) {
  if ((intptr_t)a == 0) return flockfile_sleeps(a);
  sleep_ms(20);
  return prints(a);
}

static void* slot[64];
static void* mallocs(void* a) {
  uint64_t s = (uintptr_t)a;
  for (int i = 0; i < 20000; i++) {
    size_t n = rnd(&s) % 64 ? 16 + rnd(&s) % 2000 : 200000;
    char* p = (char*)malloc(n);
    p[0] = p[n - 1] = (char)s;
    // Freed by whoever comes next.
    free(__atomic_exchange_n(&slot[rnd(&s) % 64], p, __ATOMIC_ACQ_REL));
  }
  return a;
}

static void* waits_child(void* a) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    usleep(250000);
    _exit(7);
  }
  int st;
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT_EXITED(st, 7);
  return a;
}
static void* runs_shell(void* a) {
  int st = system("sleep 0.25; exit 3");
  EXPECT_EXITED(st, 3);
  return a;
}
static void* resolves(void* a) {
  for (int i = 0; i < 20; i++) {
    struct addrinfo h, *r = NULL;
    memset(&h, 0, sizeof h);
    h.ai_socktype = SOCK_STREAM;
    h.ai_family = AF_INET;
    int e = getaddrinfo("localhost", "80", &h, &r);
    EXPECT_EQ(e, 0);
    EXPECT_EQ(((struct sockaddr_in*)(void*)r->ai_addr)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    freeaddrinfo(r);
  }
  return a;
}
static char path[64], fifo[80];
static void* flocks(void* a) {
  int fd = (int)SYS(open(path, O_RDWR | O_CLOEXEC));
  SYS(flock(fd, LOCK_EX));
  sleep_ms(40);
  SYS(flock(fd, LOCK_UN));
  close(fd);
  return a;
}
static void* ofd_locks(void* a) {
  int fd = (int)SYS(open(path, O_RDWR | O_CLOEXEC));
  struct flock l;
  memset(&l, 0, sizeof l);
  l.l_type = F_WRLCK;
  SYS(fcntl(fd, F_OFD_SETLKW, &l));
  sleep_ms(40);
  close(fd);
  return a;
}
static void* opens_fifo(void* a) {
  char b;
  if ((intptr_t)a == 0) {
    sleep_ms(250);
    int fd = (int)SYS(open(fifo, O_WRONLY | O_CLOEXEC));  // lets all readers in
    sleep_ms(50);
    close(fd);
  } else {
    int fd = (int)SYS(open(fifo, O_RDONLY | O_CLOEXEC));  // waits for a writer
    EXPECT_EQ(read(fd, &b, 1), 0);
    close(fd);
  }
  return a;
}
static void* sleeps_by_itself(void* a) {
#ifdef __x86_64__
  // A system call no library can see.
  struct timespec t = ts_of(300 * MS);
  int64_t t0 = now_ns();
  for (;;) {
    long r = SYS_nanosleep;
    __asm__ volatile("syscall" : "+a"(r) : "D"(&t), "S"(&t) : "rcx", "r11", "memory");
    if (r == 0) break;
    EXPECT_EQ(r, -EINTR);
  }
  EXPECT_GE(now_ns() - t0, 300 * MS);
#endif
  return a;
}

int main(void) {
  watchdog(55);
  pthread_t tick = start(ticker, NULL);
#define CASE(name, f, n) (begin(), all(f, n), end(name))
  CASE("fgets", fgets_all, 1);
  EXPECT((locked = tmpfile()) != NULL);
  CASE("flockfile", mixed_flockfile, T);
  fclose(locked);
  CASE("malloc", mallocs, 32);
  CASE("waitpid", waits_child, T);
  CASE("system", runs_shell, 4);
  char l[256];
  int local = 0;
  FILE* h = fopen("/etc/hosts", "r");
  while (h && fgets(l, sizeof l, h))
    if (!strncmp(l, "127.0.0.1", 9) && strstr(l, "localhost")) local = 1;
  if (h) fclose(h);
  if (local) CASE("getaddrinfo", resolves, T);
  snprintf(path, sizeof path, "/tmp/expect-XXXXXX");
  close((int)SYS(mkstemp(path)));
  CASE("flock", flocks, T);
  CASE("ofd lock", ofd_locks, T);
  SYS(unlink(path));
  snprintf(fifo, sizeof fifo, "%s.f", path);
  SYS(mkfifo(fifo, 0600));
  CASE("open fifo", opens_fifo, T);
  SYS(unlink(fifo));
  CASE("own syscall", sleeps_by_itself, T);
  STORE(quit, 1);
  join(tick);
  return 0;
}
