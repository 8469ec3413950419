// posix/fork_threads.c -- a child forked while threads run and hold locks has one thread, and everything works in it: malloc, stdio, threads, sockets.
// timeout: 60
#include "expect.h"

static int quit;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static FILE* shared;
static void* mallocs(void* a) {
  while (!LOAD(quit)) {
    void* p[20];
    for (int i = 0; i < 20; i++) p[i] = malloc(100 * (size_t)(i + 1));
    for (int i = 0; i < 20; i++) free(p[i]);
  }
  return a;
}
static void* prints(void* a) {
  while (!LOAD(quit)) fprintf(shared, "%d %s\n", 7, "words");
  return a;
}
static void* locks(void* a) {
  while (!LOAD(quit)) {
    pthread_mutex_lock(&m);
    usleep(100);
    pthread_mutex_unlock(&m);
  }
  return a;
}
static void* spins(void* a) {
  while (!LOAD(quit)) {
  }
  return a;
}
static int parent_pipe[2];
static void* reads(void* a) {
  char b;
  while (read(parent_pipe[0], &b, 1) == 1) {
  }
  return a;
}
static void* sleeps(void* a) {
  while (!LOAD(quit)) sleep_ms(5);
  return a;
}

static __thread int mine;
static pthread_key_t key;
static int cv_go;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t cm = PTHREAD_MUTEX_INITIALIZER;
static void* child_thread(void* a) {
  EXPECT_EQ(mine, 0);
  mine = 5;
  pthread_mutex_lock(&cm);
  while (!cv_go) pthread_cond_wait(&cv, &cm);
  pthread_mutex_unlock(&cm);
  sleep_ms(1);
  free(malloc(1000));
  return a;
}
static void* echoes(void* a) {
  int fd = (int)SYS(accept(*(int*)a, NULL, NULL));
  char b[10];
  read_all(fd, b, 10);
  write_all(fd, b, 10);
  close(fd);
  return NULL;
}

// What the child does; `self` is the forking thread's id, which it keeps.
static void in_child(pthread_t self, int depth) {
  watchdog(30);
  EXPECT(pthread_equal(self, pthread_self()));
  EXPECT_EQ(mine, 42);
  EXPECT_EQ(pthread_getspecific(key), 42);
  EXPECT_EQ(getpid(), gettid());
  char* s = NULL;
  EXPECT(asprintf(&s, "%d and %s", 12, "more") > 0);
  free(s);
  void* p[100];
  for (int i = 0; i < 100; i++) p[i] = malloc(1u << (i % 16));
  for (int i = 0; i < 100; i++) free(p[i]);
  FILE* f = tmpfile();
  EXPECT(f && fprintf(f, "hello %d\n", 5) == 8);
  fclose(f);
  // Blocking calls with one thread.
  int64_t t0 = now_ns();
  sleep_ms(3);
  EXPECT_GE(now_ns() - t0, 3 * MS);
  // Threads again.
  pthread_t t[6];
  for (int i = 0; i < 6; i++) t[i] = start(child_thread, num(i));
  sleep_ms(2);
  pthread_mutex_lock(&cm);
  cv_go = 1;
  pthread_cond_broadcast(&cv);
  pthread_mutex_unlock(&cm);
  for (int i = 0; i < 6; i++) EXPECT_EQ(join(t[i]), i);
  int l = tcp_listen(4);
  pthread_t e = start(echoes, &l);
  int c = tcp_connect(l);
  char b[10] = "0123456789";
  write_all(c, b, 10);
  memset(b, 0, 10);
  read_all(c, b, 10);
  EXPECT(!memcmp(b, "0123456789", 10));
  close(c);
  join(e);
  // And a child of the child, forked with threads around.
  if (depth > 0) {
    pthread_t sl = start(sleeps, NULL);
    pid_t pid = (pid_t)SYS(fork());
    if (pid == 0) {
      cv_go = 0;
      in_child(pthread_self(), depth - 1);
      _exit(0);
    }
    reap_ok(pid);
    STORE(quit, 1);
    join(sl);
  }
}

static void* forks(void* a) {
  mine = 42;
  OK(pthread_setspecific(key, num(42)));
  for (int i = 0; i < (intptr_t)a; i++) {
    pid_t pid = (pid_t)SYS(fork());
    if (pid == 0) {
      in_child(pthread_self(), i == 0);
      _exit(0);
    }
    reap_ok(pid);
    EXPECT_EQ(mine, 42);
  }
  return NULL;
}

int main(void) {
  watchdog(55);
  OK(pthread_key_create(&key, NULL));
  SYS(pipe(parent_pipe));
  shared = tmpfile();
  OK(pthread_mutex_lock(&held));
  pthread_t t[] = {start(mallocs, NULL), start(mallocs, NULL), start(prints, NULL), start(locks, NULL),
                   start(locks, NULL),   start(spins, NULL),   start(reads, NULL),  start(sleeps, NULL)};
  forks(num(10));  // from main
  pthread_t f[4];
  for (int i = 0; i < 4; i++) f[i] = start(forks, num(12));  // and from four threads at once
  for (int i = 0; i < 4; i++) join(f[i]);
  STORE(quit, 1);
  close(parent_pipe[1]);
  for (unsigned i = 0; i < sizeof t / sizeof *t; i++) join(t[i]);
  OK(pthread_mutex_unlock(&held));
  return 0;
}
