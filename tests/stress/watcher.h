// stress/watcher.h -- a second process that notices a standstill.
//
// It is a process, not a thread: it stays alive whatever happens to the threads. When nothing has moved for
// 20 s it prints what each kernel thread is doing, and its stack if there is gdb, kills the run and says so. It is the parent, and the storm
// a program that was executed anew: a process that ever forked treats its descriptors with more care.
#pragma once
#include <sys/mman.h>
#include <sys/prctl.h>
#include <atomic>
#include <new>
#include "expect.h"

struct Shared {
  std::atomic<uint64_t> progress;
};
static Shared* shared;

static void print_file(const char* path, const char* only) {
  FILE* f = fopen(path, "r");
  char l[300];
  while (f && fgets(l, sizeof l, f))
    if (!only || !strncmp(l, only, strlen(only))) fprintf(stderr, " %.*s", (int)strcspn(l, "\n"), l);
  if (f) fclose(f);
}

static void print_threads(pid_t pid) {
  char name[300];
  snprintf(name, sizeof name, "/proc/%d/task", pid);
  DIR* d = opendir(name);
  for (dirent* e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    fprintf(stderr, "  %s:", e->d_name);
    static const char* const files[][2] = {{"comm", nullptr}, {"syscall", nullptr}, {"status", "State"}};
    for (auto& f : files) {
      snprintf(name, sizeof name, "/proc/%d/task/%s/%s", pid, e->d_name, f[0]);
      print_file(name, f[1]);
    }
    fprintf(stderr, "\n");
  }
  if (d) closedir(d);
}

// Ends as the storm ends.
EXPECT_NORETURN static void watch(pid_t pid) {
  uint64_t last = ~0ull;
  int64_t since = now_ns();
  for (;;) {
    int st;
    if (waitpid(pid, &st, WNOHANG) == pid) _exit(WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st));
    uint64_t p = shared->progress;
    if (p != last) {
      last = p;
      since = now_ns();
    }
    if (now_ns() - since > 20 * SEC) {
      fprintf(stderr, "storm: no progress for 20 s after %llu steps; kernel threads of %d:\n", (unsigned long long)p, pid);
      print_threads(pid);
      fflush(stderr);
      char command[300];  // says nothing where there is no gdb
      snprintf(command, sizeof command,
               "timeout 60 gdb -nx -q -batch -p %d -ex 'set pagination off' -ex 'thread apply all bt 25' "
               "-ex 'call (void)gmpt_dump()' >&2 2>&1", pid);
      unsetenv("LD_PRELOAD");
      if (system(command) == -1) fprintf(stderr, "no gdb\n");
      kill(pid, SIGKILL);
      _exit(1);
    }
    usleep(20000);
  }
}

// First thing in main; returns in the storm only.
static void start_watcher(char** argv) {
  const char* known = getenv("STORM_MEMORY");
  int fd = known ? atoi(known) : (int)SYS(memfd_create("storm", 0));
  SYS(ftruncate(fd, 4096));
  void* map = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT(map != MAP_FAILED);
  shared = static_cast<Shared*>(map);
  if (known) {
    SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
    close(fd);
    return;
  }
  pid_t pid = (pid_t)SYS(fork());
  if (pid) watch(pid);
  char text[16];
  snprintf(text, sizeof text, "%d", fd);
  SYS(setenv("STORM_MEMORY", text, 1));
  execv("/proc/self/exe", argv);
  _exit(127);
}
