// posix/thread_name.c -- a thread's name can be set and read by itself and by others, up to 15 characters.
#include "expect.h"
#include <sys/prctl.h>

static sem_t a_ready, a_go;
static void* named(void* a) {
  char b[16];
  OK(pthread_setname_np(pthread_self(), (const char*)a));
  for (int i = 0; i < 20; i++) sched_yield();
  OK(pthread_getname_np(pthread_self(), b, sizeof b));
  EXPECT(!strcmp(b, (const char*)a));
  SYS(sem_post(&a_ready));
  while (sem_wait(&a_go) == -1) EXPECT_EQ(errno, EINTR);
  OK(pthread_getname_np(pthread_self(), b, sizeof b));
  EXPECT(!strcmp(b, "renamed"));
  return NULL;
}
static void* inherits(void* a) {
  char b[16];
  OK(pthread_getname_np(pthread_self(), b, sizeof b));
  EXPECT(!strcmp(b, (const char*)a));
  return NULL;
}

int main(void) {
  watchdog(9);
  OK(sem_init(&a_ready, 0, 0));
  OK(sem_init(&a_go, 0, 0));
  char b[16];
  enum { N = 20 };
  pthread_t t[N];
  static char name[N][16];
  for (int i = 0; i < N; i++) {
    snprintf(name[i], sizeof name[i], "worker-%d", i);
    t[i] = start(named, name[i]);
  }
  for (int i = 0; i < N; i++)
    while (sem_wait(&a_ready) == -1) EXPECT_EQ(errno, EINTR);
  for (int i = 0; i < N; i++) {
    OK(pthread_getname_np(t[i], b, sizeof b));
    EXPECT(!strcmp(b, name[i]));
    OK(pthread_setname_np(t[i], "renamed"));
  }
  for (int i = 0; i < N; i++) SYS(sem_post(&a_go));
  for (int i = 0; i < N; i++) join(t[i]);

  OK(pthread_setname_np(pthread_self(), "fifteen-letters"));
  EXPECT_EQ(pthread_setname_np(pthread_self(), "sixteen-letters!"), ERANGE);
  OK(pthread_getname_np(pthread_self(), b, sizeof b));
  EXPECT(!strcmp(b, "fifteen-letters"));
  EXPECT_EQ(pthread_getname_np(pthread_self(), b, 3), ERANGE);
  join(start(inherits, (void*)"fifteen-letters"));
  // A shorter one leaves nothing of a longer one.
  static const char two[16] = "ab";
  SYS(prctl(PR_SET_NAME, "a long name"));
  SYS(prctl(PR_SET_NAME, two));
  memset(b, 'x', sizeof b);
  SYS(prctl(PR_GET_NAME, b));
  EXPECT_EQ(memcmp(b, two, sizeof b), 0);
  return 0;
}
