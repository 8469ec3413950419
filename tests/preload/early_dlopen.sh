#!/bin/sh
# preload/early_dlopen.sh -- constructors of the program's libraries run before this library's own, and may call any name.
set -eu
cat >first.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
__attribute__((constructor)) static void first(void) {
  int p[2], s = socket(AF_UNIX, SOCK_STREAM, 0), e = eventfd(0, 0);
  void *self = dlopen(NULL, RTLD_NOW);
  if (s < 0 || e < 0 || pipe(p) || !self || dlclose(self) || close(s) || close(e)) abort();
}
int first_ran(void) { return 1; }
C
cat >main.c <<'C'
int first_ran(void);
int main(void) { return !first_ran(); }
C
gcc -shared -fPIC -o libfirst.so first.c
gcc -o main main.c -L. -lfirst -Wl,-rpath,"$PWD"
./main
LD_PRELOAD=$LIBGMP ./main
