#!/bin/bash
# preload/early_threads.sh -- a library of the program may start threads in its constructor, before any constructor of ours; they live on into main.
set -u
cd "$TMPDIR" || exit 1
cat >early.c <<'END'
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int asked, answered;
static void* serves(void* arg) {
  pthread_mutex_lock(&m);
  for (;;) {
    while (asked == answered) pthread_cond_wait(&c, &m);
    answered = asked;
    pthread_cond_broadcast(&c);
  }
  return arg;
}
void ask(void) {
  pthread_mutex_lock(&m);
  int mine = ++asked;
  pthread_cond_broadcast(&c);
  while (answered < mine) pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
}
static void* ends(void* arg) { return arg; }
__attribute__((constructor)) static void early(void) {
  pthread_t t;
  for (int i = 0; i < 4; i++) {
    if (pthread_create(&t, 0, ends, 0) == 0) pthread_join(t, 0);
  }
  if (pthread_create(&t, 0, serves, 0) == 0) ask();
}
END
cat >main.c <<'END'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
void ask(void);
static void* asks(void* arg) {
  for (int i = 0; i < 100; i++) ask();
  return arg;
}
int main(void) {
  alarm(30);
  pthread_t t[8];
  for (int i = 0; i < 8; i++)
    if (pthread_create(&t[i], 0, asks, 0) != 0) return 1;
  for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
  pid_t pid = fork();
  if (pid == 0) _exit(pthread_create(&t[0], 0, asks, 0) != 0);
  int st;
  if (waitpid(pid, &st, 0) != pid || st != 0) return 2;
  ask();
  return 0;
}
END
gcc -O1 -pthread -shared -fPIC early.c -o libearly.so && gcc -O1 -pthread main.c -o program -L. -learly -Wl,-rpath,"$PWD" || exit 1

./program || { echo "native: status $?"; exit 1; }
bad=0
run() {
  timeout 60 env "$@" ./program || { echo "$*: status $?"; bad=1; }
}
for procs in 1 2 4; do
  run LD_PRELOAD="$LIBGMP" GOMAXPROCS=$procs
  run LD_PRELOAD="$LIBGMP:$PWD/libearly.so" GOMAXPROCS=$procs
done
exit $bad
