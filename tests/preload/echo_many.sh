#!/bin/bash
# preload/echo_many.sh -- thousands of connections, a thread for each: every request is answered, with its own bytes.
#
# The client is another process and never preloaded.
# timeout: 400
set -u
prog=$TMPDIR/echo
gcc -O1 -D_GNU_SOURCE -pthread -I"$TOP/tests/lib" "$TOP/tests/preload/echo.c" -o "$prog" || exit 1
ulimit -n "$(ulimit -Hn)"
files=$(ulimit -n)

# one CONNECTIONS REQUESTS NAME=VALUE...
one() {
  local connections=$1 requests=$2 server port='' status
  shift 2
  if [ "$files" != unlimited ] && (( files < connections + 100 )); then
    echo "$connections connections: skipped, only $files descriptors"
    return
  fi
  : >"$TMPDIR/port"
  timeout -k 5 110 env "$@" "$prog" server echo "$connections" >"$TMPDIR/port" &
  server=$!
  for (( i = 0; i < 200; i++ )); do
    read -r port <"$TMPDIR/port" && break
    sleep 0.1
  done
  timeout -k 5 110 "$prog" client "$port" "$connections" "$requests" || { echo "$connections connections, $*: the client failed"; kill "$server"; exit 1; }
  wait "$server"
  status=$?
  (( status == 0 )) || { echo "$connections connections, $*: the server's status is $status"; exit 1; }
  echo "$connections connections, $*: good"
}

one 1000 20 NATIVE=1
for procs in 1 2; do
  one 5000 20 LD_PRELOAD="$LIBGMP" GOMAXPROCS=$procs
  one 15000 5 LD_PRELOAD="$LIBGMP" GOMAXPROCS=$procs
done
