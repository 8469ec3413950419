// tools/gmpt/run.cc -- gmpt run: sets the environment of the library and becomes the program.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/gmpt/gmpt.h"

namespace gmpt_tool {

const char run_help[] =
    "usage: gmpt run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n\n"
    "Runs PROGRAM with its threads as user-level threads.\n\n"
    "options:\n"
    "  -p, --procs N  run at most N threads at once (sets GOMAXPROCS)\n"
    "      --stats    print the library's counters to stderr when the program exits\n"
    "  -h, --help     this text\n\n"
    "Exit status: that of PROGRAM; 125 if gmpt itself fails, 126 if PROGRAM cannot be\n"
    "executed, 127 if it is not found.\n";

namespace {

constexpr long kMaxProcs = 1024;   // as GOMAXPROCS in src/base/options.def

// Digits only: strtol alone would take "+4", " 4" and "4x".
bool valid_procs(const char* s) {
  if (!*s || strspn(s, "0123456789") != strlen(s) || strlen(s) > 9) return false;
  long n = strtol(s, nullptr, 10);
  return n >= 1 && n <= kMaxProcs;
}

bool set(const char* name, const std::string& value) { return setenv(name, value.c_str(), 1) == 0; }

// In front of what is there already: the first object to define a name wins, and an allocator or
// tracer that the user preloads must keep working.
bool preload(const std::string& library) {
  const char* before = getenv("LD_PRELOAD");
  return set("LD_PRELOAD", before && *before ? library + ":" + before : library);
}

}  // namespace

int run_main(int argc, char** argv) {
  const char* procs = nullptr;
  bool stats = false;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    const char* arg = argv[i];
    if (!strcmp(arg, "--")) {
      i++;
      break;
    } else if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
      return print(run_help);
    } else if (!strcmp(arg, "--stats")) {
      stats = true;
    } else if (!strcmp(arg, "-p") || !strcmp(arg, "--procs")) {
      if (++i >= argc) return usage_error("run", "option '%s' needs a number", arg);
      procs = argv[i];
    } else if (!strncmp(arg, "--procs=", 8)) {
      procs = arg + 8;
    } else if (!strncmp(arg, "-p", 2)) {
      procs = arg + 2;
    } else {
      return usage_error("run", "unknown option '%s'", arg);
    }
  }
  if (procs && !valid_procs(procs))
    return usage_error("run", "'%s' is not a number of processors from 1 to %ld", procs, kMaxProcs);
  if (i >= argc) return usage_error("run", "no program given");

  std::string library = library_path();
  if (library.empty())
    return error("libgmpthreads.so.0 is neither beside this program nor in %s", GMPT_LIBDIR);
  // ld.so splits LD_PRELOAD at both and has no way to escape them.
  if (library.find_first_of(" :") != std::string::npos)
    return error("'%s' cannot be preloaded: blanks and colons separate names in LD_PRELOAD", library.c_str());

  if (!preload(library) || (procs && !set("GOMAXPROCS", procs)) || (stats && !set("GMPT_STATS", "1")))
    return error("cannot set the environment: %s", strerror(errno));

  execvp(argv[i], argv + i);
  int status = errno == ENOENT || errno == ENOTDIR ? kNotFound : kCannotExecute;
  error("cannot run '%s': %s", argv[i], strerror(errno));
  return status;
}

}  // namespace gmpt_tool
