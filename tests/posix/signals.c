// posix/signals.c -- signals reach the right thread, run its handler on its own stack, and end what they should end
// timeout: 60
// modes: all-fs
#include "expect.h"
#include <signal.h>
#include <setjmp.h>
#include <sys/time.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

static volatile sig_atomic_t hits, last_sig;
static volatile pthread_t where;
static __thread volatile int my_hits;
static char* stack_probe;

static void handler(int s) {
  char here;
  stack_probe = &here;
  hits++;
  my_hits++;
  last_sig = s;
  where = pthread_self();
}

static void install(int sig, void (*h)(int), int flags) {
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = h;
  sa.sa_flags = flags;
  OK(sigaction(sig, &sa, NULL));
}

// A parked thread is woken by pthread_kill, its sleep ends with EINTR.
static int ready;
static void* sleeper(void* a) {
  __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
  struct timespec t = {20, 0}, rem = {0, 0};
  int r = nanosleep(&t, &rem);
  EXPECT(r == -1 && errno == EINTR);
  EXPECT(rem.tv_sec >= 15 && my_hits == 1);
  pthread_attr_t at;
  void* lo;
  size_t n;
  OK(pthread_getattr_np(pthread_self(), &at));
  OK(pthread_attr_getstack(&at, &lo, &n));
  EXPECT(stack_probe > (char*)lo && stack_probe < (char*)lo + n);
  pthread_attr_destroy(&at);
  return a;
}

static int sp[2];
static void* reader(void* a) {
  char c;
  __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
  ssize_t r = read(sp[0], &c, 1);
  if (a) EXPECT(r == -1 && errno == EINTR);
  else EXPECT(r == 1 && c == 'x');
  EXPECT(my_hits == 1);
  return a;
}

static void* spinner(void* a) {
  __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
  while (!my_hits) { }
  return a;
}

static pthread_t launch(void* (*f)(void*), void* a) {
  pthread_t t;
  ready = 0;
  OK(pthread_create(&t, NULL, f, a));
  while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) sched_yield();
  usleep(30000);
  return t;
}

// All threads block a signal, one waits for it: kill() and pthread_kill() reach sigwait.
static int waited;
static void* waiter(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGTERM);
  sigaddset(&s, SIGUSR2);
  __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 4; i++) {
    int sig;
    OK(sigwait(&s, &sig));
    __atomic_store_n(&waited, sig, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&waited, __ATOMIC_SEQ_CST)) usleep(1000);
  }
  return a;
}

static sigjmp_buf jb;
static volatile char* fault_at;
static void on_fault(int s, siginfo_t* si, void* uc) {
  EXPECT(si->si_addr == (void*)fault_at);
  siglongjmp(jb, s);
}
static void* faulter(void* a) {
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 20; i++) {
    fault_at = page + 10;
    int s = sigsetjmp(jb, 1);
    if (s == 0) {
      *fault_at = 1;
      EXPECT(0);
    }
    EXPECT(s == SIGSEGV);
    sigset_t m;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &m));
    EXPECT(!sigismember(&m, SIGSEGV));
  }
  munmap(page, 4096);
  return a;
}

static void* blocked_hold(void* a) {
  sigset_t s, p;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR1);
  OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
  OK(pthread_kill(pthread_self(), SIGUSR1));
  EXPECT(my_hits == 0);
  OK(sigpending(&p));
  EXPECT(sigismember(&p, SIGUSR1));
  usleep(20000);
  EXPECT(my_hits == 0);
  OK(pthread_sigmask(SIG_UNBLOCK, &s, NULL));
  EXPECT(my_hits == 1);
  return a;
}

static char alt[65536];
static volatile int on_alt;
static void alt_handler(int s) {
  char here;
  on_alt = &here > alt && &here < alt + sizeof alt;
}
static void* alt_user(void* a) {
  stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
  OK(sigaltstack(&ss, NULL));
  install(SIGUSR2, alt_handler, SA_ONSTACK);
  OK(pthread_kill(pthread_self(), SIGUSR2));
  EXPECT(on_alt);
  ss.ss_flags = SS_DISABLE;
  OK(sigaltstack(&ss, NULL));
  return a;
}

// A handler that blocks: sleeps, takes a semaphore-like pipe, in the thread's own context.
static void sleepy_handler(int s) {
  usleep(5000);
  my_hits++;
  hits++;
}
static void* busy(void* a) {
  volatile double x = 1;
  while (my_hits < 20) x = x * 1.0000001;
  EXPECT(x >= 1);
  return a;
}

int main(void) {
  watchdog(20);
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sp));
  install(SIGUSR1, handler, 0);

  pthread_t t = launch(sleeper, NULL);
  OK(pthread_kill(t, SIGUSR1));
  join(t);
  t = launch(reader, (void*)1);
  OK(pthread_kill(t, SIGUSR1));
  join(t);
  install(SIGUSR1, handler, SA_RESTART);
  t = launch(reader, NULL);
  OK(pthread_kill(t, SIGUSR1));
  usleep(30000);
  SYS(write(sp[1], "x", 1));
  join(t);
  t = launch(spinner, NULL);
  OK(pthread_kill(t, SIGUSR1));
  join(t);
  OK(pthread_create(&t, NULL, blocked_hold, NULL));
  join(t);

  // Process-directed: main has it open and is parked in a sleep.
  hits = 0;
  my_hits = 0;
  pid_t parent = getpid();
  pid_t c = fork();
  if (c == 0) {
    usleep(50000);
    kill(parent, SIGUSR1);
    _exit(0);
  }
  unsigned left = sleep(10);
  EXPECT(hits == 1 && left >= 8);
  int st;
  while (waitpid(c, &st, 0) < 0) EXPECT(errno == EINTR);

  // alarm and setitimer end pause.
  install(SIGALRM, handler, 0);
  struct itimerval it = {{0, 0}, {0, 30000}};
  hits = 0;
  SYS(setitimer(ITIMER_REAL, &it, NULL));
  EXPECT(pause() == -1 && errno == EINTR && hits == 1);
  watchdog(20);

  pthread_t f;
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = on_fault;
  sa.sa_flags = SA_SIGINFO;
  OK(sigaction(SIGSEGV, &sa, NULL));
  OK(pthread_create(&f, NULL, faulter, NULL));
  join(f);
  OK(pthread_create(&f, NULL, alt_user, NULL));
  join(f);

  install(SIGUSR1, sleepy_handler, SA_RESTART);
  OK(pthread_create(&f, NULL, busy, NULL));
  for (int i = 0; i < 400 && hits < 21; i++) {
    pthread_kill(f, SIGUSR1);
    usleep(2000);
  }
  join(f);

  sigset_t s, old;
  sigemptyset(&s);
  sigaddset(&s, SIGTERM);
  sigaddset(&s, SIGUSR2);
  OK(pthread_sigmask(SIG_BLOCK, &s, &old));
  t = launch(waiter, NULL);
  for (int i = 0; i < 4; i++) {
    int sig = i & 1 ? SIGUSR2 : SIGTERM;
    if (i < 2) SYS(kill(getpid(), sig));
    else OK(pthread_kill(t, sig));
    while (__atomic_load_n(&waited, __ATOMIC_SEQ_CST) != sig) usleep(1000);
    __atomic_store_n(&waited, 0, __ATOMIC_SEQ_CST);
  }
  join(t);
  struct timespec none = {0, 1000000};
  EXPECT(sigtimedwait(&s, NULL, &none) == -1 && errno == EAGAIN);
  SYS(kill(getpid(), SIGTERM));
  siginfo_t si;
  EXPECT(sigtimedwait(&s, &si, &none) == SIGTERM && si.si_pid == getpid());
  return 0;
}
