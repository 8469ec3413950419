// base/options.cc -- parsing of the knobs.
#include "base/options.h"

#include "base/mem.h"

namespace gmpt {

Options options;

namespace {

const char* lookup(char** envp, const char* var) {
  size_t n = str_len(var);
  for (; envp && *envp; envp++)
    if (str_has_prefix(*envp, var) && (*envp)[n] == '=') return *envp + n + 1;
  return nullptr;
}

// Digits only, no sign, no blanks, no overflow.
bool parse(const char* s, u64* out) {
  if (!*s) return false;
  u64 v = 0;
  for (; *s; s++) {
    if (*s < '0' || *s > '9' || v > (~u64{0} - 9) / 10) return false;
    v = v * 10 + static_cast<u64>(*s - '0');
  }
  *out = v;
  return true;
}

void read_number(char** envp, const char* var, u64 lo, u64 hi, u64* field,
                 void (*warn)(const char*, const char*)) {
  const char* s = lookup(envp, var);
  u64 v;
  if (!s || !*s) return;
  if (parse(s, &v) && v >= lo && v <= hi) *field = v;
  else warn(var, s);
}

// GMPT_DEBUG=key=value[,key=value]: schedtrace only, so far.
void read_debug(const char* s, void (*warn)(const char*, const char*)) {
  static const char kKey[] = "schedtrace=";
  const char* p = s;
  while (*p) {
    char num[24];
    size_t n = 0;
    if (!str_has_prefix(p, kKey)) return warn("GMPT_DEBUG", s);
    p += sizeof kKey - 1;
    while (*p && *p != ',' && n < sizeof num - 1) num[n++] = *p++;
    num[n] = 0;
    u64 v;
    if (!parse(num, &v) || v == 0 || v > 86400000) return warn("GMPT_DEBUG", s);
    options.schedtrace_ms = v;
    if (*p == ',') p++;
  }
}

}  // namespace

void options_read(char** envp, void (*warn)(const char*, const char*)) {
#define OPTION(field, var, def, lo, hi, help) read_number(envp, var, lo, hi, &options.field, warn);
#include "base/options.def"
#undef OPTION
  if (const char* s = lookup(envp, "GMPT_FS"); s && *s) {
    if (str_eq(s, "fsgsbase")) options.fs = FsMode::kFsgsbase;
    else if (str_eq(s, "lazy")) options.fs = FsMode::kLazy;
    else if (str_eq(s, "syscall")) options.fs = FsMode::kSyscall;
    else if (!str_eq(s, "auto")) warn("GMPT_FS", s);
  }
  if (const char* s = lookup(envp, "GMPT_DEBUG"); s && *s) read_debug(s, warn);
}

}  // namespace gmpt
