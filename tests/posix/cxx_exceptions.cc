// posix/cxx_exceptions.cc -- exceptions are thrown, caught, rethrown and carried between many threads at once.
// timeout: 30
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>
#include "expect.h"

struct Guard {
  int* n;
  ~Guard() { --*n; }
};
static int __attribute__((noinline)) thrower(int depth, int* live, int value) {
  ++*live;
  Guard g{live};
  if (depth == 0) throw std::runtime_error(std::to_string(value));
  return thrower(depth - 1, live, value) + 1;
}
static void* many(void* a) {
  int me = (int)(intptr_t)a;
  for (int i = 0; i < 200; i++) {
    int live = 0;
    try {
      thrower(20, &live, me * 1000 + i);
      EXPECT(!"no throw");
    } catch (const std::exception& e) {
      EXPECT_EQ(live, 0);
      EXPECT(e.what() == std::to_string(me * 1000 + i));
      // Another exception inside a handler, with a switch between: the caught stack is per thread.
      if (i % 8 == 0) sleep_ms(1); else sched_yield();
      try {
        try {
          throw i;
        } catch (int) {
          sched_yield();
          throw;
        }
      } catch (int k) {
        EXPECT_EQ(k, i);
      }
      EXPECT(e.what() == std::to_string(me * 1000 + i));
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
  return nullptr;
}
struct Switches {
  int at;
  ~Switches() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    sleep_ms(1);  // gives the processor away in the middle of unwinding
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};
static void* unwinds(void*) {
  for (int i = 0; i < 20; i++) {
    try {
      Switches s{i};
      throw std::string("s");
    } catch (const std::string& s) {
      EXPECT(s == "s");
    }
  }
  return nullptr;
}
static std::exception_ptr carried;
static void* fills(void*) {
  try {
    throw std::out_of_range("far");
  } catch (...) {
    carried = std::current_exception();
  }
  return nullptr;
}

int main() {
  watchdog(25);
  std::vector<pthread_t> t;
  for (int i = 0; i < 32; i++) t.push_back(start(many, num(i)));
  for (int i = 0; i < 16; i++) t.push_back(start(unwinds, nullptr));
  for (auto x : t) join(x);
  join(start(fills, nullptr));
  try {
    std::rethrow_exception(carried);
  } catch (const std::out_of_range& e) {
    EXPECT(e.what() == std::string("far"));
  }
  return 0;
}
