#!/bin/bash
# preload/syscall_cost.sh -- an echo on an established connection costs a read and a write; what the library adds is shared by many.
#
# strace -c counts a server's calls in a short run and in a longer one; the difference, for each request or
# connection, is what one costs. The client is native and not counted. Bounds are in thousandths of a call.
# timeout: 180
set -u
command -v strace >/dev/null || { echo "strace is not installed"; exit 77; }
strace -o /dev/null true 2>/dev/null || { echo "strace may not trace here"; exit 77; }
prog=$TMPDIR/echo
gcc -O1 -D_GNU_SOURCE -pthread -I"$TOP/tests/lib" "$TOP/tests/preload/echo.c" -o "$prog" || exit 1

# count OUT PROCS KIND ITEMS [REQUESTS [PAUSE_US]]: a table of calls and names
count() {
  local out=$1 procs=$2 kind=$3 items=$4 requests=${5:-0} pause=${6:-0} server
  : >"$TMPDIR/port"
  timeout 60 strace -f -c -o "$out" -E LD_PRELOAD="$LIBGMP" -E GOMAXPROCS="$procs" -E GMPT_PREEMPT=0 "$prog" server "$kind" "$items" >"$TMPDIR/port" &
  server=$!
  if [ "$kind" != pipe ]; then
    for (( i = 0; i < 200; i++ )); do
      [ -s "$TMPDIR/port" ] && break
      sleep 0.1
    done
    timeout 60 "$prog" client "$(<"$TMPDIR/port")" "$items" "$requests" "$pause" || { echo "the client failed"; exit 1; }
  fi
  wait "$server" || { echo "the server failed"; exit 1; }
}

# difference SHORT LONG ITEMS: name and thousandths of a call per item, for names that differ
difference() {
  awk -v items="$3" '
    $1 ~ /^[0-9.]+$/ && $NF != "total" { n[$NF] += (FILENAME == ARGV[1] ? -$4 : $4) }
    END { for (name in n) if (n[name] != 0) printf "%s %d\n", name, n[name] * 1000 / items }' "$1" "$2"
}

bad=0
# bound WHAT TABLE LIMIT NAMES...: the calls of these names together; "!" first: of all but these
bound() {
  local what=$1 table=$2 limit=$3 got
  shift 3
  got=$(awk -v names=" $* " '
    BEGIN { not = names ~ / ! / }
    (index(names, " " $1 " ") > 0) != not { sum += $2 }
    END { print sum + 0 }' <<<"$table")
  printf '%-28s %-44s %5d of %5d\n' "$what" "$*" "$got" "$limit"
  if (( got > limit )); then
    echo "too many:"
    echo "$table"
    bad=1
  fi
}

a=$TMPDIR/a b=$TMPDIR/b
for procs in 1 2; do
  for kind in echo daemon main; do
    what="$kind, GOMAXPROCS=$procs"
    count "$a" $procs $kind 64 20
    count "$b" $procs $kind 64 80
    t=$(difference "$a" "$b" $((64 * 60)))
    bound "$what" "$t" 1050 recvfrom
    bound "$what" "$t" 1010 sendto
    bound "$what" "$t" 10 epoll_ctl
    bound "$what" "$t" 500 epoll_wait epoll_pwait epoll_pwait2
    # Not the monitor's, which go by the clock: strace makes everything slow. futex: kernel threads also wake each other.
    bound "$what" "$t" 50 ! recvfrom sendto epoll_ctl epoll_wait epoll_pwait epoll_pwait2 futex nanosleep clock_gettime openat read close
  done

  count "$a" $procs accept 100
  count "$b" $procs accept 600
  t=$(difference "$a" "$b" 500)
  bound "accept, GOMAXPROCS=$procs" "$t" 1000 accept accept4
  bound "accept, GOMAXPROCS=$procs" "$t" 2100 ! accept accept4 close futex nanosleep clock_gettime openat read
  # One at a time: each finds the server asleep in epoll_wait.
  count "$a" $procs accept 50 0 3000
  count "$b" $procs accept 250 0 3000
  t=$(difference "$a" "$b" 200)
  bound "seldom, GOMAXPROCS=$procs" "$t" 1000 accept accept4
  bound "seldom, GOMAXPROCS=$procs" "$t" 2100 ! accept accept4 close futex nanosleep clock_gettime openat read
done
exit $bad
