// tools/gmpt/gmpt.h -- what the subcommands of gmpt share.
//
// A subcommand is one row in main.cc and one file. It gets its own arguments, argv[0] being its name,
// and returns the exit status. It talks to the library through the environment and through what the
// library shows of itself, never through its internals.
#pragma once
#include <string>

namespace gmpt_tool {

// Exit statuses as env(1), nohup(1) and timeout(1) have them, so that scripts can tell whose failure it was.
enum Status { kOk = 0, kOwnError = 125, kCannotExecute = 126, kNotFound = 127 };

struct Command {
  const char* name;
  int (*main)(int argc, char** argv);
  const char* summary;   // one line, for `gmpt --help`
  const char* help;      // the text of `gmpt help NAME`
};

int run_main(int argc, char** argv);
extern const char run_help[];

// "gmpt: <message>" on stderr; returns kOwnError.
[[gnu::format(printf, 1, 2)]] int error(const char* format, ...);
// The same, followed by where help can be found.
[[gnu::format(printf, 2, 3)]] int usage_error(const char* command, const char* format, ...);

// The text on stdout; returns kOk, or kOwnError when it cannot be written (a full disk, say).
int print(const std::string& text);

// Absolute path of the library: beside this executable (a build tree), else where it was installed,
// else in ../lib (an installation that was moved). Empty when it is in none of these.
std::string library_path();

}  // namespace gmpt_tool
