/* tests/model/accept.pml -- accept: no thread sleeps beside a connection that waits.
 *
 * What it is
 *   Mirrors src/rt/sock.cc io_accept over src/core/netpoll.{h,cc}. The kernel's queue holds conns connections.
 *   Once the listener is registered each arrival makes an edge, and so does registering if something waits;
 *   edges not yet fetched merge, and one is dropped if the queue is empty when the poller comes for it. What
 *   was fetched may be counted long after its connection was taken. Of N acceptors one at a time has the turn
 *   (kAccepting): it counts the queue (TCP_INFO), unless some are known from an earlier count, and accepts one;
 *   after the last of those counted, who samples the edge from before the count parks without asking
 *   (known_empty). An acceptor is woken by the poller or by one that accepted; after a call it comes again or
 *   leaves for good. It may be cancelled before it waits, while it waits and inside accept (CANCELS in all).
 *   An accept may fail (EMFILE and the like) and leave the connection where it is (FAILS in all).
 *   With OTHER a thread outside the turn takes one as well, then it forgets the count (io_accepted,
 *   O_NONBLOCK). ASKS is a listener that others share: poll tells whether one waits, nothing is remembered,
 *   and OTHER is another process.
 *
 * Who touches what
 *   edges       counted under the lock by the poller and by fd_more; loaded by all
 *   accepting   the flag kAccepting: taken and given back by RMW
 *   pending     connections known to wait: stored and counted down with the flag held; set to 0 by any
 *   counted_at  the edge from before the count; with the flag held
 *   drained     hint, 0 = no: stored with the flag held, loaded without
 *   wq          waiters, FIFO, under the lock; reg likewise, loaded without
 *   A hold of the lock that writes at most one thing that others read without it is one step; the others
 *   (counting and waking, registering and linking) hold L.
 *
 *   Acceptor: s = edges; drained == s and registered: wait. Take the flag; held by another: wait. Nothing
 *   pending: count; counted_at = s, pending = n; if still nothing, give it back; edges != s: again; else wait.
 *   Accept; pending n -> n - 1 if it is still n and the call went well, else 0. Was it the last: drained =
 *   counted_at. Give the flag back. Count an edge (fd_more) if some are left, the call failed, the count was
 *   forgotten, the listener is not registered, or edges is not counted_at as it was before the flag was given
 *   back. Wake the next (done).
 *   Wait: cancelled? lock; edges != s: again; else register, link, unlock, park.
 *
 * Invariants
 *   at a standstill no acceptor is parked while a connection waits and nobody is blocked in accept; the flag
 *   is free then. The kernel gives each connection away once, so all are taken as long as an acceptor stays.
 *   accept is not called with the flag held on an empty queue, unless one was taken outside the turn while
 *   the turn lasted, or its taker has not yet forgotten the count, or did so between TCP_INFO and the store
 *   that follows it (stale): then the call blocks as it would natively.
 *   while drained is believed the queue is empty or an edge is under way.
 *
 * Weakenings, each of which must fail
 *   WEAK_SAMPLE_LATE     edges sampled after the flag was found held or nothing pending
 *   WEAK_NO_MORE         connections are left and no edge is counted: who was turned away meanwhile waits on the
 *                        old number
 *   WEAK_ASKED_NO_MORE   so, where poll is asked
 *   WEAK_MORE_EARLY      the edge is counted before the flag is given back: turned away after it
 *   WEAK_NO_BATON        success does not wake the next
 *   WEAK_FAIL_NO_MORE    a failed accept counts no edge
 *   WEAK_FAIL_COUNTS     a failed accept uses up one of those counted
 *   WEAK_LEAVE           who found nothing leaves (cancelled) though an edge came since its sample: a woken
 *                        one was turned away meanwhile
 *   WEAK_LAST_NO_LOOK    no look at edges after the last one was taken: whom an edge since the count woke found
 *                        the flag held, and waits with that edge seen
 *   WEAK_COUNT_FIRST     counted_at sampled after the count: one came in between, and so did its edge
 *   WEAK_COUNTED_MOVES   counted_at is each taker's sample, not the counter's
 *   WEAK_DRAINED_UNREG   drained stored and believed while nothing that comes makes an edge
 *   WEAK_UNASKED         an edge since the count is taken for a connection: it is counted late
 *   WEAK_KEEPS_COUNT     who takes one outside the turn does not forget the count
 *   WEAK_NO_CAS          pending counted down by a plain store: it was set to 0 meanwhile
 *   WEAK_CANCEL_HOLDS    cancelled inside accept, the flag stays taken
 *
 * Not here   close and another socket under the number (gen), hang-ups, a listener that becomes shared.
 *
 * @base  two        -DN=2 -DCONNS=2 -DCANCELS=0 -DFAILS=0 -DOTHER=1
 * @base  fails      -DN=2 -DCONNS=1 -DCANCELS=1 -DFAILS=1
 * @base  asks       -DN=2 -DCONNS=2 -DCANCELS=0 -DFAILS=0 -DOTHER=1 -DASKS
 * @long  three      -DN=3 -DCONNS=1 -DCANCELS=0 -DFAILS=0
 * @long  conns      -DN=2 -DCONNS=3 -DCANCELS=0 -DFAILS=0
 * @long  fails      -DN=2 -DCONNS=2 -DCANCELS=0 -DFAILS=1
 * @long  cancels    -DN=2 -DCONNS=2 -DCANCELS=1 -DFAILS=0
 * @long  asks-fails -DN=2 -DCONNS=2 -DCANCELS=1 -DFAILS=1 -DASKS
 * @quick two        -DN=2 -DCONNS=1 -DCANCELS=0 -DFAILS=0 -DOTHER=1
 * @quick asks       -DN=2 -DCONNS=1 -DCANCELS=0 -DFAILS=0 -DOTHER=1 -DASKS
 * @weak  -DN=2 -DCONNS=2 -DCANCELS=0 -DFAILS=0
 * @slow  WEAK_NO_CAS WEAK_KEEPS_COUNT WEAK_NO_MORE WEAK_LEAVE
 */
#ifdef WEAK_ASKED_NO_MORE
#define WEAK_NO_MORE
#define ASKS
#endif
#if defined(WEAK_FAIL_NO_MORE) || defined(WEAK_FAIL_COUNTS)
#undef  FAILS
#define FAILS 1
#undef  CONNS
#define CONNS 1
#endif
#if defined(WEAK_LEAVE) || defined(WEAK_CANCEL_HOLDS)
#undef  CANCELS
#define CANCELS 1
#undef  CONNS
#define CONNS 1
#endif
#if defined(WEAK_COUNT_FIRST) || defined(WEAK_COUNTED_MOVES) || defined(WEAK_DRAINED_UNREG) || defined(WEAK_UNASKED)
#undef  N
#define N 1
#endif
#ifdef WEAK_COUNTED_MOVES
#undef  CONNS
#define CONNS 3
#endif
#ifdef WEAK_UNASKED                      /* one connection and registered: all edges are the poller's */
#undef  CONNS
#define CONNS 1
#define REGISTERED 1
#endif
#if defined(WEAK_KEEPS_COUNT) || defined(WEAK_NO_CAS)
#undef  OTHER
#define OTHER 1
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
#ifndef OTHER
#define OTHER 0
#endif
#ifndef REGISTERED
#define REGISTERED 0
#endif

byte conns;  bit reg = REGISTERED, edge; /* the kernel */
byte edges = 1;
byte pending, counted_at, drained;       /* drained: 0 = no */
bit  L, accepting;
chan wq = [N] of { byte };
bit  parked[N], go[N], claimed[N];
byte cancels = CANCELS, fails = FAILS;

bit  fetched;                            /* ghosts: an edge not yet counted */
bit  inside;                             /* blocked in accept with the flag held */
bit  other;                              /* the other has taken one and not yet forgotten the count */
bit  raced;                              /* it took one since this turn began */
bit  counting, stale;                    /* between TCP_INFO and the store; its 0 was overwritten */

/* under the lock: the first whose wait is not over */
inline wake_one(x) {
  do
  :: wq?x -> if :: !claimed[x] -> claimed[x] = 1; go[x] = 1; break :: else fi
  :: empty(wq) -> break
  od;
  x = 0
}

#define link()  wq!id; claimed[id] = 0; parked[id] = 1; s = 0

active proctype Kernel() {
  byte k;
  do
  :: atomic { k < CONNS -> conns++; edge = reg; k++ }
  :: atomic { cancels > 0 -> cancels-- }             /* or fewer */
  :: k == CONNS -> break
  od
}

active proctype Other() {
  if
  :: atomic { OTHER && conns > 0 -> conns--; raced = 1; other = 1 };
#if !defined(ASKS) && !defined(WEAK_KEEPS_COUNT)
     atomic { pending = 0; stale = counting; other = 0 }
#else
     other = 0
#endif
  :: skip
  fi
}

active proctype Poller() {
  byte x;
end:
  do
  :: atomic { edge -> edge = 0; if :: conns == 0 -> goto end :: else -> fetched = 1 fi };
     atomic { !L -> L = 1; edges++; fetched = 0 };
     atomic { wake_one(x); L = 0 }
  od
}

#ifdef WEAK_DRAINED_UNREG
#define REG     true
#else
#define REG     reg
#endif
#ifdef WEAK_NO_MORE
#define LEFT    0
#else
#define LEFT    1
#endif
#ifdef WEAK_FAIL_NO_MORE
#define FAILED  0
#else
#define FAILED  1
#endif

active [N] proctype Acceptor() {
  byte id, s, n, at, x;
  bit ok;
  id = _pid - 3;
again:
  s = edges;
  if
  :: atomic { drained == s && REG -> assert(conns == 0 || edge || fetched || edges != s) };
     goto wait
  :: else
  fi;
  atomic { ok = !accepting; accepting = 1 };
  if
  :: ok ->
     atomic { n = pending; if :: !other && !stale -> raced = 0 :: else fi };
#ifdef ASKS
     n = conns > 0;                                  /* poll */
#else
#ifdef WEAK_UNASKED
     if :: n == 0 && counted_at && s != counted_at -> counted_at = s; n = 1; pending = 1 :: else fi;
#endif
     if
     :: n == 0 ->
        atomic { n = conns; counting = n > 0; stale = 0 };
#ifdef WEAK_COUNT_FIRST
        s = edges;
#endif
        if :: n > 0 -> atomic { counted_at = s; pending = n; counting = 0 } :: else fi
     :: else
     fi;
#ifdef WEAK_COUNTED_MOVES
     counted_at = s;
#endif
#endif
     if
     :: n > 0 ->
        atomic { assert(conns > 0 || raced); inside = 1; s = 0 };
end_accept:
        if
        :: atomic { conns > 0 -> conns--; inside = 0 }
        :: atomic { conns > 0 && fails > 0 -> fails--; inside = 0; ok = 0 }
        :: atomic { cancels > 0 -> cancels--; inside = 0; ok = 0 };
#ifdef WEAK_CANCEL_HOLDS
           goto gone;
#endif
           skip
        fi;
#ifdef ASKS
        if :: ok -> x = LEFT :: else -> x = FAILED fi;
#else
        atomic {                                     /* accepted() */
          if
#ifdef WEAK_FAIL_COUNTS
          :: pending == n -> pending = n - 1
#elif defined(WEAK_NO_CAS)
          :: ok -> pending = n - 1
#else
          :: pending == n && ok -> pending = n - 1
#endif
          :: else -> pending = 0; x = FAILED; n = 0
          fi
        };
        if
        :: n > 1 -> x = LEFT
        :: n == 1 && !REG -> x = 1
        :: n == 1 && REG -> drained = counted_at
        :: n == 0
        fi;
#endif
        atomic { n = 0; at = counted_at };
#ifdef WEAK_MORE_EARLY
        if :: x || edges != at -> atomic { !L -> edges++ } :: else fi;
        accepting = 0;
#else
        accepting = 0;
#if defined(ASKS) || defined(WEAK_LAST_NO_LOOK)
        if :: x -> atomic { !L -> edges++ } :: else fi;
#else
        if :: x || edges != at -> atomic { !L -> edges++ } :: else fi;
#endif
#endif
        atomic { x = 0; at = 0; ok = 0 };
#ifndef WEAK_NO_BATON
        if
        :: len(wq) > 0 -> atomic { !L -> wake_one(x) }
        :: else
        fi;
#endif
        if :: goto again :: goto gone fi
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
wait:
  if :: atomic { cancels > 0 -> cancels--; goto gone } :: skip fi;
  if
  :: atomic { !L && s != edges -> goto again }
  :: atomic { !L && s == edges && reg -> link() }
  :: atomic { !L && s == edges && !reg -> L = 1; reg = 1; edge = conns > 0 };
     atomic { link(); L = 0 }
  fi;
end_parked:
  if
  :: atomic { go[id] -> go[id] = 0; parked[id] = 0 }; goto again
  :: atomic { cancels > 0 && !claimed[id] -> cancels--; claimed[id] = 1; parked[id] = 0 };
     atomic { !L -> if :: wq??[eval(id)] -> wq??eval(id) :: else fi }
  fi;
gone:
  s = 0; n = 0; x = 0
}

init {
  byte i;
  timeout ->
  assert(inside || !accepting);
  do
  :: i < N -> assert(!(parked[i] && conns > 0 && !inside)); i++
  :: else -> break
  od
}
