// unit/options_test.cc -- knobs: limits from the table, malformed values warn once and leave the default.
#include "unit.h"

#include <string>
#include <vector>

#include "base/options.h"

using namespace gmpt;

namespace {

std::vector<std::string> warned;
void warn(const char* var, const char* value) { warned.push_back(std::string(var) + "=" + value); }

void read(std::vector<std::string> env) {
  std::vector<char*> p;
  for (std::string& s : env) p.push_back(s.data());
  p.push_back(nullptr);
  warned.clear();
  options = Options{};
  options_read(p.data(), &warn);
}

void nothing_set(void**) {
  read({"HOME=/", "GMPT=1", "XGOMAXPROCS=7", "GOMAXPROCSX=7"});
  assert_true(warned.empty());
#define OPTION(field, var, def, lo, hi, help) assert_true(options.field == (def));
#include "base/options.def"
#undef OPTION
  assert_true(options.fs == FsMode::kAuto);
  assert_true(options.schedtrace_ms == 0);
  options_read(nullptr, &warn);
  assert_true(warned.empty());
}

// Every row: both ends are taken, what lies outside is refused and told.
void limits(void**) {
#define OPTION(field, var, def, lo, hi, help)                              \
  for (u64 v : {u64{lo}, u64{hi}}) {                                       \
    read({std::string(var "=") + std::to_string(v)});                      \
    assert_true(warned.empty());                                           \
    assert_true(options.field == v);                                       \
  }                                                                        \
  read({std::string(var "=") + std::to_string(u64{hi} + 1)});              \
  assert_int_equal(warned.size(), 1);                                      \
  assert_true(options.field == (def));                                     \
  if ((lo) > 0) {                                                          \
    read({std::string(var "=") + std::to_string(u64{lo} - 1)});            \
    assert_int_equal(warned.size(), 1);                                    \
    assert_true(options.field == (def));                                   \
  }
#include "base/options.def"
#undef OPTION
}

void malformed(void**) {
  for (const char* bad : {"x", "-1", "+2", " 3", "4 ", "0x5", "1.5", "1e3", "18446744073709551616", "99999999999999999999999", "2,", "\xff"}) {
    read({std::string("GOMAXPROCS=") + bad, "GMPT_STATS=1"});
    assert_int_equal(warned.size(), 1);
    assert_string_equal(warned[0].c_str(), (std::string("GOMAXPROCS=") + bad).c_str());
    assert_true(options.procs == 0);
    assert_true(options.stats == 1);  // the others are still read
  }
  read({"GOMAXPROCS="});  // empty: as if not there
  assert_true(warned.empty() && options.procs == 0);
  read({"GOMAXPROCS=0003"});
  assert_true(warned.empty() && options.procs == 3);
  read({"GOMAXPROCS=2", "GOMAXPROCS=3"});  // getenv takes the first, too
  assert_true(options.procs == 2);
}

void text_values(void**) {
  const struct { const char* s; FsMode m; } modes[] = {{"auto", FsMode::kAuto}, {"fsgsbase", FsMode::kFsgsbase}, {"lazy", FsMode::kLazy}, {"syscall", FsMode::kSyscall}};
  for (const auto& m : modes) {
    read({std::string("GMPT_FS=") + m.s});
    assert_true(warned.empty() && options.fs == m.m);
  }
  for (const char* bad : {"Lazy", "lazyy", "laz", "1"}) {
    read({std::string("GMPT_FS=") + bad});
    assert_true(warned.size() == 1 && options.fs == FsMode::kAuto);
  }
  read({"GMPT_DEBUG=schedtrace=1000"});
  assert_true(warned.empty() && options.schedtrace_ms == 1000);
  for (const char* bad : {"schedtrace", "schedtrace=", "schedtrace=0", "schedtrace=x", "schedtrace=86400001", "trace=1",
                          "schedtrace=111111111111111111111111111111111111111"}) {
    read({std::string("GMPT_DEBUG=") + bad});
    assert_int_equal(warned.size(), 1);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(nothing_set), cmocka_unit_test(limits), cmocka_unit_test(malformed), cmocka_unit_test(text_values)};
  return cmocka_run_group_tests_name("options", tests, nullptr, nullptr);
}
