// tests/lib/expect.h -- what every behaviour test needs: checks that stop, a watchdog, clocks, small openers.
//
// A test is a plain POSIX program: it includes this header and nothing of ours, so it says the same
// thing with and without the library. Exit status: 0 pass, 1 fail, 77 skip.
//
// Downward, times are exact (nothing may return early); upward, generous: the machine is shared.
#ifndef TESTS_LIB_EXPECT_H
#define TESTS_LIB_EXPECT_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#define EXPECT_NORETURN [[noreturn]]
#else
#define EXPECT_NORETURN _Noreturn
#endif

// ---- checks: each prints file:line and ends the process, from whichever thread it happens in ----

// stderr is written directly: a failing thread may hold a stdio lock.
EXPECT_NORETURN static inline void expect_fail(const char* file, int line, const char* what) {
  int e = errno;
  char b[512];
  int n = snprintf(b, sizeof b, "%s:%d: failed: %s (errno %d %s)\n", file, line, what, e, strerrordesc_np(e));
  if (n > (int)sizeof b - 1) n = sizeof b - 1;
  if (write(2, b, (size_t)n) < 0) _exit(1);
  _exit(1);
}
static inline void expect_eq_(const char* file, int line, const char* what, long long a, long long b) {
  if (a == b) return;
  char s[400];
  snprintf(s, sizeof s, "%s: %lld, not %lld", what, a, b);
  expect_fail(file, line, s);
}
static inline void expect_le_(const char* file, int line, const char* what, long long a, long long b) {
  if (a <= b) return;
  char s[400];
  snprintf(s, sizeof s, "%s: %lld > %lld", what, a, b);
  expect_fail(file, line, s);
}
static inline long long expect_sys_(const char* file, int line, const char* what, long long r) {
  if (r == -1) expect_fail(file, line, what);
  return r;
}
#define EXPECT(c) ((c) ? (void)0 : expect_fail(__FILE__, __LINE__, #c))
#define EXPECT_EQ(a, b) expect_eq_(__FILE__, __LINE__, #a, (long long)(a), (long long)(b))
#define EXPECT_LE(a, b) expect_le_(__FILE__, __LINE__, #a " <= " #b, (long long)(a), (long long)(b))
#define EXPECT_GE(a, b) expect_le_(__FILE__, __LINE__, #b " <= " #a, (long long)(b), (long long)(a))
// A pthread-style call that returns 0.
#define OK(call) EXPECT_EQ((call), 0)
// A system-call-style call that does not return -1; gives the value.
#define SYS(call) expect_sys_(__FILE__, __LINE__, #call, (long long)(call))
// A system-call-style call that fails with exactly this errno.
#define FAILS(call, err)                                                      \
  do {                                                                        \
    errno = 0;                                                                \
    EXPECT_EQ((call), -1);                                                    \
    expect_eq_(__FILE__, __LINE__, "errno of " #call, errno, (err));          \
  } while (0)

EXPECT_NORETURN static inline void skip(const char* why) {
  printf("skip: %s\n", why);
  fflush(stdout);
  _exit(77);
}

// ---- the environment ----

// SIGALRM's default action ends the process, whatever its threads do.
static inline void watchdog(unsigned seconds) { alarm(seconds); }

// Is the program run under the library? Tests must behave the same; only what counts kernel threads asks.
static inline int preloaded(void) {
  const char* p = getenv("LD_PRELOAD");
  const char* d = getenv("GMPT_DISABLE");
  return p && *p && !(d && *d && strcmp(d, "0"));
}
static inline int max_procs(void) {
  const char* p = getenv("GOMAXPROCS");
  int n = p ? atoi(p) : 0;
  return n > 0 ? n : (int)sysconf(_SC_NPROCESSORS_ONLN);
}
static inline int kernel_threads(void) {
  DIR* d = opendir("/proc/self/task");
  EXPECT(d != NULL);
  int n = 0;
  for (struct dirent* e; (e = readdir(d));)
    if (e->d_name[0] != '.') n++;
  closedir(d);
  return n;
}
static inline void need_files(rlim_t n) {
  struct rlimit r;
  SYS(getrlimit(RLIMIT_NOFILE, &r));
  if (r.rlim_cur >= n) return;
  struct rlimit w = {n, r.rlim_max < n ? n : r.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &w) == -1) skip("cannot raise RLIMIT_NOFILE");
}

// ---- time ----

#define MS 1000000LL
#define SEC 1000000000LL
static inline int64_t clock_ns(clockid_t c) {
  struct timespec t;
  clock_gettime(c, &t);
  return (int64_t)t.tv_sec * SEC + t.tv_nsec;
}
static inline int64_t now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }
static inline struct timespec ts_of(int64_t ns) {
  struct timespec t;
  t.tv_sec = ns / SEC;
  t.tv_nsec = ns % SEC;
  return t;
}
// The absolute time `ns` from now on clock c.
static inline struct timespec ts_in(clockid_t c, int64_t ns) { return ts_of(clock_ns(c) + ns); }
static inline void sleep_ms(int64_t ms) {
  struct timespec t = ts_of(ms * MS);
  while (nanosleep(&t, &t) == -1 && errno == EINTR) {
  }
}
// Waits until a flag another thread sets; for ordering, not for timing.
#define WAIT_UNTIL(cond)                                       \
  do {                                                         \
    for (int64_t end_ = now_ns() + 20 * SEC; !(cond);) {       \
      EXPECT(now_ns() < end_ && #cond);                        \
      sleep_ms(1);                                             \
    }                                                          \
  } while (0)
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_add_fetch(&(x), (v), __ATOMIC_SEQ_CST)

// ---- threads ----

static inline pthread_t start(void* (*f)(void*), void* a) {
  pthread_t t;
  OK(pthread_create(&t, NULL, f, a));
  return t;
}
static inline void* join(pthread_t t) {
  void* r = NULL;
  OK(pthread_join(t, &r));
  return r;
}
static inline void* num(intptr_t n) { return (void*)n; }

// A small generator: the same sequence for the same seed.
static inline uint64_t rnd(uint64_t* s) {
  *s += 0x9e3779b97f4a7c15ull;
  uint64_t z = *s;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// ---- descriptors: loopback and ephemeral ports only ----

static inline void read_all(int fd, void* p, size_t n) {
  for (size_t got = 0; got < n;) {
    ssize_t r = read(fd, (char*)p + got, n - got);
    if (r == -1 && errno == EINTR) continue;
    EXPECT(r > 0);
    got += (size_t)r;
  }
}
static inline void write_all(int fd, const void* p, size_t n) {
  for (size_t put = 0; put < n;) {
    ssize_t r = write(fd, (const char*)p + put, n - put);
    if (r == -1 && errno == EINTR) continue;
    EXPECT(r > 0);
    put += (size_t)r;
  }
}
static inline struct sockaddr_in loopback(in_port_t port) {
  struct sockaddr_in a;
  memset(&a, 0, sizeof a);
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = port;
  return a;
}
static inline struct sockaddr_in name_of(int fd) {
  struct sockaddr_in a;
  socklen_t n = sizeof a;
  SYS(getsockname(fd, (struct sockaddr*)&a, &n));
  return a;
}
static inline int tcp_listen(int backlog) {
  int fd = (int)SYS(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_in a = loopback(0);
  SYS(bind(fd, (struct sockaddr*)&a, sizeof a));
  SYS(listen(fd, backlog));
  return fd;
}
static inline int tcp_connect(int listener) {
  int fd = (int)SYS(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_in a = name_of(listener);
  SYS(connect(fd, (struct sockaddr*)&a, sizeof a));
  return fd;
}
static inline void tcp_pair(int v[2]) {
  int l = tcp_listen(4);
  v[0] = tcp_connect(l);
  v[1] = (int)SYS(accept(l, NULL, NULL));
  close(l);
}
static inline int udp_bound(void) {
  int fd = (int)SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  struct sockaddr_in a = loopback(0);
  SYS(bind(fd, (struct sockaddr*)&a, sizeof a));
  return fd;
}

// ---- the program again, as a child: for what ends a whole process ----

// Runs this program with one argument, collects its stdout, returns its wait status.
static inline int run_self(const char* arg, char* out, size_t cap) {
  int p[2];
  SYS(pipe2(p, O_CLOEXEC));
  fflush(stdout);
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    dup2(p[1], 1);
    execl("/proc/self/exe", "self", arg, (char*)NULL);
    _exit(127);
  }
  close(p[1]);
  size_t n = 0;
  for (ssize_t r; n < cap - 1 && (r = read(p[0], out + n, cap - 1 - n)) > 0;) n += (size_t)r;
  out[n] = 0;
  close(p[0]);
  int st = 0;
  SYS(waitpid(pid, &st, 0));
  return st;
}
#define EXPECT_EXITED(st, code) EXPECT_EQ((st), (code) << 8)

// A child ended with 0.
static inline void reap_ok(pid_t pid) {
  int st = 0;
  SYS(waitpid(pid, &st, 0));
  EXPECT_EXITED(st, 0);
}
#endif
