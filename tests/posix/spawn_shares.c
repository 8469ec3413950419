// posix/spawn_shares.c -- a child that was spawned sees the flags of the descriptors it shares as the program set them, while threads here wait on them.
// timeout: 60
#include "expect.h"
#include <spawn.h>

extern char** environ;
static int in_pipe[2], listener, pair[2];

// The child: O_NONBLOCK is on none of them, ever.
static int looks_on(char** fds) {
  for (int64_t end = now_ns() + 300 * MS; now_ns() < end;)
    for (int i = 0; i < 3; i++)
      if (SYS(fcntl(atoi(fds[i]), F_GETFL)) & O_NONBLOCK) return 3;
  return 0;
}

static int done;
static void* reads(void* a) {
  char b;
  while (read(in_pipe[0], &b, 1) == 1) {}
  return a;
}
static void* accepts(void* a) {
  for (int fd; (fd = accept(listener, NULL, NULL)) >= 0 && !LOAD(done);) close(fd);
  return a;
}
static void* fills(void* a) {
  char b[4096];
  while (recv(pair[0], b, sizeof b, 0) > 0) {}
  return a;
}
static void* feeds(void* a) {
  for (int i = 0; !LOAD(done); i++) {
    SYS(write(in_pipe[1], "x", 1));
    SYS(send(pair[1], "y", 1, 0));
    if (i % 4 == 0) close(tcp_connect(listener));
    usleep(500);
  }
  return a;
}

static char names[3][12];
static pid_t by_spawn(int p) {
  char* argv[] = {(char*)"self", names[0], names[1], names[2], NULL};
  pid_t pid;
  if (p) OK(posix_spawnp(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
  else OK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
  return pid;
}
static void by_shell(int with_popen) {
  char cmd[4200], self[4096];
  ssize_t n = SYS(readlink("/proc/self/exe", self, sizeof self - 1));
  self[n] = 0;
  snprintf(cmd, sizeof cmd, "exec '%s' %s %s %s", self, names[0], names[1], names[2]);
  if (!with_popen) {
    EXPECT_EXITED(system(cmd), 0);
    return;
  }
  FILE* f = popen(cmd, "r");
  EXPECT(f != NULL);
  EXPECT_EXITED(pclose(f), 0);
}

int main(int argc, char** argv) {
  if (argc > 1) return looks_on(argv + 1);
  watchdog(50);
  SYS(pipe(in_pipe));
  listener = tcp_listen(64);
  SYS(fcntl(listener, F_SETFD, 0));
  SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  const int shared[] = {in_pipe[0], listener, pair[0]};
  for (int i = 0; i < 3; i++) snprintf(names[i], sizeof names[i], "%d", shared[i]);
  pthread_t t[] = {start(reads, NULL), start(accepts, NULL), start(fills, NULL), start(feeds, NULL)};
  sleep_ms(50);  // they wait on what nobody shares yet
  reap_ok(by_spawn(0));
  reap_ok(by_spawn(1));
  by_shell(0);
  by_shell(1);
  STORE(done, 1);
  join(t[3]);
  close(in_pipe[1]);
  shutdown(pair[1], SHUT_RDWR);
  close(tcp_connect(listener));
  for (int i = 0; i < 3; i++) join(t[i]);
  return 0;
}
