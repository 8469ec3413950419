// In a forked child the thread that forked is the only one: its end is the process's, with status 0, after its
// key destructors, and after the threads that the child has made.
#include <sys/wait.h>

#include "expect.h"

static pthread_key_t key;
static int out[2];

static void tell(void* c) { EXPECT(write(out[1], c, 1) == 1); }

static void* late(void* arg) {
  usleep(50000);
  tell("l");
  return NULL;
}

static void* forks(void* how) {
  int kind = *(int*)how;
  pid_t pid = fork();
  if (pid == 0) {
    EXPECT(pthread_setspecific(key, "k") == 0);
    if (kind & 1) {
      pthread_t t;
      EXPECT(pthread_create(&t, NULL, late, NULL) == 0);
    }
    if (kind & 2) pthread_exit(how);
    return how;
  }
  int status;
  EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  char got[3] = "";
  EXPECT(read(out[0], got, 2) == (kind & 1 ? 2 : 1));
  EXPECT(!strcmp(got, kind & 1 ? "kl" : "k"));
  return NULL;
}

int main(void) {
  EXPECT(pipe(out) == 0);
  EXPECT(pthread_key_create(&key, tell) == 0);
  for (int kind = 0; kind < 4; kind++) {
    pthread_t t;
    EXPECT(pthread_create(&t, NULL, forks, &kind) == 0);
    EXPECT(pthread_join(t, NULL) == 0);
  }
  return 0;
}
