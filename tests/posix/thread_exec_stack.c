// posix/thread_exec_stack.c -- a library that wants executable stacks gets them, in threads that exist and in those made later.
// flags: -ldl
// timeout: 60
#include "expect.h"
#include <dlfcn.h>

// A nested function whose address is taken is called through code on the caller's stack.
static const char source[] =
    "static int apply(int (*f)(int), int n) { return f(n); }\n"
    "int adds(int a, int b) {\n"
    "  int add(int x) { return x + a; }\n"
    "  int (*volatile f)(int) = add;\n"
    "  return apply(f, b);\n"
    "}\n";
static int (*adds)(int, int);
static sem_t loaded;
static void* uses(void* a) {
  EXPECT_EQ(adds((int)(intptr_t)a, 5), (int)(intptr_t)a + 5);
  return a;
}
static void* waits(void* a) {
  while (sem_wait(&loaded) == -1) EXPECT_EQ(errno, EINTR);
  return uses(a);
}
static void* loads(void* a) {
  void* h = dlopen("./lib.so", RTLD_NOW);
  if (!h) {
    fprintf(stderr, "%s\n", dlerror());
    skip("no executable stacks here");
  }
  adds = (int (*)(int, int))dlsym(h, "adds");
  EXPECT(adds != NULL);
  return uses(a);
}

int main(void) {
  watchdog(55);
  OK(sem_init(&loaded, 0, 0));
  FILE* f = fopen("lib.c", "w");
  EXPECT(f != NULL);
  fputs(source, f);
  fclose(f);
  if (system("cc -shared -fPIC -O1 -w -z execstack -o lib.so lib.c") != 0) skip("no compiler cc");
  enum { N = 40 };
  pthread_t t[N];
  for (int i = 0; i < N / 2; i++) t[i] = start(waits, num(i));
  join(start(loads, num(7)));
  for (int i = 0; i < N / 2; i++) SYS(sem_post(&loaded));
  for (int i = N / 2; i < N; i++) t[i] = start(uses, num(i));
  for (int i = 0; i < N; i++) EXPECT_EQ(join(t[i]), i);

  pid_t pid = (pid_t)SYS(fork());
  if (pid == 0) {
    EXPECT_EQ(join(start(uses, num(3))), 3);
    _exit(0);
  }
  reap_ok(pid);
  return 0;
}
