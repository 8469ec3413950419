// posix/kstate_thread.c -- a thread's own directory, name, slack and privileges are nobody else's, and its children's.
// timeout: 30
#include "expect.h"
#include <limits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static char home[PATH_MAX];
static int done;

static void* ordinary(void* a) {
  char name[16], dir[PATH_MAX];
  while (!LOAD(done)) {
    EXPECT(getcwd(dir, sizeof dir) && strcmp(dir, home) == 0);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 50000);
    EXPECT_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
    OK(prctl(PR_GET_NAME, name, 0, 0, 0));
    EXPECT(strcmp(name, "special") != 0);
    usleep(500);
  }
  return a;
}

static void expect_special(void) {
  char dir[PATH_MAX];
  for (int i = 0; i < 30; i++) {
    EXPECT(getcwd(dir, sizeof dir) && strcmp(dir, "/proc") == 0);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 123456);
    EXPECT_EQ(syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    usleep(500);
  }
}
static void* grandchild(void* a) {
  expect_special();
  return a;
}
static void* child(void* a) {
  expect_special();
  pthread_t t;
  OK(pthread_create(&t, NULL, grandchild, NULL));
  OK(pthread_join(t, NULL));
  return a;
}
static void* special(void* a) {
  char name[16];
  OK(prctl(PR_SET_NAME, "special", 0, 0, 0));
  OK(pthread_getname_np(pthread_self(), name, sizeof name));
  EXPECT(strcmp(name, "special") == 0);
  OK(prctl(PR_SET_TIMERSLACK, 123456, 0, 0, 0));
  OK(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  OK(unshare(CLONE_FS));
  OK(chdir("/proc"));
  expect_special();
  pthread_t t[3];
  for (int i = 0; i < 3; i++) OK(pthread_create(&t[i], NULL, child, NULL));
  for (int i = 0; i < 3; i++) OK(pthread_join(t[i], NULL));
  expect_special();
  return a;
}
static void* refused(void* a) {
  EXPECT_EQ(unshare(-1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 2, 0, 0, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(prctl(99999, 0, 0, 0, 0), -1);
  return a;
}

int main(void) {
  EXPECT(getcwd(home, sizeof home) != NULL);
  pthread_t others[4], t;
  for (int i = 0; i < 4; i++) OK(pthread_create(&others[i], NULL, ordinary, NULL));
  for (int i = 0; i < 8; i++) {
    OK(pthread_create(&t, NULL, special, NULL));
    OK(pthread_join(t, NULL));
    OK(pthread_create(&t, NULL, refused, NULL));
    OK(pthread_join(t, NULL));
  }
  STORE(done, 1);
  for (int i = 0; i < 4; i++) OK(pthread_join(others[i], NULL));
  return 0;
}
