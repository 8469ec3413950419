// posix/futex_syscall.c -- the futex call by number: value check, wake counts, bitsets, requeue, wake-op, limits, signals, processes; gettid and close by number.
// timeout: 60
#include "expect.h"
#include <linux/futex.h>
#include <sys/mman.h>

static long fx(uint32_t* a, int op, uint32_t v, const void* t, uint32_t* b, uint32_t v3) { return syscall(SYS_futex, a, op, v, t, b, v3); }
static int priv;  // FUTEX_PRIVATE_FLAG or 0

struct waiter { uint32_t* at; uint32_t bits; int started, done; long result; int error; };
static void* waits(void* a) {
  struct waiter* w = (struct waiter*)a;
  STORE(w->started, 1);
  w->result = fx(w->at, FUTEX_WAIT_BITSET | priv, *w->at, NULL, NULL, w->bits);
  w->error = errno;
  STORE(w->done, 1);
  return NULL;
}
static void begin(struct waiter* w, pthread_t* t, int n, uint32_t* at) {
  for (int i = 0; i < n; i++) {
    w[i] = (struct waiter){at, 1u << i, 0, 0, -2, 0};
    t[i] = start(waits, &w[i]);
    WAIT_UNTIL(LOAD(w[i].started));
    sleep_ms(5);
  }
}
static int done(struct waiter* w, int n) {
  int d = 0;
  for (int i = 0; i < n; i++) d += LOAD(w[i].done);
  return d;
}

static uint32_t word, other;
static int hits;
static void handler(int s) { ADD(hits, 1); (void)s; }
static void* kills(void* a) {
  sleep_ms(20);
  OK(pthread_kill(*(pthread_t*)a, SIGUSR1));
  return NULL;
}
// Then, and until somebody was there to be woken: the other thread may be later still.
static void* wakes_late(void* a) {
  sleep_ms((intptr_t)a);
  while (fx(&word, FUTEX_WAKE | priv, 1, NULL, NULL, 0) == 0) sleep_ms(1);
  return NULL;
}

static void counts(void) {
  enum { N = 5 };
  struct waiter w[N];
  pthread_t t[N];
  STORE(word, 7);
  FAILS(fx(&word, FUTEX_WAIT | priv, 8, NULL, NULL, 0), EAGAIN);
  EXPECT_EQ(fx(&word, FUTEX_WAKE | priv, 10, NULL, NULL, 0), 0);
  FAILS(fx((uint32_t*)((char*)&word + 1), FUTEX_WAIT | priv, 7, NULL, NULL, 0), EINVAL);
  FAILS(fx(&word, FUTEX_WAIT_BITSET | priv, 7, NULL, NULL, 0), EINVAL);
  FAILS(fx(&word, FUTEX_WAKE_BITSET | priv, 1, NULL, NULL, 0), EINVAL);
  begin(w, t, N, &word);
  EXPECT_EQ(done(w, N), 0);
  EXPECT_EQ(fx(&word, FUTEX_WAKE_BITSET | priv, 10, NULL, NULL, 1u << 3), 1);
  join(t[3]);
  EXPECT_EQ(fx(&word, FUTEX_WAKE | priv, 1, NULL, NULL, 0), 1);
  WAIT_UNTIL(done(w, N) == 2);
  EXPECT_EQ(fx(&word, FUTEX_WAKE | priv, 2, NULL, NULL, 0), 2);
  WAIT_UNTIL(done(w, N) == 4);
  EXPECT_EQ(fx(&word, FUTEX_WAKE | priv, 10, NULL, NULL, 0), 1);
  for (int i = 0; i < N; i++) {
    if (i != 3) join(t[i]);
    EXPECT_EQ(w[i].result, 0);
  }
}

static void moves(void) {
  enum { N = 6 };
  struct waiter w[N];
  pthread_t t[N];
  STORE(word, 1);
  STORE(other, 1);
  begin(w, t, N, &word);
  FAILS(fx(&word, FUTEX_CMP_REQUEUE | priv, 1, (void*)10, &other, 2), EAGAIN);
  FAILS(fx(&word, FUTEX_CMP_REQUEUE | priv, 1, (void*)(intptr_t)-1, &other, 1), EINVAL);
  EXPECT_EQ(fx(&word, FUTEX_CMP_REQUEUE | priv, 1, (void*)2, &other, 1), 3);
  WAIT_UNTIL(done(w, N) == 1);
  EXPECT_EQ(fx(&other, FUTEX_WAKE | priv, 10, NULL, NULL, 0), 2);
  WAIT_UNTIL(done(w, N) == 3);
  EXPECT_EQ(fx(&word, FUTEX_REQUEUE | priv, 0, (void*)10, &other, 0), 3);
  EXPECT_EQ(fx(&word, FUTEX_WAKE | priv, 10, NULL, NULL, 0), 0);
  EXPECT_EQ(fx(&other, FUTEX_WAKE | priv, 10, NULL, NULL, 0), 3);
  for (int i = 0; i < N; i++) join(t[i]);

  // WAKE_OP: 2 is added to `other`, whose old value decides about its own waiters.
  begin(w, t, 2, &word);
  begin(w + 2, t + 2, 2, &other);
  EXPECT_EQ(fx(&word, FUTEX_WAKE_OP | priv, 1, (void*)10, &other, FUTEX_OP(FUTEX_OP_ADD, 2, FUTEX_OP_CMP_GT, 5)), 1);
  EXPECT_EQ(LOAD(other), 3);
  EXPECT_EQ(fx(&word, FUTEX_WAKE_OP | priv, 1, (void*)10, &other, FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_EQ, 3)), 3);
  EXPECT_EQ(LOAD(other), 9);
  for (int i = 0; i < 4; i++) join(t[i]);
  fx(&word, FUTEX_WAKE_OP | priv, 1, (void*)1, &other, FUTEX_OP(FUTEX_OP_ANDN, 1, FUTEX_OP_CMP_LT, -3));
  EXPECT_EQ(LOAD(other), 8);
  fx(&word, FUTEX_WAKE_OP | priv, 1, (void*)1, &other, FUTEX_OP(FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT, 4, FUTEX_OP_CMP_NE, 8));
  EXPECT_EQ(LOAD(other), 24);
}

static void limits(void) {
  STORE(word, 0);
  struct timespec t = ts_of(30 * MS), bad = {0, SEC};
  int64_t t0 = now_ns();
  FAILS(fx(&word, FUTEX_WAIT | priv, 0, &t, NULL, 0), ETIMEDOUT);
  EXPECT_GE(now_ns() - t0, 30 * MS);
  FAILS(fx(&word, FUTEX_WAIT | priv, 0, &bad, NULL, 0), EINVAL);
  clockid_t clocks[2] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
  for (int i = 0; i < 2; i++) {
    int op = FUTEX_WAIT_BITSET | priv | (i ? FUTEX_CLOCK_REALTIME : 0);
    t = ts_in(clocks[i], 30 * MS);
    FAILS(fx(&word, op, 0, &t, NULL, ~0u), ETIMEDOUT);
    EXPECT_GE(clock_ns(clocks[i]), (int64_t)t.tv_sec * SEC + t.tv_nsec);
    FAILS(fx(&word, op, 0, &(struct timespec){0, 1}, NULL, ~0u), ETIMEDOUT);
    FAILS(fx(&word, op, 1, &(struct timespec){0, 1}, NULL, ~0u), EAGAIN);
    t = ts_in(clocks[i], 20 * SEC);
    STORE(word, 0);
    pthread_t w = start(wakes_late, num(20));
    EXPECT_EQ(fx(&word, op, 0, &t, NULL, ~0u), 0);
    join(w);
    STORE(word, 0);
  }
}

static void signals(void) {
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = handler;
  pthread_t me = pthread_self(), k, w;
  struct timespec t = {20, 0};
  STORE(word, 0);
  for (int restart = 0; restart < 2; restart++) {
    sa.sa_flags = restart ? SA_RESTART : 0;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    int before = LOAD(hits);
    k = start(kills, &me);
    FAILS(fx(&word, FUTEX_WAIT | priv, 0, &t, NULL, 0), EINTR);  // with a limit it never restarts
    join(k);
    EXPECT_EQ(LOAD(hits), before + 1);
    if (!restart && priv) {
      k = start(kills, &me);
      FAILS(fx(&word, FUTEX_WAIT | priv, 0, NULL, NULL, 0), EINTR);
      join(k);
    } else if (restart) {
      k = start(kills, &me);
      w = start(wakes_late, num(60));
      EXPECT_EQ(fx(&word, FUTEX_WAIT | priv, 0, NULL, NULL, 0), 0);
      join(k);
      join(w);
      EXPECT_EQ(LOAD(hits), before + 2);
    }
  }
  STORE(word, 0);
}

// A lock as the futex manual has it: 0 free, 1 held, 2 held and waited for.
static uint32_t lock_word;
static long counter;
static void* locker(void* a) {
  for (int i = 0; i < 3000; i++) {
    uint32_t c = 0;
    if (!__atomic_compare_exchange_n(&lock_word, &c, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      if (c != 2) c = __atomic_exchange_n(&lock_word, 2, __ATOMIC_SEQ_CST);
      while (c) {
        fx(&lock_word, FUTEX_WAIT | priv, 2, NULL, NULL, 0);
        c = __atomic_exchange_n(&lock_word, 2, __ATOMIC_SEQ_CST);
      }
    }
    counter++;
    if (i % 100 == 0) sched_yield();
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_SEQ_CST) == 2) fx(&lock_word, FUTEX_WAKE | priv, 1, NULL, NULL, 0);
  }
  (void)a;
  return NULL;
}

// Two processes, one page.
static void* shared_waiter(void* a) {
  uint32_t* p = (uint32_t*)a;
  while (LOAD(p[0]) == 0) fx(&p[0], FUTEX_WAIT, 0, NULL, NULL, 0);
  ADD(p[1], 1);
  return NULL;
}
static void processes(void) {
  // The page was private once, and waited on.
  uint32_t* p = (uint32_t*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(p != MAP_FAILED);
  p[1] = 1;
  struct timespec soon = ts_of(MS);
  FAILS(fx(&p[0], FUTEX_WAIT, 0, &soon, NULL, 0), ETIMEDOUT);
  EXPECT(mmap(p, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
  pthread_t t[4];
  pid_t pid = (pid_t)SYS(fork());
  for (int i = 0; i < 4; i++) t[i] = start(shared_waiter, p);
  if (pid == 0) {
    for (int i = 0; i < 4; i++) join(t[i]);
    _exit(0);
  }
  sleep_ms(100);
  STORE(p[0], 1);
  fx(&p[0], FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
  for (int i = 0; i < 4; i++) join(t[i]);
  reap_ok(pid);
  EXPECT_EQ(LOAD(p[1]), 8);
  munmap(p, 4096);
}

static pid_t tid_of_other;
static int quit;
static void* tells_tid(void* a) {
  (void)a;
  EXPECT_EQ(syscall(SYS_gettid), gettid());
  STORE(tid_of_other, (pid_t)syscall(SYS_gettid));
  while (!LOAD(quit)) {
    char b;
    syscall(SYS_read, *(int*)a, &b, 1);
  }
  return NULL;
}
static void by_number(void) {
  int p[2];
  EXPECT_EQ(syscall(SYS_pipe2, p, O_CLOEXEC), 0);
  EXPECT_EQ(syscall(SYS_gettid), gettid());
  EXPECT_EQ(syscall(SYS_getpid), getpid());
  pthread_t t = start(tells_tid, &p[0]);
  WAIT_UNTIL(LOAD(tid_of_other));
  EXPECT(tid_of_other != gettid());
  int before = LOAD(hits);
  EXPECT_EQ(syscall(SYS_tgkill, getpid(), tid_of_other, SIGUSR1), 0);
  WAIT_UNTIL(LOAD(hits) == before + 1);
  EXPECT_EQ(syscall(SYS_tkill, tid_of_other, SIGUSR1), 0);
  WAIT_UNTIL(LOAD(hits) == before + 2);
  OK(pthread_cancel(t));  // no cancellation point
  sleep_ms(10);
  STORE(quit, 1);
  EXPECT_EQ(syscall(SYS_write, p[1], "x", 1), 1);
  join(t);
  EXPECT_EQ(syscall(SYS_close, p[0]), 0);
  FAILS(syscall(SYS_close, p[0]), EBADF);
  FAILS(syscall(99999), ENOSYS);
  FAILS(syscall(SYS_read, p[0], NULL, 1L), EBADF);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8L), 0);
  OK(pthread_sigmask(SIG_UNBLOCK, &set, &old));
  EXPECT(sigismember(&old, SIGUSR2));
  // A mapping takes six arguments.
  void* m = (void*)syscall(SYS_mmap, NULL, 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  EXPECT(m != MAP_FAILED);
  *(char*)m = 1;
  EXPECT_EQ(syscall(SYS_munmap, m, 4096L), 0);
  pid_t pid = (pid_t)SYS(syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, 0L));
  if (pid == 0) {
    sleep_ms(1);
    _exit(3);
  }
  int st;
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT_EXITED(st, 3);
}

int main(void) {
  watchdog(55);
  for (int i = 0; i < 2; i++) {
    priv = i ? FUTEX_PRIVATE_FLAG : 0;
    counts();
    moves();
    limits();
    signals();
    counter = 0;
    pthread_t t[8];
    for (int k = 0; k < 8; k++) t[k] = start(locker, NULL);
    for (int k = 0; k < 8; k++) join(t[k]);
    EXPECT_EQ(counter, 24000);
  }
  processes();
  by_number();
  return 0;
}
