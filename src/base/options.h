// base/options.h -- the values of the environment's knobs, read once from options.def.
//
// Malformed values never stop a program: the caller's warn hook gets the variable and the value,
// and the default stands.
#pragma once
#include "base/base.h"

namespace gmpt {

enum class FsMode : u32 { kAuto, kFsgsbase, kLazy, kSyscall };

struct Options {
#define OPTION(field, var, def, lo, hi, help) u64 field = def;
#include "base/options.def"
#undef OPTION
  FsMode fs = FsMode::kAuto;
  u64 schedtrace_ms = 0;
};

extern Options options;

// envp: the process environment. warn(variable, value) is called for each value refused.
void options_read(char** envp, void (*warn)(const char* var, const char* value));

}  // namespace gmpt
