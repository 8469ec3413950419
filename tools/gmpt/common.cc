// tools/gmpt/common.cc -- messages, and where the library lies.
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/gmpt/gmpt.h"

namespace gmpt_tool {
namespace {

void message(const char* format, va_list args) {
  fputs("gmpt: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
}

}  // namespace

int error(const char* format, ...) {
  va_list args;
  va_start(args, format);
  message(format, args);
  va_end(args);
  return kOwnError;
}

int usage_error(const char* command, const char* format, ...) {
  va_list args;
  va_start(args, format);
  message(format, args);
  va_end(args);
  fprintf(stderr, command ? "Try 'gmpt help %s'.\n" : "Try 'gmpt --help'.\n", command);
  return kOwnError;
}

int print(const std::string& text) {
  fputs(text.c_str(), stdout);
  return fflush(stdout) || ferror(stdout) ? error("cannot write: %s", strerror(errno)) : kOk;
}

// By its soname: the name libgmp.so may be GNU MP's.
std::string library_path() {
  std::string dir;
  char exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
  if (n > 0 && n < static_cast<ssize_t>(sizeof exe)) {
    dir.assign(exe, static_cast<size_t>(n));
    dir.resize(dir.rfind('/'));
  }
  for (const std::string& place : {dir, std::string(GMPT_LIBDIR), dir + "/../lib"}) {
    std::string path = place + "/libgmpthreads.so.0";
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

}  // namespace gmpt_tool
