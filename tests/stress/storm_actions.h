// stress/storm_actions.h -- what the threads of storm.cc share and do: each action takes the thread's generator and checks what it sees.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include "expect.h"
#include "watcher.h"

// ---- what all threads share ----

static uint64_t seed;
static std::atomic<uint64_t> threads_made, forks_made, live_detached;
static uint64_t steps() { return shared->progress; }

struct Locked {  // `plain` is protected by the mutex only
  pthread_mutex_t m;
  std::atomic<int> inside{0};
  long plain = 0;
  std::atomic<long> want{0};
};
static Locked locked[8];

struct Queue {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t room = PTHREAD_COND_INITIALIZER, item = PTHREAD_COND_INITIALIZER;
  uint64_t v[4];
  int head = 0, len = 0;
  uint64_t in = 0, out = 0;
};
static Queue queue;

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static long rw_a, rw_b;
static std::atomic<long> rw_want{0};
static sem_t three;
static std::atomic<int> in_three{0};
static int packets[2];  // one SOCK_SEQPACKET pair for all
static std::atomic<uint64_t> packet_in{0}, packet_out{0};
static std::atomic<char*> slots[32];
static std::atomic<long> objects{0};

// A thread_local with a constructor, memory of its own, and a destructor that blocks now and then.
struct Local {
  std::string s = std::string(64, 'n');
  int uses = 0;
  Local() { objects++; }
  ~Local() {
    EXPECT(s.size() == 64);
    if (uses > 3) usleep(50);
    objects--;
  }
};
static thread_local Local local;
static thread_local int fresh_int;

// ---- the actions; each takes the thread's generator ----

typedef uint64_t Rng;
static uint64_t pick(Rng* r, uint64_t n) { return rnd(r) % n; }
static void pause_somehow(Rng* r) {
  switch (pick(r, 6)) {
    case 0: sched_yield(); break;
    case 1: usleep((useconds_t)pick(r, 300)); break;
    case 2:
      for (volatile int i = 0; i < 3000; i++) {
      }
  }
}

static void do_mutex(Rng* r) {
  Locked& l = locked[pick(r, 8)];
  int e = 0;
  switch (pick(r, 4)) {
    case 0:
      for (int i = 0; (e = pthread_mutex_trylock(&l.m)) == EBUSY && i < 20; i++) sched_yield();
      if (e == EBUSY) return;
      break;
    case 1: {
      clockid_t c = pick(r, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
      timespec t = ts_in(c, (int64_t)pick(r, 3 * MS));
      e = pthread_mutex_clocklock(&l.m, c, &t);
      if (e == ETIMEDOUT) {
        EXPECT_GE(clock_ns(c), t.tv_sec * SEC + t.tv_nsec);
        return;
      }
      break;
    }
    default: e = pthread_mutex_lock(&l.m);
  }
  OK(e);
  EXPECT_EQ(++l.inside, 1);
  long p = l.plain;
  if (pick(r, 8) == 0) pause_somehow(r);
  l.plain = p + 1;
  l.want++;
  EXPECT_EQ(--l.inside, 0);
  OK(pthread_mutex_unlock(&l.m));
}

static void do_queue(Rng* r) {
  uint64_t x = rnd(r);
  timespec t = ts_in(CLOCK_REALTIME, 4 * MS);
  OK(pthread_mutex_lock(&queue.m));
  while (queue.len == 4) {
    int e = pthread_cond_timedwait(&queue.room, &queue.m, &t);
    if (e == ETIMEDOUT) {
      EXPECT_GE(clock_ns(CLOCK_REALTIME), t.tv_sec * SEC + t.tv_nsec);
      break;
    }
    OK(e);
  }
  if (queue.len < 4) {
    queue.v[(queue.head + queue.len++) % 4] = x;
    queue.in += x;
    OK(pthread_cond_signal(&queue.item));
  }
  OK(pthread_mutex_unlock(&queue.m));
  pause_somehow(r);
  OK(pthread_mutex_lock(&queue.m));
  if (queue.len == 0) {
    t = ts_in(CLOCK_MONOTONIC, MS);
    pthread_cond_clockwait(&queue.item, &queue.m, CLOCK_MONOTONIC, &t);
  }
  if (queue.len) {
    queue.out += queue.v[queue.head];
    queue.head = (queue.head + 1) % 4;
    queue.len--;
    OK(pthread_cond_signal(&queue.room));
  }
  OK(pthread_mutex_unlock(&queue.m));
}

static void do_rwlock(Rng* r) {
  if (pick(r, 4)) {
    OK(pthread_rwlock_rdlock(&rw));
    long a = rw_a;
    pause_somehow(r);
    EXPECT_EQ(a, rw_a);
    EXPECT_EQ(a, rw_b);
  } else {
    OK(pthread_rwlock_wrlock(&rw));
    EXPECT_EQ(rw_a, rw_b);
    rw_a++;
    if (pick(r, 4) == 0) pause_somehow(r);
    rw_b++;
    rw_want++;
  }
  OK(pthread_rwlock_unlock(&rw));
}

static void do_sem(Rng* r) {
  if (pick(r, 3) == 0) {
    timespec t = ts_in(CLOCK_REALTIME, 2 * MS);
    if (sem_timedwait(&three, &t) == -1) {
      EXPECT_EQ(errno, ETIMEDOUT);
      EXPECT_GE(clock_ns(CLOCK_REALTIME), t.tv_sec * SEC + t.tv_nsec);
      return;
    }
  } else {
    while (sem_wait(&three) == -1) EXPECT_EQ(errno, EINTR);
  }
  EXPECT_LE(++in_three, 3);
  pause_somehow(r);
  --in_three;
  SYS(sem_post(&three));
}

static void do_sleep(Rng* r) {
  int64_t ns = (int64_t)pick(r, 3 * MS), t0 = now_ns();
  timespec t = ts_of(ns);
  errno = 77;
  OK(nanosleep(&t, nullptr));
  EXPECT_EQ(errno, 77);
  EXPECT_GE(now_ns() - t0, ns);
}

static void do_spin(Rng* r) {
  uint64_t x = rnd(r), y = x;
  int n = (int)pick(r, 400000);
  for (int i = 0; i < n; i++) x = x * 6364136223846793005ull + 1;
  for (int i = 0; i < n; i++) x = (x - 1) * 0xc097ef87329e28a5ull;  // the inverse
  EXPECT(x == y);
}

struct Talk {
  int fd;
  uint64_t seed;
  int rounds;
};
static void* answers(void* a) {
  Talk* t = static_cast<Talk*>(a);
  Rng r = t->seed;
  for (int i = 0; i < t->rounds; i++) {
    std::vector<uint64_t> v(1 + pick(&r, 600));
    read_all(t->fd, v.data(), v.size() * 8);
    for (auto& x : v) {
      EXPECT(x == rnd(&r));
      x = ~x;
    }
    if (i % 4 == 3) sched_yield();
    write_all(t->fd, v.data(), v.size() * 8);
  }
  char b;
  EXPECT_EQ(read(t->fd, &b, 1), 0);
  close(t->fd);
  return nullptr;
}
static pthread_t spawn(void* (*f)(void*), void* a) {
  threads_made++;
  return start(f, a);
}
static void do_talk(Rng* r) {
  int v[2];
  if (pick(r, 3) == 0) tcp_pair(v);
  else SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v));
  Talk t = {v[1], rnd(r), 1 + (int)pick(r, 8)};
  pthread_t p = spawn(answers, &t);
  Rng same = t.seed;
  for (int i = 0; i < t.rounds; i++) {
    std::vector<uint64_t> out(1 + pick(&same, 600)), in(out.size());
    for (auto& x : out) x = rnd(&same);
    write_all(v[0], out.data(), out.size() * 8);
    if (i % 2) {
      pollfd f = {v[0], POLLIN, 0};
      EXPECT_EQ(poll(&f, 1, 20000), 1);
    }
    read_all(v[0], in.data(), in.size() * 8);
    for (size_t k = 0; k < in.size(); k++) EXPECT(in[k] == ~out[k]);
  }
  SYS(shutdown(v[0], SHUT_WR));
  join(p);
  char b;
  EXPECT_EQ(read(v[0], &b, 1), 0);
  close(v[0]);
}

static void* pours(void* a) {
  Talk* t = static_cast<Talk*>(a);
  Rng r = t->seed;
  for (int i = 0; i < t->rounds; i++) {
    uint64_t v[512];
    for (auto& x : v) x = rnd(&r);
    EXPECT_EQ(write(t->fd, v, sizeof v), sizeof v);
  }
  close(t->fd);
  return nullptr;
}
static void do_pipe(Rng* r) {
  int p[2];
  SYS(pipe2(p, O_CLOEXEC));
  Talk t = {p[1], rnd(r), 1 + (int)pick(r, 60)};  // up to 240 KB: more than a pipe holds
  pthread_t w = spawn(pours, &t);
  Rng same = t.seed;
  for (int i = 0; i < t.rounds; i++) {
    uint64_t v[512];
    read_all(p[0], v, sizeof v);
    for (auto& x : v) EXPECT(x == rnd(&same));
  }
  char b;
  EXPECT_EQ(read(p[0], &b, 1), 0);
  close(p[0]);
  join(w);
}

// Everyone sends before receiving: there is always a packet for whoever waits.
static void do_packet(Rng* r) {
  uint64_t x = rnd(r);
  packet_in += x;
  EXPECT_EQ(send(packets[0], &x, sizeof x, 0), sizeof x);
  pause_somehow(r);
  EXPECT_EQ(recv(packets[1], &x, sizeof x, 0), sizeof x);
  packet_out += x;
}

static void do_poll(Rng* r) {
  int p[2];
  SYS(pipe2(p, O_CLOEXEC));
  int ms = (int)pick(r, 4);
  int64_t t0 = now_ns();
  pollfd f[2] = {{p[0], POLLIN, 0}, {-1, POLLIN, 0}};
  EXPECT_EQ(poll(f, 2, ms), 0);
  EXPECT_GE(now_ns() - t0, ms * MS);
  write_all(p[1], "x", 1);
  EXPECT_EQ(poll(f, 2, -1), 1);
  EXPECT_EQ(f[0].revents, POLLIN);
  char b;
  read_all(p[0], &b, 1);
  close(p[1]);  // a child forked meanwhile may have it a little longer
  EXPECT_EQ(poll(f, 2, 20000), 1);
  EXPECT_EQ(f[0].revents, POLLHUP);
  close(p[0]);
}

static void* returns(void* a) {
  EXPECT_EQ(fresh_int, 0);
  fresh_int = 1;
  return a;
}
static void* exits(void* a) {
  std::string s(100, 'e');
  pthread_exit(a);
}
static void do_create(Rng* r) {
  int n = 1 + (int)pick(r, 8);
  pthread_t t[8];
  for (int i = 0; i < n; i++) t[i] = spawn(i & 1 ? returns : exits, num(i));
  for (int i = 0; i < n; i++) {
    if (pick(r, 3) == 0) {
      timespec far = ts_in(CLOCK_REALTIME, 60 * SEC);
      void* v;
      OK(pthread_timedjoin_np(t[i], &v, &far));
      EXPECT_EQ(v, i);
    } else {
      EXPECT_EQ(join(t[i]), i);
    }
  }
}

struct Meet {
  pthread_barrier_t b;
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  std::atomic<int> came{0}, serial{0};
  bool open = false;
  int n = 0;
};
static void* meets(void* a) {
  Meet* m = static_cast<Meet*>(a);
  for (int i = 1; i <= 3; i++) {
    m->came++;
    if (pthread_barrier_wait(&m->b) == PTHREAD_BARRIER_SERIAL_THREAD) m->serial++;
    EXPECT_GE(m->came, i * m->n);
  }
  OK(pthread_mutex_lock(&m->m));
  while (!m->open) OK(pthread_cond_wait(&m->c, &m->m));
  OK(pthread_mutex_unlock(&m->m));
  return nullptr;
}
static void do_meet(Rng* r) {
  auto m = std::make_unique<Meet>();
  m->n = 2 + (int)pick(r, 5);
  OK(pthread_barrier_init(&m->b, nullptr, (unsigned)m->n));
  pthread_t t[8];
  for (int i = 0; i < m->n; i++) t[i] = spawn(meets, m.get());
  pause_somehow(r);
  OK(pthread_mutex_lock(&m->m));
  m->open = true;
  OK(pthread_cond_broadcast(&m->c));
  OK(pthread_mutex_unlock(&m->m));
  for (int i = 0; i < m->n; i++) join(t[i]);
  EXPECT_EQ(m->serial, 3);
  OK(pthread_barrier_destroy(&m->b));
  OK(pthread_cond_destroy(&m->c));
}

static void do_malloc(Rng* r) {
  for (int i = 0; i < 50; i++) {
    size_t n = 16 + pick(r, pick(r, 16) ? 500 : 100000);
    char* p = static_cast<char*>(malloc(n));
    EXPECT(p != nullptr);
    memset(p, (int)(n & 0x7f), n);
    memcpy(p, &n, sizeof n);
    // Freed by whoever comes next, once it is found whole.
    p = slots[pick(r, 32)].exchange(p);
    if (!p) continue;
    memcpy(&n, p, sizeof n);
    for (size_t k = sizeof n; k < n; k += 1 + n / 16) EXPECT_EQ(p[k], n & 0x7f);
    free(p);
  }
}

static int __attribute__((noinline)) throws(int depth, Rng* r) {
  std::string s(40, 't');
  if (depth == 0) throw std::runtime_error("storm");
  int v = throws(depth - 1, r);
  return v + (int)s.size();
}
static void do_throw(Rng* r) {
  struct Pause {
    Rng* r;
    ~Pause() { pause_somehow(r); }
  };
  try {
    Pause p{r};
    throws(1 + (int)pick(r, 20), r);
    EXPECT(!"no throw");
  } catch (const std::exception& e) {
    pause_somehow(r);
    EXPECT(!strcmp(e.what(), "storm"));
  }
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

static void do_local(Rng* r) {
  char c = (char)('a' + pick(r, 26));
  local.s.assign(64, c);
  local.uses++;
  pause_somehow(r);
  EXPECT(local.s == std::string(64, c));
}

static void* in_child(void* a) {
  Rng r = (uintptr_t)a;
  for (int i = 0; i < 5; i++) {
    do_malloc(&r);
    do_sleep(&r);
    do_pipe(&r);
  }
  return a;
}
static void do_fork(Rng* r) {
  uint64_t s = rnd(r) | 1;
  forks_made++;
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    alarm(30);
    for (auto& x : slots) x = nullptr;  // another thread may have been filling them
    pthread_t t[3];
    for (int i = 0; i < 3; i++) t[i] = start(in_child, num((intptr_t)(s + (uint64_t)i)));
    for (auto& x : t) join(x);
    _exit((int)(s & 63));
  }
  int st;
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT_EXITED(st, (int)(s & 63));
}
