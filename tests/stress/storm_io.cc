// stress/storm_io.cc -- many threads read, write, close, reuse and share descriptors at once; every byte and every wake-up is accounted for.
//
//     storm_io [seed [seconds [actors]]]
//
// Streams carry known bytes (streams.h), messages and connections are counted one by one. A lost wake-up is a
// standstill, which the watcher reports.
// flags: -std=c++17
// timeout: 90
#include <sys/eventfd.h>
#include "streams.h"
#include "watcher.h"

static uint64_t seed;
static std::atomic<uint64_t> messages, connections, interrupted;

// ---- streams ----

static void do_stream(Rng* r) {
  int v[2];
  make_pair(r, v);
  uint64_t key = rnd(r), n = 1 + pick(r, 300000);
  {
    Team t;
    t.add([=](Rng* q) {
      pour(q, v[1], key, 0, n);
      close(v[1]);
    }, rnd(r));
    EXPECT_EQ(drain(r, v[0], key, 0, n + 1), n);  // and the end
  }
  close(v[0]);
}

// Both directions of one socket at once, more than the buffers hold.
static void do_both_ways(Rng* r) {
  int v[2];
  if (pick(r, 2)) tcp_pair(v);
  else SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v));
  uint64_t key = rnd(r), n = 1 + pick(r, 400000);
  {
    Team t;
    for (int i = 0; i < 2; i++) {
      t.add([=](Rng* q) { pour(q, v[i], key + (uint64_t)i, 0, n); }, rnd(r));
      t.add([=](Rng* q) { EXPECT_EQ(drain(q, v[i], key + (uint64_t)!i, 0, n), n); }, rnd(r));
    }
  }
  close(v[0]);
  close(v[1]);
}

// ---- numbers: closed, reused and duplicated while others block ----

// A reader blocks and its number is taken by another file. It goes on with the file it has. Nothing tells that it
// is blocked by now: one that comes late reads from the other file, which is counted.
static std::atomic<uint64_t> in_time, late;
static void do_reuse(Rng* r) {
  int v[2], w[2];
  make_pair(r, v);
  uint64_t key = rnd(r), n = 1 + pick(r, 2000);
  std::atomic<int> inside{0};
  int fd = v[0], out = v[1];
  uint8_t b[2000], got[2000];
  Team t;
  t.add([&](Rng*) {
    inside = 1;
    ssize_t x = SYS(read(fd, got, n));
    EXPECT_GE(x, 1);
    if (x == 1 && got[0] == 'L' && byte_at(key, 0) != 'L') late++;
    else in_time++;
    for (ssize_t i = 0; i < x && got[0] != 'L'; i++) EXPECT_EQ(got[i], byte_at(key, (uint64_t)i));
    inside = 2;
  }, 0);
  while (!inside) sched_yield();
  usleep(20000);
  make_pair(r, w);
  if (pick(r, 2)) SYS(dup2(w[0], fd));
  else SYS(dup3(w[0], fd, O_CLOEXEC));
  close(w[0]);
  for (uint64_t i = 0; i < n; i++) b[i] = byte_at(key, i);
  int64_t limit = now_ns() + 5 * SEC;
  // In one piece: the reader may leave, and its file with it. A late one has left this file to nobody.
  EXPECT(write(out, b, n) == (ssize_t)n || errno == EPIPE || errno == ECONNRESET);
  while (inside == 1 && now_ns() < limit) usleep(100);
  if (inside == 1) write_all(w[1], "L", 1);
  t.join();
  close(out);
  uint64_t key2 = rnd(r), n2 = 1 + pick(r, 5000);
  t.add([=](Rng* q) {
    pour(q, w[1], key2, 0, n2);
    close(w[1]);
  }, rnd(r));
  EXPECT_EQ(drain(r, fd, key2, 0, n2 + 1), n2);
  t.join();
  close(fd);
  messages++;
}

// One file under several numbers, each with a reader; every token is read once.
static void do_dups(Rng* r) {
  int v[2];
  make_pair(r, v);
  int k = 2 + (int)pick(r, 4), n = 1 + (int)pick(r, 60);
  std::vector<int> fds = {v[0]};
  for (int i = 1; i < k; i++) fds.push_back((int)SYS(dup(v[0])));
  std::vector<std::atomic<int>> seen((size_t)n);
  {
    Team t;
    for (int fd : fds)
      t.add([&, fd](Rng* q) {
        uint32_t x;
        ssize_t got;
        while ((got = SYS(read(fd, &x, 4))) == 4) {
          EXPECT_EQ(seen[x]++, 0);
          pause_somehow(q);
        }
        EXPECT_EQ(got, 0);
        close(fd);
      }, rnd(r));
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
      EXPECT_EQ(write(v[1], &i, 4), 4);
      pause_somehow(r);
    }
    close(v[1]);  // each reader sees the end
  }
  for (auto& s : seen) EXPECT_EQ(s, 1);
  messages += (uint64_t)n;
}

// ---- many waiters on one descriptor ----

static void do_udp(Rng* r) {
  int fd = udp_bound(), from = udp_bound();
  sockaddr_in to = name_of(fd);
  int k = 1 + (int)pick(r, 16), n = 1 + (int)pick(r, 60);  // what the socket's buffer certainly holds
  std::vector<std::atomic<int>> seen((size_t)n);
  {
    Team t;
    for (int i = 0; i < k; i++)
      t.add([&](Rng* q) {
        for (;;) {
          uint32_t x;
          sockaddr_in a;
          socklen_t len = sizeof a;
          if (pick(q, 4) == 0) await_input(q, fd);  // another may take it: then the read waits
          EXPECT_EQ(pick(q, 2) ? recvfrom(fd, &x, 4, 0, (sockaddr*)&a, &len) : read(fd, &x, 4), 4);
          if (x == ~0u) break;
          EXPECT_EQ(seen[x]++, 0);
          pause_somehow(q);
        }
        uint32_t end = ~0u;  // to the next
        EXPECT_EQ(sendto(from, &end, 4, 0, (const sockaddr*)&to, sizeof to), 4);
      }, rnd(r));
    for (uint32_t i = 0; i < (uint32_t)n; i++) {
      EXPECT_EQ(sendto(from, &i, 4, 0, (const sockaddr*)&to, sizeof to), 4);
      pause_somehow(r);
    }
    uint32_t end = ~0u;
    EXPECT_EQ(sendto(from, &end, 4, 0, (const sockaddr*)&to, sizeof to), 4);
  }
  for (auto& s : seen) EXPECT_EQ(s, 1);
  messages += (uint64_t)n;
  close(fd);
  close(from);
}

static void do_listener(Rng* r) {
  int l = tcp_listen(64), k = 1 + (int)pick(r, 12), n = 1 + (int)pick(r, 30);
  std::vector<std::atomic<int>> seen((size_t)n);
  std::atomic<int> served{0};
  {
    Team t;
    for (int i = 0; i < k; i++)
      t.add([&](Rng* q) {
        for (;;) {
          if (pick(q, 8) == 0) {
            pollfd p = {l, POLLIN, 0};
            poll(&p, 1, 5);
          }
          int s = pick(q, 2) ? accept(l, nullptr, nullptr) : accept4(l, nullptr, nullptr, SOCK_CLOEXEC);
          if (s == -1) {
            EXPECT_EQ(errno, EINVAL);  // shut down
            return;
          }
          uint32_t x;
          read_all(s, &x, 4);
          EXPECT_EQ(seen[x]++, 0);
          x = ~x;
          write_all(s, &x, 4);
          close(s);
          served++;
        }
      }, rnd(r));
    Team clients;
    for (int c = 0; c < 3; c++)
      clients.add([&, c](Rng* q) {
        for (int i = c; i < n; i += 3) {
          int s = tcp_connect(l);
          pause_somehow(q);
          uint32_t x = (uint32_t)i;
          write_all(s, &x, 4);
          read_all(s, &x, 4);
          EXPECT_EQ(x, ~(uint32_t)i);
          EXPECT_EQ(read(s, &x, 1), 0);
          close(s);
        }
      }, rnd(r));
    clients.join();
    SYS(shutdown(l, SHUT_RDWR));  // ends every accept
  }
  EXPECT_EQ(served, n);
  connections += (uint64_t)n;
  close(l);
}

// Records that a pipe keeps whole, several writers and readers, a pipe that is full at times.
static void do_records(Rng* r) {
  int p[2];
  SYS(pipe2(p, O_CLOEXEC));
  SYS(fcntl(p[1], F_SETPIPE_SZ, 4096));
  int writers = 1 + (int)pick(r, 4), readers = 1 + (int)pick(r, 4), n = 1 + (int)pick(r, 100);
  std::atomic<uint64_t> in{0}, out{0};
  std::atomic<int> left{writers};
  {
    Team t;
    for (int i = 0; i < readers; i++)
      t.add([&](Rng*) {
        uint64_t rec[32];
        ssize_t x;
        while ((x = SYS(read(p[0], rec, sizeof rec))) > 0) {
          EXPECT_EQ(x, sizeof rec);
          for (int k = 1; k < 32; k++) EXPECT(rec[k] == rec[0] + (uint64_t)k);
          out += rec[0];
        }
      }, rnd(r));
    for (int i = 0; i < writers; i++)
      t.add([&](Rng* q) {
        for (int m = 0; m < n; m++) {
          uint64_t rec[32], x = rnd(q);
          for (int k = 0; k < 32; k++) rec[k] = x + (uint64_t)k;
          in += x;
          EXPECT_EQ(write(p[1], rec, sizeof rec), sizeof rec);
          if (m % 16 == 0) pause_somehow(q);
        }
        if (--left == 0) close(p[1]);
      }, rnd(r));
  }
  EXPECT(in == out);
  messages += (uint64_t)(n * writers);
  close(p[0]);
}

static void do_eventfd(Rng* r) {
  int fd = (int)SYS(eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));
  int k = 1 + (int)pick(r, 8), each = 1 + (int)pick(r, 10);
  {
    Team t;
    for (int i = 0; i < k; i++)
      t.add([&](Rng* q) {
        for (int m = 0; m < each; m++) {
          uint64_t x;
          EXPECT_EQ(read(fd, &x, 8), 8);
          EXPECT_EQ(x, 1);
          pause_somehow(q);
        }
      }, rnd(r));
    for (uint64_t left = (uint64_t)(k * each); left;) {
      uint64_t x = 1 + pick(r, left);
      EXPECT_EQ(write(fd, &x, 8), 8);
      left -= x;
      pause_somehow(r);
    }
  }
  messages += (uint64_t)(k * each);
  close(fd);
}

// Several threads serve one epoll instance: one-shot, so that each message has one server.
static void do_epoll(Rng* r) {
  int ep = (int)SYS(epoll_create1(EPOLL_CLOEXEC)), stop = (int)SYS(eventfd(0, EFD_CLOEXEC));
  int n = 1 + (int)pick(r, 6), servers = 1 + (int)pick(r, 4), rounds = 1 + (int)pick(r, 20);
  std::vector<int> mine((size_t)n), theirs((size_t)n);
  epoll_event e = {EPOLLIN, {}};
  e.data.fd = stop;
  SYS(epoll_ctl(ep, EPOLL_CTL_ADD, stop, &e));
  for (int i = 0; i < n; i++) {
    int v[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v));
    mine[(size_t)i] = v[0];
    e.events = EPOLLIN | EPOLLONESHOT | (pick(r, 2) ? EPOLLET : 0u);
    e.data.fd = theirs[(size_t)i] = v[1];
    SYS(epoll_ctl(ep, EPOLL_CTL_ADD, v[1], &e));
  }
  {
    Team t;
    for (int i = 0; i < servers; i++)
      t.add([&](Rng* q) {
        for (;;) {
          epoll_event got[3];
          int k = (int)SYS(epoll_wait(ep, got, 1 + (int)pick(q, 3), pick(q, 2) ? -1 : 60000));
          EXPECT_GE(k, 1);
          bool end = false;
          for (int m = 0; m < k; m++) {
            if (got[m].data.fd == stop) {
              end = true;
              continue;
            }
            uint64_t x;
            EXPECT_EQ(recv(got[m].data.fd, &x, 8, MSG_DONTWAIT), 8);
            x = ~x;
            write_all(got[m].data.fd, &x, 8);
            epoll_event again = {EPOLLIN | EPOLLONESHOT, {}};
            again.data.fd = got[m].data.fd;
            SYS(epoll_ctl(ep, EPOLL_CTL_MOD, again.data.fd, &again));
          }
          if (end) return;
        }
      }, rnd(r));
    for (int m = 0; m < rounds; m++) {
      std::vector<uint64_t> sent((size_t)n);
      for (int i = 0; i < n; i++) {
        sent[(size_t)i] = rnd(r);
        write_all(mine[(size_t)i], &sent[(size_t)i], 8);
      }
      pause_somehow(r);
      for (int i = 0; i < n; i++) {
        uint64_t x;
        read_all(mine[(size_t)i], &x, 8);
        EXPECT(x == ~sent[(size_t)i]);
      }
    }
    uint64_t one = 1;
    write_all(stop, &one, 8);
  }
  messages += (uint64_t)(n * rounds);
  for (int fd : mine) close(fd);
  for (int fd : theirs) close(fd);
  close(stop);
  close(ep);
}

// ---- waits that end otherwise ----

static void on_signal(int) {}

// Signals end reads and limits run out; no byte is lost with any of them.
static void do_interrupted(Rng* r) {
  int v[2];
  make_pair(r, v);
  uint64_t key = rnd(r), n = 1 + pick(r, 5000);
  if (is_socket(v[0]) && pick(r, 2)) {
    timeval tv = {0, 3000};
    SYS(setsockopt(v[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
  }
  struct Reader {
    int fd;
    uint64_t key, n;
    int interrupted;
  } arg = {v[0], key, n, 0};
  pthread_t p = start([](void* a) -> void* {
    Reader* me = static_cast<Reader*>(a);
    uint8_t b[256];
    for (uint64_t got = 0; got <= me->n;) {
      ssize_t x = read(me->fd, b, sizeof b);
      if (x == -1) {
        EXPECT(errno == EINTR || errno == EAGAIN);
        me->interrupted++;
        continue;
      }
      if (x == 0) {
        EXPECT_EQ(got, me->n);
        break;
      }
      for (ssize_t i = 0; i < x; i++) EXPECT_EQ(b[i], byte_at(me->key, got + (uint64_t)i));
      got += (uint64_t)x;
    }
    return nullptr;
  }, &arg);
  for (uint64_t sent = 0; sent < n;) {
    for (int i = (int)pick(r, 6); i > 0; i--) {
      OK(pthread_kill(p, SIGUSR2));
      pause_somehow(r);
    }
    uint64_t k = std::min(n - sent, 1 + pick(r, 1000));
    pour(r, v[1], key, sent, k);
    sent += k;
    if (pick(r, 2)) usleep(1000);
  }
  close(v[1]);
  join(p);
  interrupted += (uint64_t)arg.interrupted;
  bytes += n;
  close(v[0]);
}

static void act(Rng* r) {
  static void (*const table[])(Rng*) = {do_stream, do_stream, do_both_ways, do_reuse,   do_dups,  do_udp,        do_udp,
                                        do_listener, do_listener, do_records, do_eventfd, do_epoll, do_interrupted};
  table[pick(r, sizeof table / sizeof *table)](r);
  shared->progress++;
}

int main(int argc, char** argv) {
  start_watcher(argv);
  seed = argc > 1 ? strtoull(argv[1], nullptr, 0) : (uint64_t)now_ns() * 2654435761u % 1000000007u;
  double seconds = argc > 2 ? atof(argv[2]) : 3;
  int actors = argc > 3 ? atoi(argv[3]) : 8;
  printf("seed %llu\n", (unsigned long long)seed);
  fflush(stdout);
  need_files(1024);
  signal(SIGPIPE, SIG_IGN);
  struct sigaction sa = {};
  sa.sa_handler = on_signal;  // without SA_RESTART
  SYS(sigaction(SIGUSR2, &sa, nullptr));
  int64_t end = now_ns() + (int64_t)(seconds * 1e9);
  {
    Team t;
    for (int i = 0; i < actors; i++)
      t.add([=](Rng* r) { while (now_ns() < end) act(r); }, seed ^ (uint64_t)(i + 1) * 0x9e3779b97f4a7c15ull);
  }
  EXPECT_LE(late, 1 + in_time / 10);
  printf("ok: %llu steps, %llu bytes, %llu messages, %llu connections, %llu interruptions\n", (unsigned long long)shared->progress,
         (unsigned long long)bytes, (unsigned long long)messages, (unsigned long long)connections,
         (unsigned long long)interrupted);
  return 0;
}
