// posix/dlopen_deepbind.c -- a library loaded with RTLD_DEEPBIND shares mutexes, conditions, keys and threads with the program, and keeps its own names.
// flags: -ldl -rdynamic
// timeout: 60
#include "expect.h"
#include <dlfcn.h>

// Made here: lib.so, and dep.so that it needs. Both define names that the program has, too.
static const char lib_source[] =
    "#include <pthread.h>\n"
    "#include <unistd.h>\n"
    "int whose(void) { return 2; }\n"
    "int dep_whose(void);\n"
    "int dep_lock(pthread_mutex_t*);\n"
    "int lib_whose(void) { return whose() * 10 + dep_whose(); }\n"
    "static int (*lock)(pthread_mutex_t*) = pthread_mutex_lock;\n"
    "void add(pthread_mutex_t* m, long* n, int how) {\n"
    "  if (how == 0) pthread_mutex_lock(m); else if (how == 1) lock(m); else dep_lock(m);\n"
    "  long v = *n;\n"
    "  for (volatile int i = 0; i < 200; i++);\n"
    "  *n = v + 1;\n"
    "  pthread_mutex_unlock(m);\n"
    "}\n"
    "void wait_for(pthread_mutex_t* m, pthread_cond_t* c, int* flag) {\n"
    "  pthread_mutex_lock(m);\n"
    "  while (!*flag) pthread_cond_wait(c, m);\n"
    "  pthread_mutex_unlock(m);\n"
    "}\n"
    "pthread_t run(void* (*f)(void*), void* a) { pthread_t t; return pthread_create(&t, 0, f, a) ? 0 : t; }\n"
    "long take(int fd) { char b; return read(fd, &b, 1); }\n";
static const char dep_source[] =
    "#include <pthread.h>\n"
    "int whose(void);\n"
    "int dep_whose(void) { return whose(); }\n"
    "int dep_lock(pthread_mutex_t* m) { return pthread_mutex_lock(m); }\n";
int whose(void);
int whose(void) { return 1; }

static void put(const char* name, const char* text) {
  FILE* f = fopen(name, "w");
  EXPECT(f != NULL);
  fputs(text, f);
  fclose(f);
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static long n;
static int flag, p[2];
static void (*add)(pthread_mutex_t*, long*, int);
static void (*wait_for)(pthread_mutex_t*, pthread_cond_t*, int*);
static pthread_t (*run)(void* (*)(void*), void*);
static long (*take)(int);

enum { ROUNDS = 30000 };
static void* adds(void* a) {
  int how = (int)(intptr_t)a;
  for (int i = 0; i < ROUNDS; i++) {
    if (how < 3) {
      add(&m, &n, how);
      continue;
    }
    OK(pthread_mutex_lock(&m));
    long v = n;
    for (volatile int k = 0; k < 200; k++) {}
    n = v + 1;
    OK(pthread_mutex_unlock(&m));
  }
  return a;
}
static void* waits(void* a) {
  wait_for(&m, &c, &flag);
  return a;
}
static void* takes(void* a) { return num(take(p[0]) + (intptr_t)a); }

static void use(int mode) {
  void* h = dlopen("./lib.so", mode | RTLD_DEEPBIND);
  if (!h) fprintf(stderr, "%s\n", dlerror());
  EXPECT(h != NULL);
  int (*lib_whose)(void) = (int (*)(void))dlsym(h, "lib_whose");
  EXPECT_EQ(lib_whose(), 22);
  add = (void (*)(pthread_mutex_t*, long*, int))dlsym(h, "add");
  wait_for = (void (*)(pthread_mutex_t*, pthread_cond_t*, int*))dlsym(h, "wait_for");
  run = (pthread_t(*)(void* (*)(void*), void*))dlsym(h, "run");
  take = (long (*)(int))dlsym(h, "take");
  pthread_t t[8];
  n = 0;
  for (int i = 0; i < 8; i++) {
    t[i] = i & 1 ? run(adds, num(i / 2)) : start(adds, num(i / 2));
    EXPECT(t[i] != 0);
  }
  for (int i = 0; i < 8; i++) EXPECT_EQ((intptr_t)join(t[i]), i / 2);
  EXPECT_EQ(n, 8 * ROUNDS);
  flag = 0;
  t[0] = start(waits, NULL);
  t[1] = run(waits, NULL);
  sleep_ms(20);
  OK(pthread_mutex_lock(&m));
  flag = 1;
  OK(pthread_cond_broadcast(&c));
  OK(pthread_mutex_unlock(&m));
  for (int i = 0; i < 2; i++) join(t[i]);
  // Sixteen readers of one pipe, and as many bytes.
  SYS(pipe(p));
  pthread_t r[16];
  for (int i = 0; i < 16; i++) r[i] = run(takes, num(i));
  sleep_ms(20);
  if (preloaded()) EXPECT_LE(kernel_threads(), 8 + max_procs());
  for (int i = 0; i < 16; i++) write_all(p[1], "x", 1);
  for (int i = 0; i < 16; i++) EXPECT_EQ((intptr_t)join(r[i]), i + 1);
  close(p[0]);
  close(p[1]);
  EXPECT_EQ(whose(), 1);
  EXPECT_EQ(dlclose(h), 0);
}

int main(void) {
  watchdog(55);
  char dir[] = "/tmp/deepbind.XXXXXX";
  EXPECT(mkdtemp(dir) != NULL);
  SYS(chdir(dir));
  put("lib.c", lib_source);
  put("dep.c", dep_source);
  int st = system("cc -shared -fPIC -O1 -w -o dep.so dep.c && cc -shared -fPIC -O1 -w -o lib.so lib.c ./dep.so && "
                  "cc -shared -fPIC -O1 -w -Wl,-z,relro,-z,now -o lib2.so lib.c ./dep.so");
  int ok = st == 0;
  if (ok) {
    use(RTLD_LAZY);
    use(RTLD_NOW);
    SYS(rename("lib2.so", "lib.so"));
    use(RTLD_NOW | RTLD_GLOBAL);
  }
  SYS(chdir("/"));
  char cmd[64];
  snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
  EXPECT_EQ(system(cmd), 0);
  if (!ok) skip("no compiler cc");
  return 0;
}
