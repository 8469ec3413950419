// posix/cxx_std_threads.cc -- the C++ library's threads, mutexes, condition variables, futures, latches and atomic waits work.
// flags: -std=c++20
// timeout: 30
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <numeric>
#include <queue>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>
#include <vector>
#include "expect.h"
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

static void queue_of_work() {
  std::mutex m;
  std::condition_variable cv;
  std::queue<int> q;
  bool done = false;
  std::atomic<long> sum{0};
  std::vector<std::thread> v;
  for (int i = 0; i < 8; i++)
    v.emplace_back([&] {
      for (;;) {
        std::unique_lock l(m);
        cv.wait(l, [&] { return done || !q.empty(); });
        if (q.empty()) return;
        int x = q.front();
        q.pop();
        l.unlock();
        sum += x;
      }
    });
  for (int i = 1; i <= 2000; i++) {
    {
      std::lock_guard l(m);
      q.push(i);
    }
    cv.notify_one();
  }
  {
    std::lock_guard l(m);
    done = true;
  }
  cv.notify_all();
  for (auto& t : v) t.join();
  EXPECT_EQ(sum, 2000L * 2001 / 2);
}

static void timed() {
  std::mutex m;
  std::condition_variable cv;
  std::unique_lock l(m);
  auto t0 = Clock::now();
  EXPECT(cv.wait_for(l, 50ms) == std::cv_status::timeout);
  EXPECT(Clock::now() - t0 >= 50ms);
  auto until = std::chrono::system_clock::now() + 50ms;
  EXPECT(!cv.wait_until(l, until, [] { return false; }));
  EXPECT(std::chrono::system_clock::now() >= until);

  std::timed_mutex tm;
  tm.lock();
  std::thread([&] {
    auto s = Clock::now();
    EXPECT(!tm.try_lock_for(40ms));
    EXPECT(Clock::now() - s >= 40ms);
    EXPECT(!tm.try_lock());
  }).join();
  tm.unlock();

  std::recursive_timed_mutex rm;
  rm.lock();
  EXPECT(rm.try_lock_for(1ms));
  rm.unlock();
  rm.unlock();

  std::condition_variable_any any;
  std::jthread j([&](std::stop_token st) {
    std::unique_lock g(m);
    EXPECT(!any.wait(g, st, [] { return false; }));  // ended by the stop request
  });
  l.unlock();
  std::this_thread::sleep_for(20ms);
  j.request_stop();
  j.join();

  t0 = Clock::now();
  std::this_thread::sleep_for(30ms);
  EXPECT(Clock::now() - t0 >= 30ms);
  auto when = Clock::now() + 20ms;
  std::this_thread::sleep_until(when);
  EXPECT(Clock::now() >= when);
}

static void shared() {
  std::shared_timed_mutex m;
  int value = 0;
  std::atomic<int> inside{0}, most{0};
  std::vector<std::thread> v;
  for (int i = 0; i < 8; i++)
    v.emplace_back([&] {
      for (int k = 0; k < 20; k++) {
        std::shared_lock l(m);
        int n = ++inside;
        int seen = most;
        while (n > seen && !most.compare_exchange_weak(seen, n)) {
        }
        int a = value;
        std::this_thread::sleep_for(200us);
        EXPECT_EQ(a, value);
        --inside;
      }
    });
  for (int i = 0; i < 3; i++)
    v.emplace_back([&] {
      for (int k = 0; k < 20; k++) {
        std::unique_lock l(m);
        EXPECT_EQ(inside, 0);
        value++;
        std::this_thread::yield();
      }
    });
  for (auto& t : v) t.join();
  EXPECT_EQ(value, 60);
  EXPECT(most > 1);
  std::shared_mutex sm;
  std::shared_lock r(sm);
  EXPECT(!std::async(std::launch::async, [&] { return sm.try_lock(); }).get());
  EXPECT(std::async(std::launch::async, [&] {
           bool ok = sm.try_lock_shared();
           if (ok) sm.unlock_shared();
           return ok;
         }).get());
}

static void futures() {
  std::vector<std::future<int>> f;
  for (int i = 0; i < 100; i++)
    f.push_back(std::async(std::launch::async, [i] {
      if (i % 10 == 3) throw i;
      std::this_thread::sleep_for(std::chrono::milliseconds(i % 5));
      return i * i;
    }));
  for (int i = 0; i < 100; i++) {
    try {
      EXPECT_EQ(f[i].get(), i * i);
      EXPECT(i % 10 != 3);
    } catch (int k) {
      EXPECT_EQ(k, i);
    }
  }
  std::promise<std::string> p;
  auto fut = p.get_future().share();
  EXPECT(fut.wait_for(10ms) == std::future_status::timeout);
  std::thread a([fut] { EXPECT(fut.get() == "word"); }), b([fut] { EXPECT(fut.get() == "word"); });
  p.set_value("word");
  a.join();
  b.join();
  std::packaged_task<int(int)> task([](int x) { return x + 1; });
  auto r = task.get_future();
  std::thread(std::move(task), 4).join();
  EXPECT_EQ(r.get(), 5);
}

static void atomic_waits() {
  std::atomic<int> a{0};
  std::vector<std::thread> v;
  std::atomic<int> woke{0};
  for (int i = 0; i < 20; i++)
    v.emplace_back([&] {
      a.wait(0);
      woke++;
    });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(woke, 0);
  a = 1;
  a.notify_all();
  for (auto& t : v) t.join();
  v.clear();

  std::latch latch(10);
  for (int i = 0; i < 10; i++) v.emplace_back([&] { latch.arrive_and_wait(); });
  for (auto& t : v) t.join();
  v.clear();

  std::counting_semaphore<10> sem(0);
  for (int i = 0; i < 10; i++) v.emplace_back([&] { sem.acquire(); });
  EXPECT(!sem.try_acquire_for(10ms));
  sem.release(10);
  for (auto& t : v) t.join();
  v.clear();

  std::atomic<int> phases{0};
  std::barrier bar(8, [&]() noexcept { phases++; });
  for (int i = 0; i < 8; i++)
    v.emplace_back([&] {
      for (int k = 0; k < 50; k++) bar.arrive_and_wait();
    });
  for (auto& t : v) t.join();
  EXPECT_EQ(phases, 50);
}

static void ids() {
  std::thread t([] {});
  auto id = t.get_id();
  EXPECT(id != std::this_thread::get_id());
  t.join();
  EXPECT(t.get_id() == std::thread::id());
  std::thread d([] { std::this_thread::yield(); });
  d.detach();
  EXPECT(std::thread::hardware_concurrency() > 0);
  std::mutex a, b;
  std::vector<std::thread> v;
  int n = 0;
  for (int i = 0; i < 8; i++)
    v.emplace_back([&, i] {
      for (int k = 0; k < 200; k++) {
        if (i & 1) {
          std::scoped_lock l(a, b);
          n++;
        } else {
          std::scoped_lock l(b, a);
          n++;
        }
      }
    });
  for (auto& x : v) x.join();
  EXPECT_EQ(n, 1600);
}

int main() {
  watchdog(25);
  queue_of_work();
  timed();
  shared();
  futures();
  atomic_waits();
  ids();
  return 0;
}
