// posix/thread_local.cc -- thread_local objects are built and destroyed per thread; new threads never see an earlier thread's values.
// timeout: 30
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "expect.h"

static int built, gone;
struct Obj {
  std::string s;
  Obj() : s("fresh and longer than the small-string buffer") { ADD(built, 1); }
  ~Obj() {
    EXPECT(s.size() > 3);
    ADD(gone, 1);
  }
};
static thread_local Obj obj;
static thread_local int zero;
static thread_local int seven = 7;
static thread_local char big[20000];
static thread_local std::vector<int> vec;
static thread_local std::unique_ptr<std::map<int, std::string>> owned;
alignas(64) static thread_local char aligned[64];
// Initial-exec and local-dynamic as a C library would use them.
static __thread long plain;

static void* use(void* a) {
  int me = (int)(intptr_t)a;
  EXPECT_EQ(zero, 0);
  EXPECT_EQ(seven, 7);
  EXPECT_EQ(plain, 0);
  EXPECT(vec.empty());
  EXPECT(!owned);
  EXPECT(obj.s == "fresh and longer than the small-string buffer");
  EXPECT_EQ((uintptr_t)aligned % 64, 0);
  for (size_t i = 0; i < sizeof big; i++) EXPECT_EQ(big[i], 0);
  int* where = &zero;
  zero = seven = me;
  plain = me;
  memset(big, me | 1, sizeof big);
  memset(aligned, 1, sizeof aligned);
  obj.s = "changed by " + std::to_string(me);
  owned = std::make_unique<std::map<int, std::string>>();
  for (int i = 0; i < 50; i++) {
    vec.push_back(me + i);
    (*owned)[i] = std::string(40, 'a');
    if (i % 10 == 0) {
      if (me & 1)
        sched_yield();
      else
        sleep_ms(1);
      EXPECT(&zero == where);
      EXPECT_EQ(zero, me);
      EXPECT_EQ(plain, me);
    }
  }
  for (int i = 0; i < 50; i++) EXPECT_EQ(vec[i], me + i);
  if (me % 3 == 0) pthread_exit(nullptr);
  return nullptr;
}

static int last_gone;
struct Blocks {
  bool used = false;
  ~Blocks() {
    if (!used) return;
    sleep_ms(20);  // destructors may block
    zero++;        // and use other thread_locals
    ADD(last_gone, 1);
  }
};
static thread_local Blocks blocks;
static void* use_blocks(void* a) {
  EXPECT(!blocks.used);
  blocks.used = true;
  return a;
}

int main() {
  watchdog(25);
  zero = 123;
  seven = 321;
  obj.s = "main's";
  for (int r = 0; r < 6; r++) {
    pthread_t t[50];
    for (int i = 0; i < 50; i++) t[i] = start(use, num(i + 1));
    for (auto& x : t) join(x);
  }
  // One after another: the same memory will be used again.
  for (int i = 0; i < 200; i++) join(start(use, num(i + 1)));
  EXPECT_EQ(zero, 123);
  EXPECT_EQ(seven, 321);
  EXPECT_EQ(built, 501);  // main has one too
  EXPECT_EQ(gone, 500);
  EXPECT(obj.s == "main's");

  pthread_t t[20];
  for (auto& x : t) x = start(use_blocks, nullptr);
  for (auto& x : t) join(x);
  EXPECT_EQ(last_gone, 20);
  return 0;
}
