/* tests/model/runq.pml -- the run queue of one P: every G taken once, none lost.
 *
 * What it is
 *   Mirrors src/core/runq.h. A ring (CAP slots here, 256 there) with free-running head and tail,
 *   and one extra slot, runnext. The owner pushes at the tail and pops at the head; any number of
 *   thieves (two here) take half from the head. A full ring sheds its older half to the global
 *   queue, which is not modelled: those Gs count as taken by the owner.
 *
 * Who touches what
 *   tail, slot[]   stored by the owner only, read by all
 *   head           CAS by all
 *   runnext        owner: swap in (CAS loop), CAS to 0; thief: CAS to 0, and only if the ring is empty
 *
 * Invariants
 *   each G is taken exactly once; occupancy <= CAP; a thief's grab fits its buffer (CAP/2);
 *   with OBSERVER: runqempty() says "empty" only if the queue was empty at some moment of the call.
 *
 * Memory orders
 *   [publish] slot store -> tail store-release; thief loads tail with acquire. The owner's slot store
 *             is explicit here: it sits in a one-entry store buffer which a Flusher drains whenever it
 *             likes; release = the tail store waits for the buffer. The owner sees its own entry.
 *   [retire]  the takers' slot loads come before the head CAS-release; the owner loads head with
 *             acquire before it overwrites a slot. A load that slips below the CAS is the same thing
 *             as copying after it, so that is how it is weakened.
 *   [guess]   a thief may read a slot that is being overwritten: the value counts only if the CAS holds.
 *   Head before tail in the thief is for progress only: an old tail under a new head wraps to a huge
 *   count, and an old head under a new tail is refused by the CAS. The size test guards the buffer.
 *
 * Weakenings, each of which must fail
 *   WEAK_TAIL_FIRST     tail stored before the slot, in program order: a thief takes an old slot
 *   WEAK_TAIL_RELAXED   the same through the store buffer: tail relaxed, the slot store is late
 *   WEAK_COPY_AFTER     thief copies after its CAS: the owner has reused the slot
 *   WEAK_STEAL_STORE    thief stores head instead of CAS
 *   WEAK_POP_STORE      owner stores head instead of CAS
 *   WEAK_SHED_STORE     the same when a full ring sheds its half
 *   WEAK_SWAP_PLAIN     runnext swapped by load and store: the thief took the old one meanwhile
 *   WEAK_NEXT_PLAIN     thief takes runnext by load and store
 *   WEAK_TORN           no size test in the thief: old head, new tail, the buffer overflows
 *   WEAK_EMPTY_ONCE     runqempty() without the second look at tail: misses a G kicked from runnext
 *
 * Not here   index wrap-around (a thief asleep for exactly 2^32 pops); batches put at once.
 * Lineage    Go runtime: runqput, runqputslow, runqget, runqgrab, runqempty.
 *
 * @long  ring-4    -DCAP=4 -DN=5 -DTRIES=1
 * @base  ring-2    -DCAP=2 -DN=3 -DTRIES=2
 * @long  ring-2    -DCAP=2 -DN=4 -DTRIES=2
 * @long  observer  -DCAP=2 -DN=4 -DTRIES=1 -DTHIEVES=1 -DOBSERVER
 * @base  observer  -DCAP=2 -DN=3 -DTRIES=1 -DTHIEVES=1 -DOBSERVER
 * @quick ring-2    -DCAP=2 -DN=3 -DTRIES=1
 * @quick observer  -DCAP=2 -DN=2 -DTRIES=1 -DTHIEVES=1 -DOBSERVER
 * @weak  -DCAP=2 -DN=4 -DTRIES=1
 * @slow  WEAK_EMPTY_ONCE WEAK_COPY_AFTER WEAK_SHED_STORE WEAK_TORN WEAK_TAIL_RELAXED
 * @slow  WEAK_SWAP_PLAIN WEAK_POP_STORE
 */
#ifdef WEAK_EMPTY_ONCE
#define OBSERVER
#undef N
#define N 3
#undef THIEVES
#define THIEVES 1
#endif
#ifndef CAP
#define CAP 4
#endif
#ifndef N
#define N 6
#endif
#ifndef TRIES
#define TRIES 2
#endif
#ifndef THIEVES
#define THIEVES 2
#endif

byte head, tail, slot[CAP], runnext;
bit  sb_full;  byte sb_idx, sb_val;      /* the owner's store buffer, one slot store */
byte taken[N + 1], ntaken, done;         /* ghosts */
#ifdef OBSERVER
short present;                           /* ghost: Gs visible in ring and runnext */
bit  emptied;                            /* ghost: was 0 since the observer's call began */
#define GONE(n)  present = present - (n); emptied = emptied || present == 0
#define CAME(n)  present = present + (n)
#else
#define GONE(n)  skip
#define CAME(n)  skip
#endif

#define CAS(v, o, n, ok, ghost) \
  atomic { if :: v == (o) -> v = n; ok = 1; ghost :: else -> ok = 0 fi }

#define OWN_LOAD(ix, r) \
  d_step { if :: sb_full && sb_idx == (ix) % CAP -> r = sb_val :: else -> r = slot[(ix) % CAP] fi }

inline take(g) {
  d_step {
    assert(g != 0); assert(taken[g] == 0);
    taken[g] = 1; ntaken++
  }
}

/* owner: push to the ring's tail, shedding half to the global queue when full.
 * Steps that touch nothing another process can change are joined by atomic. */
inline ring_put(g) {
  do
  :: atomic {
       h = head;                                     /* acquire [retire] */
       if
       :: tail - h < CAP -> h = 0; break
       :: else ->
          i = 0;
          do :: i < CAP / 2 -> OWN_LOAD(h + i, grab[i]); i++ :: else -> i = 0; break od
       fi
     };
#ifdef WEAK_SHED_STORE
     atomic { head = h + CAP / 2; ok = 1;
#else
     atomic { CAS(head, h, h + CAP / 2, ok, GONE(CAP / 2));
#endif
       do :: ok && i < CAP / 2 -> take(grab[i]); i++ :: else -> break od;
       h = 0; i = 0; ok = 0; grab[0] = 0; grab[CAP / 2 - 1] = 0
     }
  od;
#ifdef WEAK_TAIL_FIRST
  atomic { tail++; CAME(1) };
  slot[(tail - 1) % CAP] = g;
#else
  atomic { !sb_full -> sb_full = 1; sb_idx = tail % CAP; sb_val = g };
#ifndef WEAK_TAIL_RELAXED
  !sb_full;                                          /* release [publish] */
#endif
  atomic { tail++; CAME(1) };
#endif
  assert(tail - head <= CAP)
}

inline next_put(g) {
  do
  :: old = runnext;
#ifdef WEAK_SWAP_PLAIN
     atomic { runnext = g; ok = 0; break };
#else
     atomic {
       if
       :: runnext == old -> runnext = g;
          if :: old == 0 -> CAME(1) :: else fi;
          break
       :: else -> old = 0
       fi
     }
#endif
  od;
  if :: old != 0 -> ring_put(old); old = 0 :: else fi
}

inline get() {
  old = runnext;
  if
  :: old != 0 ->
     atomic {
       CAS(runnext, old, 0, ok, GONE(1));            /* no retry: failure = stolen */
       if :: ok -> got = old; take(got) :: else fi;
       ok = 0; old = 0
     }
  :: else
  fi;
  do
  :: atomic { got != 0 -> break }
  :: atomic {
       got == 0 ->
       h = head;
       if :: h == tail -> h = 0; break :: else -> OWN_LOAD(h, old) fi
     };
#ifdef WEAK_POP_STORE
     atomic { head = h + 1; ok = 1;
#else
     atomic { CAS(head, h, h + 1, ok, GONE(1));
#endif
       if :: ok -> got = old; take(got) :: else fi;
       ok = 0; old = 0; h = 0
     }
  od
}

active proctype Owner() {
  byte h, i, old, got, made, grab[CAP / 2];
  bit ok;
  do
  :: made < N -> made++; next_put(made)
  :: made < N -> made++; ring_put(made)
  :: made < N && made > 0 -> get(); got = 0
  :: made == N -> break
  od;
  do :: get(); if :: got == 0 -> break :: else -> got = 0 fi od;
  done == THIEVES;
  assert(ntaken == N)
}

active [THIEVES] proctype Thief() {
  byte h, t, n, i, k, buf[CAP / 2];
  bit ok;
  do
  :: k == TRIES -> break
  :: atomic { k < TRIES -> k++; h = head };
     atomic {
       t = tail;                                     /* acquire [publish] */
       n = t - h;
       n = n - n / 2;
       t = 0
     };
     if
     :: n == 0 ->
        h = runnext;
        if
        :: h != 0 ->
#ifdef WEAK_NEXT_PLAIN
           runnext = 0; take(h)
#else
           atomic {
             CAS(runnext, h, 0, ok, GONE(1));
             if :: ok -> take(h) :: else fi
           }
#endif
        :: else
        fi
#ifndef WEAK_TORN
     :: n > CAP / 2 -> skip
#endif
     :: else ->
        assert(n <= CAP / 2);
#ifdef WEAK_COPY_AFTER
        CAS(head, h, h + n, ok, GONE(n));
#endif
        do :: i < n -> buf[i] = slot[(h + i) % CAP]; i++ :: else -> break od;
        atomic {
#ifdef WEAK_STEAL_STORE
          head = h + n; ok = 1;
#else
#ifndef WEAK_COPY_AFTER
          CAS(head, h, h + n, ok, GONE(n));          /* release [retire] */
#endif
#endif
          i = 0;
          do :: ok && i < n -> take(buf[i]); i++ :: else -> break od
        }
     fi;
     atomic { h = 0; n = 0; i = 0; ok = 0; buf[0] = 0; buf[CAP / 2 - 1] = 0 }
  od;
  done++
}

active proctype Flusher() {
end:
  do :: atomic { sb_full -> slot[sb_idx] = sb_val; sb_full = 0; sb_idx = 0; sb_val = 0 } od
}

#ifdef OBSERVER
active proctype Observer() {
  byte h, t, r;
  emptied = (present == 0);
  do
  :: h = head;
     t = tail;
     r = runnext;
#ifndef WEAK_EMPTY_ONCE
     if :: t != tail -> skip :: else -> break fi
#else
     break
#endif
  od;
  assert(!(h == t && r == 0) || emptied)
}
#endif
