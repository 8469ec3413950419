// posix/thread_exit_unwind.cc -- pthread_exit from deep frames runs cleanup handlers and C++ destructors, innermost first.
// timeout: 30
#include <string>
#include <vector>
#include "expect.h"

static thread_local std::vector<int>* order;

struct Mark {
  int id;
  ~Mark() { order->push_back(id); }
};
static void note(void* a) { order->push_back((int)(intptr_t)a); }

static void __attribute__((noinline)) deep(int n) {
  Mark m{n};
  std::string s(100, 'x');  // owns memory that must be given back
  if (n == 0) {
    pthread_cleanup_push(note, num(1000));
    pthread_cleanup_push(note, num(1001));
    pthread_exit(num(77));
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
  }
  if (n > 0) deep(n - 1);
  EXPECT(s.size() == 100);
}

static void* run(void* a) {
  auto* v = static_cast<std::vector<int>*>(a);
  order = v;
  deep(50);
  EXPECT(!"returned");
  return nullptr;
}

static void* catches(void* a) {
  auto* v = static_cast<std::vector<int>*>(a);
  order = v;
  try {
    Mark m{1};
    pthread_exit(num(5));
  } catch (...) {
    order->push_back(2);
    throw;  // must be thrown on
  }
}

static void* pops(void* a) {
  auto* v = static_cast<std::vector<int>*>(a);
  order = v;
  pthread_cleanup_push(note, num(1));
  pthread_cleanup_push(note, num(2));
  pthread_cleanup_push(note, num(3));
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(1);
  return nullptr;
}

// A cleanup handler that blocks: the usual "unlock and tell" with a condition variable.
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void slow(void* a) {
  sleep_ms(20);
  OK(pthread_mutex_unlock(static_cast<pthread_mutex_t*>(a)));
}
static void* locks(void*) {
  OK(pthread_mutex_lock(&m));
  pthread_cleanup_push(slow, &m);
  pthread_exit(nullptr);
  pthread_cleanup_pop(0);
}

int main() {
  watchdog(25);
  const int threads = 40;
  std::vector<std::vector<int>> got(threads);
  std::vector<pthread_t> t(threads);
  for (int r = 0; r < 5; r++) {
    for (int i = 0; i < threads; i++) {
      got[i].clear();
      t[i] = start(run, &got[i]);
    }
    for (int i = 0; i < threads; i++) {
      EXPECT_EQ(join(t[i]), 77);
      EXPECT_EQ(got[i].size(), 53);
      EXPECT_EQ(got[i][0], 1001);
      EXPECT_EQ(got[i][1], 1000);
      for (int k = 0; k <= 50; k++) EXPECT_EQ(got[i][2 + k], k);
    }
  }
  std::vector<int> v;
  EXPECT_EQ(join(start(catches, &v)), 5);
  EXPECT((v == std::vector<int>{1, 2}));
  v.clear();
  join(start(pops, &v));
  EXPECT((v == std::vector<int>{3, 1}));

  for (int i = 0; i < 10; i++) t[i] = start(locks, nullptr);
  for (int i = 0; i < 10; i++) join(t[i]);
  OK(pthread_mutex_trylock(&m));
  return 0;
}
