// posix/fork_stacks.c -- a child reads what other threads' stacks held at the fork; once it has had threads of its own, it keeps no memory for those stacks.
// timeout: 60
#include "expect.h"

enum { T = 1000, DEEP = 40 << 10 };
static sem_t go;
static int ready;
static char* left[T];

static long resident(void) {  // pages
  char b[128];
  long size, rss;
  int fd = open("/proc/self/statm", O_RDONLY);
  ssize_t n = read(fd, b, sizeof b - 1);
  EXPECT(n > 0);
  b[n] = 0;
  EXPECT_EQ(sscanf(b, "%ld %ld", &size, &rss), 2);
  OK(close(fd));
  return rss;
}
static void* waits(void* a) {
  int i = (int)(intptr_t)a;
  char deep[DEEP];
  memset(deep, i, sizeof deep);
  left[i] = deep;
  ADD(ready, 1);
  sem_wait(&go);
  return NULL;
}
static void* returns(void* a) { return a; }
static void* forks(void* a) {
  char mine[4096];
  memset(mine, 77, sizeof mine);
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < T; i++) EXPECT(left[i][0] == (char)i && left[i][DEEP - 1] == (char)i);
    long before = resident();
    for (int i = 0; i < 3; i++) {
      pthread_t t;
      void* r;
      OK(pthread_create(&t, NULL, returns, mine));
      OK(pthread_join(t, &r));
      EXPECT(r == mine);
    }
    for (size_t i = 0; i < sizeof mine; i++) EXPECT(mine[i] == 77);
    EXPECT_LE(resident(), before - T * (DEEP / 4096) / 2);
    _exit(0);
  }
  int st;
  EXPECT_EQ(waitpid(pid, &st, 0), pid);
  EXPECT_EQ(st, 0);
  for (int i = 0; i < T; i++) EXPECT(left[i][0] == (char)i);
  return a;
}

int main(void) {
  OK(sem_init(&go, 0, 0));
  pthread_t t[T], f;
  for (intptr_t i = 0; i < T; i++) OK(pthread_create(&t[i], NULL, waits, (void*)i));
  while (LOAD(ready) < T) usleep(1000);
  OK(pthread_create(&f, NULL, forks, NULL));
  OK(pthread_join(f, NULL));
  forks(NULL);
  for (int i = 0; i < T; i++) OK(sem_post(&go));
  for (int i = 0; i < T; i++) OK(pthread_join(t[i], NULL));
  return 0;
}
