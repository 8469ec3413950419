// posix/kstate_ids.c -- setuid and its family hold for every thread of the process, those at work, asleep, and made later.
// timeout: 30
#include "expect.h"
#include <dirent.h>
#include <grp.h>
#include <sys/wait.h>

enum { T = 8, NOBODY = 65534 };
static int stage, seen;

// In the kernel's own words: every thread of the process has these ids.
static void expect_tasks(const char* key, int want) {
  DIR* d = opendir("/proc/self/task");
  EXPECT(d != NULL);
  for (struct dirent* e; (e = readdir(d));) {
    char path[300], line[256];
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
    FILE* f = fopen(path, "r");
    if (!f) continue;  // it ended
    while (fgets(line, sizeof line, f))
      if (strncmp(line, key, strlen(key)) == 0) {
        int id[4] = {0};
        EXPECT_EQ(sscanf(line + strlen(key), "%d %d %d %d", id, id + 1, id + 2, id + 3), 4);
        for (int i = 0; i < 4; i++) EXPECT_EQ(id[i], want);
      }
    fclose(f);
  }
  closedir(d);
}

static void* waits(void* a) {
  intptr_t how = (intptr_t)a;
  for (int s = 1; s <= 2; s++) {
    while (LOAD(stage) < s) {
      if (how % 4 == 0) sched_yield();
      else if (how % 4 == 1) usleep(1000);
    }
    if (s == 1) EXPECT(getegid() == NOBODY && getgid() == NOBODY);
    if (s == 2) EXPECT(geteuid() == NOBODY && getuid() == NOBODY);
    if (s == 2) EXPECT_EQ(setuid(0), -1);
    if (s == 2) EXPECT_EQ(errno, EPERM);
    ADD(seen, 1);
  }
  return NULL;
}
static void* later(void* a) {
  EXPECT(getuid() == NOBODY && getgid() == NOBODY);
  return a;
}
static void* drops(void* a) {
  gid_t g = NOBODY;
  OK(setgroups(1, &g));
  OK(setresgid(NOBODY, NOBODY, NOBODY));
  expect_tasks("Gid:", NOBODY);
  STORE(stage, 1);
  while (LOAD(seen) < T) usleep(1000);
  OK(setuid(NOBODY));
  expect_tasks("Uid:", NOBODY);
  STORE(stage, 2);
  EXPECT_EQ(getgroups(0, NULL), 1);
  EXPECT_EQ(setgroups(1, &g), -1);
  EXPECT_EQ(errno, EPERM);
  return a;
}

// A thread that took other ids by itself cannot follow: such a process is aborted.
static void* goes_alone(void* a) {
  SYS(syscall(SYS_setresuid, 1, 2, 3));
  STORE(stage, 1);
  while (LOAD(stage) == 1) usleep(1000);
  return a;
}
static void mixed(void) {
  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    start(goes_alone, NULL);
    while (LOAD(stage) != 1) usleep(1000);
    SYS(setresuid(4, 5, 6));
    _exit(0);
  }
  int st;
  SYS(waitpid(pid, &st, 0));
  EXPECT(WIFSIGNALED(st) && WTERMSIG(st) == SIGABRT);
}

int main(void) {
  if (geteuid() != 0) {  // what anybody may do
    OK(setuid(getuid()));
    OK(setgid(getgid()));
    return 0;
  }
  for (int round = 0; round < 3; round++) {
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
      pthread_t t[T], d, l;
      for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, waits, (void*)i));
      OK(pthread_create(&d, NULL, drops, NULL));
      for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
      OK(pthread_join(d, NULL));
      for (int i = 0; i < 4; i++) {
        OK(pthread_create(&l, NULL, later, NULL));
        OK(pthread_join(l, NULL));
      }
      expect_tasks("Uid:", NOBODY);
      _exit(0);
    }
    reap_ok(pid);
  }
  mixed();
  return 0;
}
