// posix/cxx_atomic_wait.cc -- C++20: atomic wait and notify, latch, barrier, counting_semaphore, jthread with stop_token, by hundreds of threads.
// timeout: 60
#include "expect.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static void atomics() {
  std::atomic<int> turn{0};
  std::atomic<long> wide{0};
  std::atomic<bool> go{false};
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
  constexpr int kThreads = 8, kRounds = 200;
  std::vector<std::thread> t;
  std::atomic<int> through{0};
  for (int i = 0; i < kThreads; i++)
    t.emplace_back([&, i] {
      go.wait(false);
      for (int r = 0; r < kRounds; r++) {
        for (int now; (now = turn.load()) != r * kThreads + i;) turn.wait(now);
        turn.fetch_add(1);
        turn.notify_all();
      }
      wide.wait(0);
      flag.wait(false);
      through++;
    });
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(turn.load(), 0);
  go = true;
  go.notify_all();
  for (int now; (now = turn.load()) != kThreads * kRounds;) turn.wait(now);
  EXPECT_EQ(through.load(), 0);
  wide = 1L << 40;
  wide.notify_all();
  flag.test_and_set();
  flag.notify_all();
  for (auto& x : t) x.join();
  EXPECT_EQ(through.load(), kThreads);
}

static void latches() {
  constexpr int kThreads = 300;
  std::latch ready(kThreads), go(1);
  std::atomic<int> n{0};
  std::vector<std::jthread> t;
  for (int i = 0; i < kThreads; i++)
    t.emplace_back([&] {
      ready.count_down();
      go.wait();
      n++;
    });
  ready.wait();
  EXPECT_EQ(n.load(), 0);
  if (preloaded()) EXPECT_LE(kernel_threads(), 40 + 2 * max_procs());  // they are parked, not asleep in the kernel
  go.count_down();
  t.clear();
  EXPECT_EQ(n.load(), kThreads);
}

static void barriers() {
  constexpr int kThreads = 6, kPhases = 200;
  int completed = 0, arrived[kThreads] = {};
  auto completion = [&]() noexcept { completed++; };
  std::barrier b(kThreads, completion);
  std::vector<std::jthread> t;
  for (int i = 0; i < kThreads; i++)
    t.emplace_back([&, i] {
      for (int p = 0; p < kPhases; p++) {
        arrived[i]++;
        b.arrive_and_wait();
        for (int a : arrived) EXPECT(a == p + 1 || a == p + 2);
        b.arrive_and_wait();
      }
    });
  t.clear();
  EXPECT_EQ(completed, 2 * kPhases);
}

static void semaphores() {
  std::counting_semaphore<10> items(0), room(10);
  std::binary_semaphore guard(1);
  constexpr int kThreads = 4, kEach = 500;
  int queue[10] = {}, head = 0, tail = 0;
  std::atomic<long> sum{0};
  std::vector<std::jthread> t;
  for (int i = 0; i < kThreads; i++) {
    t.emplace_back([&] {
      for (int k = 1; k <= kEach; k++) {
        room.acquire();
        guard.acquire();
        queue[head++ % 10] = k;
        guard.release();
        items.release();
      }
    });
    t.emplace_back([&] {
      for (int k = 0; k < kEach; k++) {
        items.acquire();
        guard.acquire();
        sum += queue[tail++ % 10];
        guard.release();
        room.release();
      }
    });
  }
  t.clear();
  EXPECT_EQ(sum.load(), long{kThreads} * kEach * (kEach + 1) / 2);
  int64_t t0 = now_ns();
  EXPECT(!items.try_acquire_for(30ms));
  EXPECT_GE(now_ns() - t0, 30 * MS);
  EXPECT(!items.try_acquire_until(std::chrono::system_clock::now() + 20ms));
  std::jthread late([&] {
    std::this_thread::sleep_for(20ms);
    items.release();
  });
  EXPECT(items.try_acquire_for(20s));
}

static void stopping() {
  std::mutex m;
  std::condition_variable_any cv;
  std::atomic<int> stopped{0}, called{0};
  {
    std::vector<std::jthread> t;
    for (int i = 0; i < 20; i++)
      t.emplace_back([&](std::stop_token st) {
        {
          std::unique_lock l(m);
          if (!cv.wait(l, st, [] { return false; })) stopped++;
        }
        std::stop_callback late(st, [&] { called++; });  // at once
      });
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(stopped.load(), 0);
  }
  EXPECT_EQ(stopped.load(), 20);
  EXPECT_EQ(called.load(), 20);
  std::jthread waits([&](std::stop_token st) {
    std::atomic<bool> asked{false};
    std::stop_callback cb(st, [&] {
      asked = true;
      asked.notify_one();
    });
    asked.wait(false);
  });
}

int main() {
  watchdog(55);
  atomics();
  latches();
  barriers();
  semaphores();
  stopping();
  return 0;
}
