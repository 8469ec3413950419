// tools/gmpt/main.cc -- the gmpt command: its table of subcommands, help and version.
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "tools/gmpt/gmpt.h"

namespace gmpt_tool {
namespace {

const Command kCommands[] = {
    {"run", run_main, "run a program on user-level threads", run_help},
};

const Command* find(const char* name) {
  for (const Command& c : kCommands)
    if (!strcmp(c.name, name)) return &c;
  return nullptr;
}

std::string overview() {
  std::string text = "usage: gmpt COMMAND [ARGUMENTS]\n\ncommands:\n";
  for (const Command& c : kCommands) {
    std::string name = c.name;
    name.resize(8, ' ');
    text += "  " + name + " " + c.summary + "\n";
  }
  return text +
         "  help     explain a command: gmpt help COMMAND\n\n"
         "options:\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n\n"
         "Manual pages: gmpt(1), gmpthreads(7), gmpt-env(7).\n";
}

int help(const char* topic) {
  if (!topic) return print(overview());
  if (const Command* c = find(topic)) return print(c->help);
  return usage_error(nullptr, "no command '%s'", topic);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs(overview().c_str(), stderr);
    return kOwnError;
  }
  const char* word = argv[1];
  if (!strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h")) return help(argv[2]);
  if (!strcmp(word, "--version") || !strcmp(word, "-V"))
    return print("gmpt (" PACKAGE_NAME ") " PACKAGE_VERSION "\n");
  if (const Command* c = find(word)) return c->main(argc - 1, argv + 1);
  return usage_error(nullptr, word[0] == '-' ? "unknown option '%s'" : "no command '%s'", word);
}

}  // namespace
}  // namespace gmpt_tool

int main(int argc, char** argv) { return gmpt_tool::main(argc, argv); }
