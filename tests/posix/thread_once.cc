// posix/thread_once.cc -- pthread_once and std::call_once run the function once; latecomers wait for its end; a throw lets another try.
// timeout: 30
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
#include "expect.h"

static int calls, finished;
static void slow_init() {
  ADD(calls, 1);
  sleep_ms(30);
  STORE(finished, 1);
}
static pthread_once_t ctl = PTHREAD_ONCE_INIT;
static void* use(void*) {
  OK(pthread_once(&ctl, slow_init));
  EXPECT_EQ(LOAD(finished), 1);
  return nullptr;
}

static pthread_once_t ctl2 = PTHREAD_ONCE_INIT;
static int tries;
static void exits_first() {
  if (ADD(tries, 1) == 1) pthread_exit(num(1));
}
static void* use2(void*) {
  OK(pthread_once(&ctl2, exits_first));
  return nullptr;
}

static int made;
struct Slow {
  int v;
  Slow() : v(42) {
    sleep_ms(20);
    ADD(made, 1);
  }
};
static int local_static() {
  static Slow s;  // the compiler's own once
  return s.v;
}

int main() {
  watchdog(25);
  for (int r = 0; r < 5; r++) {
    ctl = PTHREAD_ONCE_INIT;
    calls = finished = 0;
    pthread_t t[50];
    for (auto& x : t) x = start(use, nullptr);
    for (auto& x : t) join(x);
    EXPECT_EQ(calls, 1);
  }
  EXPECT_EQ(join(start(use2, nullptr)), 1);
  join(start(use2, nullptr));
  join(start(use2, nullptr));
  EXPECT_EQ(tries, 2);

  std::once_flag f;
  std::atomic<int> n{0}, threw{0}, after{0};
  std::vector<std::thread> v;
  for (int i = 0; i < 20; i++)
    v.emplace_back([&] {
      try {
        std::call_once(f, [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          if (++n <= 3) throw std::runtime_error("again");
        });
        after++;
      } catch (const std::runtime_error&) {
        threw++;
      }
    });
  for (auto& x : v) x.join();
  EXPECT_EQ(n, 4);
  EXPECT_EQ(threw, 3);
  EXPECT_EQ(after, 17);

  v.clear();
  for (int i = 0; i < 30; i++) v.emplace_back([] { EXPECT_EQ(local_static(), 42); });
  for (auto& x : v) x.join();
  EXPECT_EQ(made, 1);
  return 0;
}
