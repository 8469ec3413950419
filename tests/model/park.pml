/* tests/model/park.pml -- park and ready: one wait word per G, claimed once.
 *
 * What it is
 *   Mirrors src/core/park.h and the bucket queues of the wait table built on it. Waiters play a
 *   condition variable with a predicate: take a token under the user lock U, or wait. A signaller
 *   adds tokens and signals once for each. Timed waits have a timer that fires at any time, also
 *   after the wait is over; an interrupter (signal, cancel) aims at one G.
 *
 * Who touches what
 *   word = (seq, state)  one atomic word. The waiter stores it when it arms; otherwise CAS only.
 *        IDLE -> ARMED            waiter, with a new seq
 *        ARMED -> PARKED          commit, on g0, after the switch
 *        ARMED|PARKED -> woken    the one waker that wins; the woken state IS the reason
 *   node                 on the waiter's stack; linked and unlinked under the bucket lock B
 *   pend                 interrupt flag of the G
 *
 *   Waiter: lock U, arm, lock B, link node, unlock B, unlock U, start the timer, look at pend, switch
 *   to g0, commit. A failed commit goes on at once. A wake that is no signal locks B and unlinks.
 *   Waker: claim by CAS with the seq it saw. Only the winner readies, and only if it replaced PARKED.
 *   A signaller claims under B and, when the claim fails, goes on to the next node.
 *
 * Invariants
 *   no waiter stays parked while a token or its interrupt is there; a G is readied only when it is off
 *   its CPU, and once; a timer wakes only the wait it was started for; a node is read only while it
 *   lives; a wait that ended by time or interrupt has not eaten a signal (its token would be left).
 *
 * Memory orders
 *   Every RMW on word is acq_rel. [dekker] pend store | word load against arm store | pend load needs
 *   a full fence on both sides; all else is ordered by B or by the word itself. The model is
 *   sequentially consistent; a relaxed pend is the same as reading it before arming, shown below.
 *   The reason must be part of the word: a waiter whose commit failed reads it at once.
 *
 * Weakenings, each of which must fail
 *   WEAK_COMMIT_STORE     commit stores PARKED over a claim: lost wake-up
 *   WEAK_NO_SEQ           claim ignores seq: an old timer ends a later wait
 *   WEAK_CLAIM_UNLOCKED   node read after B is dropped: its owner has timed out and gone
 *   WEAK_NO_RETRY         signaller gives up when its claim fails: the signal is lost
 *   WEAK_READY_ARMED      winner readies a G that is still on its CPU
 *   WEAK_NO_UNLINK        timed-out waiter leaves its node linked
 *   WEAK_REASON_OUTSIDE   reason in a field of its own, stored after the claim: read too early
 *   WEAK_INTR_EARLY       pend looked at before arming: lost interrupt
 *   With -DCOPIED the signaller copies (G, seq) out of the node and claims after dropping B. This
 *   passes: G memory is never freed and the seq decides. Legal, if the hold time of B should matter.
 *
 * Not here   broadcast, requeue, M parking. Wait numbers wrap at 2^30 or more, out of reach of a timer.
 * Lineage    Go runtime: gopark's commit function, selectDone, timer seq; Linux futex buckets.
 *
 * @base  locked     -DROUNDS=2 -DTOKENS=1
 * @long  tokens     -DROUNDS=2 -DTOKENS=2
 * @long  interrupt  -DROUNDS=1 -DTOKENS=1 -DINTERRUPT
 * @long  copied     -DROUNDS=2 -DTOKENS=1 -DCOPIED
 * @base  interrupt  -DW=1 -DROUNDS=2 -DTOKENS=1 -DINTERRUPT
 * @quick locked     -DROUNDS=1 -DTOKENS=1
 * @quick stale      -DW=1 -DROUNDS=2 -DTOKENS=1
 * @quick interrupt  -DW=1 -DROUNDS=2 -DTOKENS=1 -DINTERRUPT
 * @slow  WEAK_NO_RETRY WEAK_COMMIT_STORE
 * @slow  WEAK_REASON_OUTSIDE
 */
#ifdef WEAK_INTR_EARLY
#define INTERRUPT
#undef  W
#undef  ROUNDS
#undef  TOKENS
#define W 1
#define ROUNDS 1
#define TOKENS 0
#endif
#ifndef W
#define W 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef TOKENS
#define TOKENS 1
#endif
#ifdef WEAK_CLAIM_UNLOCKED
#define COPIED
#endif

#define IDLE   0
#define ARMED  1
#define PARKED 2
#define SIG    3
#define TIME   4
#define INTR   5
#define WOKEN  6                         /* WEAK_REASON_OUTSIDE only */

byte seq[W], st[W];                      /* the wait word, always read and written in one step */
byte reason[W];                          /* WEAK_REASON_OUTSIDE only */
bit  pend[W];
bit  U, B;
byte tokens;
chan q = [W + 1] of { byte, byte };      /* bucket: nodes (g, seq), FIFO */
bit  live[W];                            /* ghost: g's node is on a living frame */
bit  off[W];                             /* ghost: g has left its CPU */
bit  go[W];                              /* readied */
byte tset[W * ROUNDS];                   /* the wait each timer was given; 0 = not started */
bit  tstop[W * ROUNDS];

#define LOCK(l)    atomic { !l -> l = 1 }
#define UNLOCK(l)  l = 0

#ifdef WEAK_NO_SEQ
#define MINE(g, s)  true
#else
#define MINE(g, s)  seq[g] == s
#endif

/* claim the wait s of g: won, and was = the state replaced. A CAS loop, so one step. */
inline claim(g, s, why) {
  atomic {
    if
    :: MINE(g, s) && (st[g] == ARMED || st[g] == PARKED) ->
       assert(why != TIME || seq[g] == s);
       was = st[g]; won = 1;
#ifdef WEAK_REASON_OUTSIDE
       st[g] = WOKEN
#else
       st[g] = why
#endif
    :: else -> won = 0
    fi
  };
#ifdef WEAK_REASON_OUTSIDE
  if :: won -> reason[g] = why :: else fi
#endif
}

inline ready(g) {
  atomic {
#ifndef WEAK_READY_ARMED
    if :: was == PARKED ->
#else
    if :: true ->
#endif
       assert(off[g] && !go[g]);
       go[g] = 1
    :: else
    fi;
    was = 0; won = 0
  }
}

proctype Waiter(byte id) {
  byte r, why, was;
  bit won;
  do
  :: r == ROUNDS && why != SIG -> break
  :: else ->                                         /* a signal obliges to look once more */
     LOCK(U);
     if
     :: atomic { tokens > 0 -> tokens--; UNLOCK(U); why = 0; break }
     :: atomic { tokens == 0 && r == ROUNDS -> UNLOCK(U); why = 0; break }
     :: atomic { tokens == 0 && r < ROUNDS -> why = 0 };
#ifdef WEAK_INTR_EARLY
        won = pend[id];
#endif
        atomic { assert(st[id] == IDLE); seq[id]++; st[id] = ARMED; reason[id] = 0 };
        atomic { !B -> q!id, seq[id]; live[id] = 1 };    /* holds B for this step */
        UNLOCK(U);
        if :: tset[id * ROUNDS + r] = seq[id] :: skip fi;  /* timed or not */
#ifndef WEAK_INTR_EARLY
        won = pend[id];                              /* after arming [dekker] */
#endif
        atomic {
          if :: won -> claim(id, seq[id], INTR) :: else fi;
          won = 0; was = 0
        };
#ifdef WEAK_COMMIT_STORE
        atomic { why = (st[id] == ARMED -> 1 : 0) };
        atomic { if :: why -> st[id] = PARKED; off[id] = 1 :: else fi; why = 0 };
#else
        atomic { if :: st[id] == ARMED -> st[id] = PARKED; off[id] = 1 :: else fi };
#endif
end_parked:
        atomic {
          !off[id] || go[id] ->
          off[id] = 0; go[id] = 0;
#ifdef WEAK_REASON_OUTSIDE
          why = reason[id];
#else
          why = st[id];
#endif
          assert(why == SIG || why == TIME || why == INTR);
          tstop[id * ROUNDS + r] = 1
        };
        if
        :: why != SIG ->
#ifndef WEAK_NO_UNLINK
           atomic { !B -> if :: q??[eval(id), _] -> q??eval(id), _ :: else fi }
#else
           !B
#endif
        :: else -> assert(!(q??[eval(id), _]))
        fi;
        atomic {
          live[id] = 0; st[id] = IDLE;
          if :: why == INTR -> pend[id] = 0 :: else fi;
          if :: why != SIG -> why = 0 :: else fi;
          r++
        }
     fi
  od
}

proctype Timer(byte g; byte r) {
  byte was, s;
  bit won;
end:
  atomic { tset[g * ROUNDS + r] != 0 -> s = tset[g * ROUNDS + r] };
  if
  :: tstop[g * ROUNDS + r] -> skip
  :: true -> claim(g, s, TIME); if :: won -> ready(g) :: else fi
  fi
}

proctype Signaller() {
  byte k, g, s, was;
  bit won;
  do
  :: k == TOKENS -> break
  :: else ->
     k++;
     LOCK(U);
     atomic { tokens++; UNLOCK(U) };
     LOCK(B);
     do
     :: atomic { empty(q) -> UNLOCK(B); break }
     :: atomic { nempty(q) -> q?g, s; assert(live[g]) };
#ifdef COPIED
        UNLOCK(B);
#ifdef WEAK_CLAIM_UNLOCKED
        assert(live[g]);                             /* reads the node here, not under B */
#endif
        claim(g, s, SIG);
        if :: won -> ready(g); break :: else -> LOCK(B) fi
#else
        claim(g, s, SIG);
        if
        :: won -> UNLOCK(B); ready(g); break
#ifdef WEAK_NO_RETRY
        :: else -> UNLOCK(B); break
#else
        :: else -> skip
#endif
        fi
#endif
     od;
     atomic { g = 0; s = 0; was = 0; won = 0 }
  od
}

proctype Interrupter() {
  byte was, s, g;
  bit won;
  if :: g = 0 :: g = W - 1 fi;
  pend[g] = 1;                                       /* [dekker] */
  s = seq[g];
  claim(g, s, INTR);
  if :: won -> ready(g) :: else fi
}

init {
  byte i, j;
  atomic {
    i = 0;
    do
    :: i < W ->
       run Waiter(i);
       j = 0;
       do :: j < ROUNDS -> run Timer(i, j); j++ :: else -> break od;
       i++
    :: else -> break
    od;
    run Signaller();
#ifdef INTERRUPT
    run Interrupter()
#endif
  }
  timeout ->
  i = 0;
  do
  :: i < W -> assert(!(off[i] && (tokens > 0 || pend[i]))); i++
  :: else -> break
  od
}
