// suites/awake.c -- a shared object that starts one thread before main, in native runs and preloaded ones: the library sleeps in a program without threads.
#include <pthread.h>
#include <stddef.h>

static void* ends(void* arg) { return arg; }

__attribute__((constructor)) static void wake(void) {
  pthread_t t;
  if (pthread_create(&t, NULL, ends, NULL) == 0) pthread_join(t, NULL);
}
