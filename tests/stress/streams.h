// stress/streams.h -- streams whose bytes are known, written and read in every way there is, and threads for it.
//
// Each byte follows from the stream's key and its place, so bytes of another descriptor, lost ones and doubled
// ones show at once.
#pragma once
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>
#include "expect.h"

typedef uint64_t Rng;
static std::atomic<uint64_t> bytes;
static uint64_t pick(Rng* r, uint64_t n) { return rnd(r) % n; }
static void pause_somehow(Rng* r) {
  switch (pick(r, 8)) {
    case 0: sched_yield(); break;
    case 1: usleep((useconds_t)pick(r, 500)); break;
    case 2:
      for (volatile int i = 0; i < 3000; i++) {
      }
  }
}

// Threads that are joined when the scope ends.
class Team {
 public:
  ~Team() { join(); }
  void add(std::function<void(Rng*)> f, uint64_t s) {
    threads_.emplace_back([f, s] {
      Rng r = s;
      f(&r);
    });
  }
  void join() {
    for (auto& t : threads_)
      if (t.joinable()) t.join();
  }

 private:
  std::vector<std::thread> threads_;
};

// ---- streams ----

static uint8_t byte_at(uint64_t key, uint64_t at) { return (uint8_t)((key + at) * 0x9e3779b97f4a7c15ull >> 40); }

static void make_pair(Rng* r, int v[2]) {  // v[0] reads, v[1] writes
  switch (pick(r, 3)) {
    case 0: SYS(pipe2(v, O_CLOEXEC)); break;
    case 1: SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v)); break;
    default: tcp_pair(v);
  }
}
static bool is_socket(int fd) {
  struct stat st;
  SYS(fstat(fd, &st));
  return S_ISSOCK(st.st_mode);
}

// The longest piece at a time; not so short that a stream takes seconds.
static size_t piece(Rng* r, uint64_t n) { return std::max<uint64_t>(1 + pick(r, pick(r, 4) ? 3000 : 100000), n / 500); }

static void pour(Rng* r, int fd, uint64_t key, uint64_t from, uint64_t n) {
  std::vector<uint8_t> b(piece(r, n));
  bool sock = is_socket(fd);
  for (uint64_t at = from; at < from + n;) {
    size_t k = std::min<uint64_t>(b.size(), 1 + pick(r, from + n - at));
    if (k < b.size() / 8) k = std::min<uint64_t>(b.size(), from + n - at);
    for (size_t i = 0; i < k; i++) b[i] = byte_at(key, at + i);
    size_t half = k / 2;
    iovec v[2] = {{b.data(), half}, {b.data() + half, k - half}};
    msghdr m = {};
    m.msg_iov = v;
    m.msg_iovlen = 2;
    ssize_t put;
    switch (pick(r, sock ? 4 : 2)) {
      case 0: put = write(fd, b.data(), k); break;
      case 1: put = writev(fd, v, 2); break;
      case 2: put = send(fd, b.data(), k, MSG_NOSIGNAL); break;
      default: put = sendmsg(fd, &m, MSG_NOSIGNAL);
    }
    EXPECT_EQ(put, k);  // a blocking write writes all
    at += k;
    pause_somehow(r);
  }
}

// Waits in one way or another until there is something to read.
static void await_input(Rng* r, int fd) {
  pollfd p = {fd, POLLIN, 0};
  fd_set s;
  switch (pick(r, 8)) {
    case 0: EXPECT_EQ(poll(&p, 1, -1), 1); break;
    case 1: EXPECT_EQ(poll(&p, 1, 60000), 1); break;
    case 2:
      if (fd >= FD_SETSIZE) break;
      FD_ZERO(&s);
      FD_SET(fd, &s);
      EXPECT_EQ(select(fd + 1, &s, nullptr, nullptr, nullptr), 1);
      break;
    case 3: {
      int ep = (int)SYS(epoll_create1(EPOLL_CLOEXEC));
      epoll_event e = {pick(r, 2) ? EPOLLIN : EPOLLIN | EPOLLET, {}};
      SYS(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
      EXPECT_EQ(epoll_wait(ep, &e, 1, -1), 1);
      close(ep);
    }
  }
}

// Reads until n bytes came; returns at the end of the stream too, with what came.
static uint64_t drain(Rng* r, int fd, uint64_t key, uint64_t from, uint64_t n) {
  std::vector<uint8_t> b(piece(r, n));
  bool sock = is_socket(fd);
  uint64_t got = 0;
  while (got < n) {
    await_input(r, fd);
    size_t k = std::min<uint64_t>(b.size(), n - got), half = k / 2;
    iovec v[2] = {{b.data(), half}, {b.data() + half, k - half}};
    msghdr m = {};
    m.msg_iov = v;
    m.msg_iovlen = 2;
    ssize_t x;
    switch (pick(r, sock ? 6 : 2)) {
      case 0: x = read(fd, b.data(), k); break;
      case 1: x = readv(fd, v, 2); break;
      case 2: x = recv(fd, b.data(), k, 0); break;
      case 3: x = recvmsg(fd, &m, 0); break;
      case 4: x = recv(fd, b.data(), k, MSG_WAITALL); break;
      default:
        x = recv(fd, b.data(), k, MSG_DONTWAIT);
        if (x == -1 && errno == EAGAIN) continue;
    }
    SYS(x);
    if (x == 0) break;
    for (ssize_t i = 0; i < x; i++) EXPECT_EQ(b[(size_t)i], byte_at(key, from + got + (uint64_t)i));
    got += (uint64_t)x;
    pause_somehow(r);
  }
  bytes += got;
  return got;
}
