#!/bin/bash
# A library preloaded beside ours, in front or behind, may have the same names and make them of numbered system calls, as allocators do.
set -u
dir=$(mktemp -d "${TMPDIR:-/tmp}/other.XXXXXX")
trap 'rm -rf "$dir"' EXIT

cat >"$dir/other.c" <<'C'
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
int other_calls;
void* mmap(void* p, size_t n, int prot, int flags, int fd, off_t at) {
  __atomic_add_fetch(&other_calls, 1, __ATOMIC_SEQ_CST);
  return (void*)syscall(SYS_mmap, p, n, prot, flags, fd, at);
}
ssize_t read(int fd, void* b, size_t n) { return syscall(SYS_read, fd, b, n); }
int close(int fd) { return (int)syscall(SYS_close, fd); }
C
cat >"$dir/prog.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void* thread(void* a) {
  for (int i = 0; i < 50; i++) {
    char b = 0;
    int p[2];
    if (pipe(p) || write(p[1], "x", 1) != 1 || read(p[0], &b, 1) != 1 || b != 'x') return "pipe";
    close(p[0]), close(p[1]);
    char* m = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return "mmap";
    memset(m, 1, 4096);
    munmap(m, 1 << 20);
  }
  return a;
}
int main(void) {
  pthread_t t[8];
  void* r;
  int bad = 0;
  for (int i = 0; i < 8; i++) bad |= pthread_create(&t[i], 0, thread, 0);
  for (int i = 0; i < 8; i++) bad |= pthread_join(t[i], &r) || r;
  return bad;
}
C
${CC:-gcc} -O1 -shared -fPIC -o "$dir/other.so" "$dir/other.c" && ${CC:-gcc} -O1 -pthread -o "$dir/prog" "$dir/prog.c" || exit 1

bad=0
for order in "$dir/other.so" "$dir/other.so:$LIBGMP" "$LIBGMP:$dir/other.so"; do
  LD_PRELOAD=$order timeout -s KILL 20 "$dir/prog"
  status=$?
  [ $status -eq 0 ] || { echo "LD_PRELOAD=${order//$dir\//}: status $status"; bad=1; }
done
exit $bad
