/* tests/model/wake.pml -- submit against retire: no runnable G waits beside an idle P.
 *
 * What it is
 *   Mirrors src/core/idle.h (spinning, wakep), src/core/find.cc (the tail of find_runnable) and the
 *   submitters. NP Ps, NM Ms; a G is only a count in a P's queue or in the global one. A running G may
 *   submit more Gs (LEFT in all) and then ends at once, or is a hog: it runs until nothing is
 *   queued or until hogs hold all Ps. So a G left beside an idle P shows as a standstill even though
 *   other Ms are busy -- work conservation, not just absence of deadlock.
 *
 * Who touches what
 *   rq[p]        stored by the owner, taken by CAS by all
 *   gq, idle Ps, idle Ms, needspinning: under sched.lock (one atomic step here; unlock flushes)
 *   nmspinning   RMW by all
 *
 * Memory orders
 *   [dekker] submit: store the work | fence | load nmspinning
 *            retire: nmspinning--   | fence | load all queues
 *   Both stores are explicit: each M has a one-entry store buffer that a Flusher drains whenever it
 *   likes, a fence waits for it. The decrement is buffered too, for a seq_cst fetch_sub alone does not
 *   keep later acquire loads behind it on every CPU (AArch64 with LSE). With the fences one side
 *   always sees the other. Without either, both may see the old world.
 *   Submitting to the global queue needs no fence: the lock orders it against the re-check.
 *
 * Weakenings, each of which must fail
 *   WEAK_NO_FENCE_SUBMIT    release store, then load: MOV;MOV on x86
 *   WEAK_NO_FENCE_RETIRE    decrement, then loads
 *   WEAK_RESCAN_FIRST       re-scan, then decrement: a submit between both is skipped by both
 *   WEAK_NO_NEEDSPINNING    wakep found no idle P while an M that does not spin (it saw our own
 *                           transient nmspinning=1) was about to release its P
 *   WEAK_NO_GLOBAL_RECHECK  retire re-scans the Ps only
 *   WEAK_NO_CHAIN           an M that found work while spinning does not wake the next one
 *   That every retiring spinner re-scans, not only the one that brings the count to 0, is Go's caution
 *   and is kept; with two Ps at most one M retires at a time, so its absence is not shown here.
 *
 * Not here   netpoll and timers as sources of work, idle-P mask, runnext. An M is awaited, not created,
 *            when none is idle.
 * Lineage    Go runtime: findRunnable steps 10-16, wakep, startm, resetspinning, pidlegetSpinning.
 *
 * @base  two-ps    -DNP=2 -DNM=3 -DLEFT=3
 * @quick two-ps    -DNP=2 -DNM=3 -DLEFT=2
 */
#ifdef WEAK_NO_CHAIN
#undef  NP
#undef  NM
#define NP 3
#define NM 4
#endif
#ifndef NP
#define NP 2
#endif
#ifndef NM
#define NM 3
#endif
#ifndef LEFT
#define LEFT 2
#endif
#define NONE 9

byte rq[NP], gq;
bit  pidle[NP], midle[NM], note[NM];
byte npidle, nextp[NM];
byte nmspinning;  bit needspinning;
byte sb[NM], sbp[NM];                    /* store buffers: 1 = rq[sbp]++, 2 = nmspinning-- */
byte left = LEFT;
byte queued, nhog;                       /* ghosts */

#define FENCE  sb[id] == 0
#define BUFFER(kind, p)  atomic { sb[id] == 0 -> sb[id] = kind; sbp[id] = p }

/* under sched.lock: a P off the idle list into r, or needspinning */
inline pidle_get_spinning(r) {
  r = 0;
  do
  :: r < NP && !pidle[r] -> r++
  :: r == NP -> r = NONE; needspinning = 1; break
  :: r < NP && pidle[r] -> pidle[r] = 0; npidle--; break
  od
}

inline become_spinning() { atomic { assert(nmspinning < NM); spinning = 1; nmspinning++; needspinning = 0 } }

#ifdef WEAK_RESCAN_FIRST
#define become_spinning_again()  skip
#else
#define become_spinning_again()  FENCE; become_spinning()
#endif

inline wakep() {
  if
  :: nmspinning != 0 -> skip
  :: else ->
     d_step { if :: nmspinning == 0 -> nmspinning = 1; ok = 1 :: else -> ok = 0 fi };
     if
     :: ok ->
        d_step {                                     /* sched.lock */
          pidle_get_spinning(q);
          if :: q == NONE -> assert(nmspinning > 0); nmspinning-- :: else fi
        };
        if
        :: q != NONE ->                              /* start_m(q, spinning) */
           atomic {
             if
             :: midle[0] -> m = 0
             :: midle[1] -> m = 1
             :: midle[2] -> m = 2
#if NM > 3
             :: midle[3] -> m = 3
#endif
             fi;
             midle[m] = 0; nextp[m] = q; note[m] = 1; m = 0
           }
        :: else
        fi;
        q = 0
     :: else
     fi;
     ok = 0
  fi
}

inline submit() {
  if
  :: atomic { BUFFER(1, p); queued++ };
#ifndef WEAK_NO_FENCE_SUBMIT
     FENCE;                                          /* [dekker] */
#endif
     skip
  :: d_step { gq++; queued++ }
  fi;
  wakep()
}

inline run_g() {
  do
  :: atomic { left > 0 -> left-- }; submit()
  :: break
  :: nhog++;
     (queued == 0 || nhog == NP) -> nhog--; break
  od
}

proctype M(byte id; byte p; bit running) {
  byte q, m;
  bit spinning, ok;
  if :: running -> goto exec :: p == NONE -> goto stop :: else fi;

top:
  atomic { FENCE; if :: rq[p] > 0 -> rq[p]--; queued--; goto found :: else fi };
  atomic { if :: gq > 0 -> gq--; queued--; goto found :: else fi };
  if
  :: spinning || 2 * nmspinning < NP - npidle ->
     if :: !spinning -> become_spinning() :: else fi;
     do
     :: atomic {
          if :: q == p -> q++ :: else fi;
          if
          :: q >= NP -> q = 0; break
          :: else -> if :: rq[q] > 0 -> rq[q]--; queued--; q = 0; goto found :: else -> q++ fi
          fi
        }
     od
  :: else
  fi;
  atomic {                                           /* sched.lock: last look, release P */
    if
    :: gq > 0 -> gq--; queued--; goto found
#ifndef WEAK_NO_NEEDSPINNING
    :: gq == 0 && !spinning && needspinning ->
       spinning = 1; nmspinning++; needspinning = 0; goto top
#endif
    :: else -> pidle[p] = 1; npidle++; p = NONE
    fi
  };
  if
  :: spinning ->                                     /* retire */
#ifndef WEAK_RESCAN_FIRST
     spinning = 0;
     BUFFER(2, 0);
#ifndef WEAK_NO_FENCE_RETIRE
     FENCE;                                          /* [dekker] */
#endif
#endif
#ifndef WEAK_NO_GLOBAL_RECHECK
     d_step {                                        /* sched.lock */
       if
       :: gq > 0 ->
          pidle_get_spinning(q);
          if :: q != NONE -> p = q; gq--; queued--; ok = 1 :: else fi
       :: else
       fi;
       q = 0
     };
     if :: ok -> become_spinning_again(); goto found :: else fi;
#endif
     do
     :: atomic { q < NP && rq[q] == 0 -> q++ }
     :: q < NP && rq[q] > 0 ->
        atomic { pidle_get_spinning(p); q = 0; break }   /* no P: look no further */
     :: atomic { q == NP -> q = 0; break }
     od;
     if :: p != NONE -> become_spinning_again(); goto top :: else fi;
#ifdef WEAK_RESCAN_FIRST
     spinning = 0; BUFFER(2, 0);
#endif
     skip
  :: else
  fi;

stop:
  midle[id] = 1;
end_parked:
  atomic { note[id] -> note[id] = 0; p = nextp[id]; nextp[id] = 0; spinning = 1 };
  goto top;

found:
  if
  :: spinning -> atomic { FENCE; ok = 0; assert(nmspinning > 0); spinning = 0; nmspinning-- };
#ifndef WEAK_NO_CHAIN
     wakep()
#endif
  :: else
  fi;
exec:
  run_g();
  goto top
}

inline flush(j) {
  if :: sb[j] == 1 -> rq[sbp[j]]++ :: sb[j] == 2 -> assert(nmspinning > 0); nmspinning-- fi;
  sb[j] = 0; sbp[j] = 0; j = 0
}

active proctype Flusher() {
  byte i;
end:
  do
  :: atomic { sb[0] != 0 -> i = 0; flush(i) }
  :: atomic { sb[1] != 0 -> i = 1; flush(i) }
  :: atomic { sb[2] != 0 -> i = 2; flush(i) }
#if NM > 3
  :: atomic { sb[3] != 0 -> i = 3; flush(i) }
#endif
  od
}
init {
  byte i;
  atomic {
    run M(0, 0, 1);
    i = 1;
    do :: i < NP -> run M(i, i, 0); i++ :: else -> break od;
    do :: i < NM -> run M(i, NONE, 0); i++ :: else -> break od;
    i = 0
  }
  timeout -> assert(queued == 0)
}
