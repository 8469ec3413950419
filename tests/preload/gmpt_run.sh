#!/bin/bash
# gmpt run becomes the program with the library in front of LD_PRELOAD, and its own failures have env(1)'s statuses.
set -u
bad=0
expect() {  # STATUS PATTERN COMMAND...: exit status and a line of the output
  local want=$1 pattern=$2 out status
  shift 2
  out=$("$@" 2>&1)
  status=$?
  if [ $status -ne "$want" ] || ! grep -qE -- "$pattern" <<<"$out"; then
    echo "$*: status $status, wanted $want and a line like $pattern; got: $out"
    bad=1
  fi
}
lib=$BUILD/libgmpthreads.so.0

expect 0 "^LD_PRELOAD=$lib$" gmpt run env
expect 0 "^LD_PRELOAD=$lib:libm.so.6$" env LD_PRELOAD=libm.so.6 gmpt run env
expect 0 '^GOMAXPROCS=3$' gmpt run -p 3 -- env
expect 0 '^GOMAXPROCS=3$' gmpt run --procs=3 env
expect 0 '^GMPT_STATS=1$' gmpt run --stats env
expect 0 "$BUILD/libgmp.so" gmpt run cat /proc/self/maps   # the kernel follows the link
expect 7 '' gmpt run -- sh -c 'exit 7'
expect 0 '^-p$' gmpt run echo -p
expect 0 '^usage: gmpt run' gmpt run --help
expect 0 '^usage: gmpt run' gmpt help run
expect 0 '^gmpt \(gmpthreads\) [0-9]' gmpt --version
for procs in 0 -1 +2 4x '' ' 4' 1025 99999999999999999999; do
  expect 125 'not a number of processors' gmpt run -p "$procs" true
done
expect 125 'needs a number' gmpt run -p
expect 125 'no program' gmpt run
expect 125 'unknown option' gmpt run --nope true
expect 125 'no command' gmpt walk
expect 125 '^usage: gmpt' gmpt
expect 126 'Permission denied' gmpt run /etc/passwd
expect 127 'No such file' gmpt run /nonexistent/program
exit $bad
