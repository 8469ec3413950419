#!/bin/sh
# preload/dlopen_caller.sh -- dlopen searches the RUNPATH or RPATH of the object that calls it, and $ORIGIN is that object's folder.
set -eu
mkdir -p a b c
for d in a b c; do echo "int plug(void) { return '$d'; }" | gcc -shared -fPIC -xc - -o "$d/libplug-$d.so"; done
cp b/libplug-b.so c/
cat >both.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#ifndef NAME
#define NAME in_main
#endif
int NAME(const char *file, int want) {
  void *h = dlopen(file, RTLD_NOW), *again = h ? dlopen(file, RTLD_NOW | RTLD_NOLOAD) : 0;
  int (*plug)(void) = h ? (int (*)(void))dlsym(h, "plug") : 0;
  int right = want ? plug && plug() == want && again == h : !h && dlerror();
  if (!right) printf("%s: %s\n", file, h ? "another one" : dlerror());
  if (again) dlclose(again);
  if (h) dlclose(h);
  return !right;
}
C
cat >main.c <<'C'
int in_main(const char *, int), in_lib(const char *, int);
int main(void) {
  return in_main("libplug-a.so", 'a') | in_main("libplug-b.so", 0) | in_main("$ORIGIN/b/libplug-b.so", 'b') |
         in_main("${ORIGIN}/a/libplug-a.so", 'a') | in_lib("libplug-b.so", 'b') |
         in_lib("$ORIGIN/libplug-c.so", 'c');
}
C
gcc -shared -fPIC -DNAME=in_lib -o c/liblib.so both.c -Wl,--enable-new-dtags -Wl,-rpath,'/nowhere:$ORIGIN/../b'
for tags in --enable-new-dtags --disable-new-dtags; do
  gcc -o "main$tags" main.c both.c -Lc -llib -Wl,$tags -Wl,-rpath,'$ORIGIN/a',-rpath,'$ORIGIN/c'
done
# A main program whose path has no $ORIGIN in it: ld.so has not looked for its folder.
gcc -o main--plain main.c both.c -Lc -llib -Wl,-rpath,"$PWD/a:$PWD/c"
rm c/libplug-b.so
for run in ./main--*; do
  "$run"
  LD_PRELOAD=$LIBGMP "$run"
  GMPT_DISABLE=1 LD_PRELOAD=$LIBGMP "$run"
done
