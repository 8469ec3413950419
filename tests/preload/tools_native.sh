#!/bin/bash
# Under valgrind and with a sanitizer the library says so in one line and leaves the threads native; UBSan has no opinion of threads.
set -u
dir=$(mktemp -d "${TMPDIR:-/tmp}/tools.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cat >"$dir/prog.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static void* thread(void* a) { return (void*)(long)(syscall(SYS_gettid) > 1 << 22); }
int main(void) {
  pthread_t t;
  void* r;
  if (pthread_create(&t, 0, thread, 0) || pthread_join(t, &r)) return 1;
  puts(r ? "G" : "kernel thread");
  return 0;
}
C
bad=0
expect() {  # WHAT LINES COMMAND...
  local what=$1 lines=$2 out
  shift 2
  out=$(timeout -s KILL 60 "$@" 2>&1)
  if [ "$out" != "$lines" ]; then
    printf '%s: got %s\n' "$what" "$out"
    bad=1
  fi
}
told() { printf 'libgmp: threads stay native under %s\nkernel thread' "$1"; }
for san in address thread undefined; do
  ${CC:-gcc} -fsanitize=$san -pthread -o "$dir/$san" "$dir/prog.c" || exit 1
done
expect asan "$(told "a sanitizer's run-time library")" env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$LIBGMP" "$dir/address"
expect tsan "$(told "a sanitizer's run-time library")" env LD_PRELOAD="$LIBGMP" "$dir/thread"
expect ubsan G env LD_PRELOAD="$LIBGMP" "$dir/undefined"
if command -v valgrind >/dev/null; then
  ${CC:-gcc} -pthread -o "$dir/plain" "$dir/prog.c" || exit 1
  expect valgrind "$(told valgrind)" env LD_PRELOAD="$LIBGMP" valgrind -q "$dir/plain"
fi
exit $bad
