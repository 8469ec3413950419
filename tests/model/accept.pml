/* tests/model/accept.pml -- accept: no thread sleeps beside a connection that waits.
 *
 * What it is
 *   Mirrors src/rt/sock.cc io_accept over src/core/netpoll.cc. The kernel's queue holds conns connections;
 *   each arrival makes an edge, edges not yet fetched merge. Of N acceptors one at a time asks poll and
 *   accepts (kAccepting); accept blocks if another process was faster. An acceptor is woken by the poller or
 *   by one that accepted; it may be cancelled before it waits and while it waits (CANCELS in all). An accept
 *   may fail (EMFILE and the like) and leave the connection where it is (FAILS in all).
 *
 * Who touches what
 *   edges      counted under the lock by the poller and by fd_more; loaded by all
 *   accepting  the flag kAccepting: taken and given back by RMW
 *   wq         waiters, FIFO, under the lock
 *
 *   Acceptor: s = edges; take the flag. Held by another: wait. Nothing pending: give it back, wait. Else
 *   accept, give it back, count an edge (fd_more), wake the next (done). Wait: cancelled? lock; edges != s:
 *   again; else link, unlock, park.
 *
 * Invariants, at a standstill
 *   no acceptor is parked while a connection waits and nobody is blocked in accept; the flag is free then.
 *
 * Weakenings, each of which must fail
 *   WEAK_SAMPLE_LATE     edges sampled after the flag was found held or nothing pending
 *   WEAK_NO_MORE         success counts no edge: who was turned away meanwhile waits on the old number
 *   WEAK_MORE_EARLY      the edge is counted before the flag is given back: turned away after it
 *   WEAK_NO_BATON        success does not wake the next
 *   WEAK_FAIL_NO_MORE    a failed accept counts no edge
 *   WEAK_LEAVE           who found nothing leaves (cancelled) though an edge came since its sample: a woken
 *                        one was turned away meanwhile
 *   WEAK_CANCEL_HOLDS    cancelled inside accept, the flag stays taken
 *
 * @base  two     -DN=2 -DCONNS=2 -DCANCELS=0 -DFAILS=0
 * @long  three   -DN=3 -DCONNS=1 -DCANCELS=0 -DFAILS=0
 * @base  fails   -DN=2 -DCONNS=1 -DCANCELS=1 -DFAILS=1
 * @long  fails   -DN=2 -DCONNS=2 -DCANCELS=1 -DFAILS=1
 * @quick two     -DN=2 -DCONNS=1 -DCANCELS=0 -DFAILS=0
 * @weak  -DN=2 -DCONNS=2 -DCANCELS=1 -DFAILS=0
 * @slow  WEAK_MORE_EARLY WEAK_SAMPLE_LATE WEAK_NO_MORE
 */
#ifdef WEAK_FAIL_NO_MORE
#undef  FAILS
#define FAILS 1
#undef  CONNS
#define CONNS 1
#endif
#ifndef N
#define N 2
#endif
#ifndef CONNS
#define CONNS 2
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef FAILS
#define FAILS 1
#endif

byte conns;  bit edge;                   /* the kernel */
byte edges;
bit  L, accepting;
chan wq = [N] of { byte };
bit  parked[N], go[N], claimed[N];
byte cancels = CANCELS, fails = FAILS;
byte inside;                             /* ghost: blocked in accept */

#define LOCK    atomic { !L -> L = 1 }
#define UNLOCK  L = 0

/* under the lock: the first whose wait is not over */
inline wake_one(x) {
  do
  :: wq?x -> if :: !claimed[x] -> claimed[x] = 1; go[x] = 1; break :: else fi
  :: empty(wq) -> break
  od;
  x = 0
}

active proctype Kernel() {
  byte k;
  do
  :: atomic { k < CONNS -> conns++; edge = 1; k++ }
  :: atomic { cancels > 0 -> cancels-- }             /* or fewer */
  :: k == CONNS -> break
  od
}

active proctype Other() {                /* another process accepts at most one */
  if :: atomic { conns > 0 -> conns-- } :: skip fi
}

active proctype Poller() {
  byte x;
end:
  do
  :: atomic { edge -> edge = 0 };
     LOCK;
     edges++;
     atomic { wake_one(x); UNLOCK }
  od
}

active [N] proctype Acceptor() {
  byte id, s, x;
  bit ok;
  id = _pid - 3;
again:
#ifndef WEAK_SAMPLE_LATE
  s = edges;
#endif
  atomic { ok = !accepting; accepting = 1 };
  if
  :: ok ->
     ok = conns > 0;                                 /* poll */
     if
     :: ok ->
        inside++;
end_accept:
        if
        :: atomic { conns > 0 -> conns--; inside-- }
        :: atomic { conns > 0 && fails > 0 -> fails--; inside--; ok = 0 }
        :: atomic { cancels > 0 -> cancels--; inside--; ok = 0 };
#ifdef WEAK_CANCEL_HOLDS
           goto gone;
#endif
           skip
        fi;
#ifdef WEAK_MORE_EARLY
        atomic { !L -> edges++ };
        accepting = 0;
#else
        accepting = 0;
#ifndef WEAK_NO_MORE
#ifdef WEAK_FAIL_NO_MORE
        if :: ok -> atomic { !L -> edges++ } :: else fi;
#else
        atomic { !L -> edges++ };                    /* fd_more */
#endif
#endif
#endif
#ifndef WEAK_NO_BATON
        if
        :: nempty(wq) -> LOCK; atomic { wake_one(x); UNLOCK }
        :: else
        fi;
#endif
        goto gone
     :: else
     fi;
     accepting = 0;
#ifndef WEAK_LEAVE
     if :: s != edges -> goto again :: else fi
#endif
  :: else
  fi;
#ifdef WEAK_SAMPLE_LATE
  s = edges;
#endif
  if :: atomic { cancels > 0 -> cancels--; goto gone } :: skip fi;
  LOCK;
  if :: s != edges -> atomic { UNLOCK; goto again } :: else fi;
  atomic { wq!id; claimed[id] = 0; parked[id] = 1; UNLOCK };
end_parked:
  if
  :: atomic { go[id] -> go[id] = 0; parked[id] = 0 }; goto again
  :: atomic { cancels > 0 && !claimed[id] -> cancels--; claimed[id] = 1; parked[id] = 0 };
     LOCK;
     atomic { if :: wq??[eval(id)] -> wq??eval(id) :: else fi; UNLOCK }
  fi;
gone:
  skip
}

init {
  byte i;
  timeout ->
  assert(inside > 0 || !accepting);
  do
  :: i < N -> assert(!(parked[i] && conns > 0 && inside == 0)); i++
  :: else -> break
  od
}
