// posix/thread_local_dlopen.c -- thread-local data of libraries loaded while threads run: fresh in every thread, old or new, again after reloading.
// flags: -ldl
// timeout: 60
#include "expect.h"
#include <dlfcn.h>

// The libraries are made here: one with large dynamic data, one whose data lies in the static area, one with destructors.
static const char source[] =
    "#include <stddef.h>\n"
    "extern int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);\n"
    "extern void* __dso_handle;\n"
    "static __thread int seven MODEL = 7;\n"
    "static __thread char zeros[SIZE] MODEL;\n"
    "static __thread int registered MODEL;\n"
    "int ended;\n"
    "static void end(void* p) { __atomic_add_fetch(&ended, *(int*)p == 8, __ATOMIC_SEQ_CST); }\n"
    "int* where(void) { return &seven; }\n"
    "int check(int set) {\n"
    "  for (size_t i = 0; i < SIZE; i++) if (zeros[i]) return -1;\n"
    "  int old = seven;\n"
    "  if (set) {\n"
    "    seven = 8;\n"
    "    if (DTOR && !registered++) __cxa_thread_atexit_impl(end, &seven, &__dso_handle);\n"
    "  }\n"
    "  return old;\n"
    "}\n";
struct lib { const char *name, *flags; int dtor; void* h; int (*check)(int); int* (*where)(void); int* ended; };
static struct lib libs[] = {
  {"./big.so", "-DMODEL= -DSIZE=100000 -DDTOR=0", 0},
  {"./fixed.so", "-DMODEL='__attribute__((tls_model(\"initial-exec\")))' -DSIZE=16 -DDTOR=0", 0},
  {"./ends.so", "-DMODEL= -DSIZE=16 -DDTOR=1", 1},
};
enum { L = sizeof libs / sizeof *libs, OLD = 12, NEW = 30 };

static void make(struct lib* l) {
  char cmd[400];
  snprintf(cmd, sizeof cmd, "cc -shared -fPIC -O1 -w %s -o %s lib.c", l->flags, l->name);
  int st = system(cmd);
  if (st != 0) skip("no compiler cc");
}
static void load(struct lib* l) {
  l->h = dlopen(l->name, RTLD_NOW | RTLD_LOCAL);
  if (!l->h) fprintf(stderr, "%s\n", dlerror());
  EXPECT(l->h != NULL);
  l->check = (int (*)(int))dlsym(l->h, "check");
  l->where = (int* (*)(void))dlsym(l->h, "where");
  l->ended = (int*)dlsym(l->h, "ended");
}

// Once per step of main, each of the older threads looks at the library of that step.
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int step, done, quit;
static struct lib* now;
static void uses(struct lib* l) {
  EXPECT_EQ(l->check(1), 7);
  int* p = l->where();
  for (int i = 0; i < 10; i++) {
    i & 1 ? sched_yield() : usleep(50);
    EXPECT(l->where() == p);
    EXPECT_EQ(l->check(0), 8);
  }
}
static void* old_thread(void* a) {
  for (int seen = 0;;) {
    OK(pthread_mutex_lock(&m));
    while (step == seen && !quit) OK(pthread_cond_wait(&c, &m));
    seen = step;
    OK(pthread_mutex_unlock(&m));
    if (LOAD(quit)) return a;
    uses(now);
    OK(pthread_mutex_lock(&m));
    done++;
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_unlock(&m));
  }
}
static void all_old_use(struct lib* l) {
  OK(pthread_mutex_lock(&m));
  now = l;
  done = 0;
  step++;
  OK(pthread_cond_broadcast(&c));
  while (done < OLD) OK(pthread_cond_wait(&c, &m));
  OK(pthread_mutex_unlock(&m));
}
static void* new_thread(void* a) {
  uses((struct lib*)a);
  return a;
}
static void new_ones_use(struct lib* l) {
  pthread_t t[NEW];
  for (int r = 0; r < 3; r++) {
    for (int i = 0; i < NEW; i++) t[i] = start(new_thread, l);
    for (int i = 0; i < NEW; i++) join(t[i]);
  }
}

// A library that is loaded and unloaded in one thread while others come and go.
static void* reloads(void* a) {
  struct lib l = libs[0];
  for (int i = 0; i < 20; i++) {
    load(&l);
    EXPECT_EQ(l.check(1), 7);
    sched_yield();
    EXPECT_EQ(l.check(0), 8);
    OK(dlclose(l.h));
  }
  return a;
}

int main(void) {
  watchdog(55);
  FILE* f = fopen("lib.c", "w");
  EXPECT(f != NULL);
  fputs(source, f);
  fclose(f);
  for (int i = 0; i < L; i++) make(&libs[i]);
  pthread_t t[OLD];
  for (int i = 0; i < OLD; i++) t[i] = start(old_thread, NULL);

  for (int i = 0; i < L; i++) {
    struct lib* l = &libs[i];
    for (int r = 0; r < 2; r++) {
      load(l);
      new_ones_use(l);
      all_old_use(l);
      new_ones_use(l);
      if (l->dtor) {
        EXPECT_EQ(LOAD(*l->ended), 6 * NEW);
        break;  // the older threads' destructors keep it loaded
      }
      if (i == 1) break;  // the static area is small, and need not be given back
      OK(dlclose(l->h));
    }
  }
  pthread_t d = start(reloads, NULL);
  new_ones_use(&libs[1]);
  join(d);
  OK(pthread_mutex_lock(&m));
  STORE(quit, 1);
  OK(pthread_cond_broadcast(&c));
  OK(pthread_mutex_unlock(&m));
  for (int i = 0; i < OLD; i++) join(t[i]);
  EXPECT_EQ(LOAD(*libs[2].ended), 6 * NEW + OLD);
  return 0;
}
