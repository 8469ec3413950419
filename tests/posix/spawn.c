// posix/spawn.c -- system, popen, posix_spawn, vfork with exec and the wait calls work from many threads at once.
// timeout: 60
#include "expect.h"
#include <spawn.h>

extern char** environ;
static int quit;
static void* spins(void* a) {
  while (!LOAD(quit)) {
  }
  return a;
}
static void* mallocs(void* a) {
  while (!LOAD(quit)) free(malloc(5000));
  return a;
}

static void* all_ways(void* a) {
  int me = (int)(intptr_t)a;
  char cmd[64], b[64];
  for (int i = 0; i < 6; i++) {
    int code = (me * 7 + i) % 100;
    snprintf(cmd, sizeof cmd, "exit %d", code);
    EXPECT_EXITED(system(cmd), code);
    snprintf(cmd, sizeof cmd, "echo %d", code);
    FILE* f = popen(cmd, "r");
    EXPECT(f && fgets(b, sizeof b, f));
    EXPECT_EQ(atoi(b), code);
    EXPECT_EQ(pclose(f), 0);
    f = popen("exec cat >/dev/null; exit 0", "w");
    EXPECT(f != NULL);
    for (int k = 0; k < 100; k++) fprintf(f, "line %d\n", k);
    EXPECT_EQ(pclose(f), 0);

    // posix_spawn with its output in a pipe; the reader blocks on it.
    int p[2];
    SYS(pipe2(p, O_CLOEXEC));
    posix_spawn_file_actions_t fa;
    OK(posix_spawn_file_actions_init(&fa));
    OK(posix_spawn_file_actions_adddup2(&fa, p[1], 1));
    char* argv[] = {(char*)"sh", (char*)"-c", (char*)"sleep 0.02; echo spawned; exit 5", NULL};
    pid_t pid;
    OK(posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ));
    OK(posix_spawn_file_actions_destroy(&fa));
    close(p[1]);
    read_all(p[0], b, 8);
    EXPECT(!memcmp(b, "spawned\n", 8));
    EXPECT_EQ(read(p[0], b, 1), 0);
    close(p[0]);
    int st;
    EXPECT_EQ(waitpid(pid, &st, 0), pid);
    EXPECT_EXITED(st, 5);
    EXPECT_EQ(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, argv, environ), ENOENT);

    pid = vfork();
    if (pid == 0) {
      execl("/bin/sh", "sh", "-c", "exit 6", (char*)NULL);
      _exit(127);
    }
    SYS(pid);
    siginfo_t si;
    memset(&si, 0, sizeof si);
    SYS(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT));
    EXPECT_EQ(si.si_status, 6);
    EXPECT_EQ(waitpid(pid, &st, 0), pid);
    EXPECT_EXITED(st, 6);

    pid = (pid_t)SYS(fork());
    if (pid == 0) pause(), _exit(1);
    EXPECT_EQ(waitpid(pid, &st, WNOHANG), 0);
    SYS(kill(pid, SIGKILL));
    struct rusage ru;
    EXPECT_EQ(wait4(pid, &st, 0, &ru), pid);
    EXPECT(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
    FAILS(waitpid(pid, &st, 0), ECHILD);
  }
  return NULL;
}

int main(int argc, char** argv) {
  watchdog(55);
  if (argc > 1) {
    // exec from a thread while others run replaces the whole process.
    start(spins, NULL);
    start(mallocs, NULL);
    if (!strcmp(argv[1], "exec")) {
      sleep_ms(20);
      execl("/bin/sh", "sh", "-c", "echo replaced; exit 8", (char*)NULL);
    }
    return 99;
  }
  char out[64];
  EXPECT_EXITED(run_self("exec", out, sizeof out), 8);
  EXPECT(!strcmp(out, "replaced\n"));
  all_ways(num(50));
  pthread_t s = start(spins, NULL), m = start(mallocs, NULL), t[4];
  for (int i = 0; i < 4; i++) t[i] = start(all_ways, num(i));
  for (int i = 0; i < 4; i++) join(t[i]);
  STORE(quit, 1);
  join(s);
  join(m);
  return 0;
}
