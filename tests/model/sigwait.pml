/* tests/model/sigwait.pml -- a signal or a cancel request finds its thread wherever it is.
 *
 * What it is
 *   Mirrors src/core/park.cc park_on_g0, src/core/loop.cc execute, src/core/signal.cc change_mask,
 *   post_signal and request_cancel. One G goes WAITS times through: run on an M, wait, be woken, be queued,
 *   run again. In program code it may run for ever; then only a kick reaches it. A waker ends waits, a
 *   poster posts once: a signal, or with CANCEL a cancel request, which ends only waits that are
 *   cancellable (the first, not the second). With MASK the signal is blocked until the G opens it.
 *
 * Who touches what
 *   (seq, st)      the wait word, one atomic word. G: arm (store), commit (CAS); others: claim (CAS)
 *   pend           sigpending or cancel_req: poster; taken by the G
 *   on             g->m and m->curg: the G's Ms store them in execute and before commit
 *   cancellable    the G, before commit; cleared after the wait
 *   masked         the G in the runtime
 *
 * Memory orders
 *   [sigwait] commit CAS | fence | load pend     poster: or pend | fence | load word, claim
 *   [run]     on = 1     | fence | load pend     poster: or pend | fence | load word, then on
 *   [mask]    masked = 0 | fence | load pend     poster: or pend | fence | load masked
 *   Stores of the G go through a one-entry store buffer. A CAS without a fence behind it lets later loads
 *   go before its store (AArch64), and the arm before it is a plain store: pend is read first.
 *   The poster loads the word before cancellable: a word of a new wait shows that the old one's flag is gone.
 *
 * Invariants
 *   at a standstill the G is not parked, nor running for ever, with a signal it would take; a cancel never
 *   ends a wait that is not cancellable; a G is readied once.
 *
 * Weakenings, each of which must fail
 *   WEAK_NO_FENCE_PARK     pend read before the arm is seen (before the commit alone would do: the claim of
 *                          an armed wait makes the commit fail)
 *   WEAK_NO_LOOK           no look at pend after the commit
 *   WEAK_NO_FENCE_POST     word read before pend is set
 *   WEAK_NO_FENCE_RUN      on stored, pend loaded without a fence: a kick that is not sent
 *   WEAK_NO_FENCE_MASK     mask opened, pend loaded without a fence
 *   WEAK_COMMIT_STORE      the look's own claim is a store: the waker readies a G that runs
 *   WEAK_CANCELLABLE_LATE  cancellable set after the look
 *   WEAK_CANCEL_ORDER      requester loads cancellable, then the word
 *
 * Not here   the kernel's side of a kick (it stays pending while the M is in the runtime), queued siginfo.
 *
 * @base  signal  -DWAITS=2
 * @base  mask    -DWAITS=2 -DMASK
 * @base  cancel  -DWAITS=2 -DCANCEL
 * @quick signal  -DWAITS=2
 * @quick mask    -DWAITS=1 -DMASK
 * @quick cancel  -DWAITS=2 -DCANCEL
 */
#if defined(WEAK_CANCELLABLE_LATE) || defined(WEAK_CANCEL_ORDER)
#define CANCEL
#endif
#ifdef WEAK_NO_FENCE_MASK
#define MASK
#endif
#ifndef WAITS
#define WAITS 2
#endif

#define NONE   0                         /* st */
#define ARMED  1
#define PARKED 2
#define WOKEN  3
#define INTR   4

byte seq, st;
bit  pend, on, cancellable, masked, kick, go;
bit  forever, asleep;                    /* ghosts: in program code for good; off its M */
byte sb;                                 /* store buffer of the G's M */
#define SET_ON    1
#define CLEAR_ON  2
#define UNMASK    3
#define SET_C     4
#define CLEAR_C   5
#define FENCE      sb == 0
#define BUFFER(k)  atomic { sb == 0 -> sb = k }

#ifdef CANCEL
#define DUE   (pend && w % 2 == 0)       /* the waits with even numbers are cancellable */
#else
#define DUE   pend
#endif

active proctype Buffer() {
end:
  do
  :: atomic { sb != 0 ->
       if
       :: sb == SET_ON -> on = 1
       :: sb == CLEAR_ON -> on = 0
       :: sb == UNMASK -> masked = 0
       :: sb == SET_C -> cancellable = 1
       :: sb == CLEAR_C -> cancellable = 0
       fi;
       sb = 0
     }
  od
}

active proctype G() {
  byte w;
  bit early;
#ifdef MASK
  masked = 1;
#endif

execute:
  BUFFER(SET_ON);
#ifndef WEAK_NO_FENCE_RUN
  FENCE;                                             /* [run] */
#endif
  early = pend;
  if
#ifdef MASK
  :: atomic { early && !masked -> pend = 0; early = 0 }
  :: else -> early = 0
#elif defined(CANCEL)
  :: early = 0                                       /* deferred: the next cancellable wait acts */
#else
  :: atomic { early -> pend = 0; early = 0 }
  :: else
#endif
  fi;
#ifdef MASK
  if
  :: w == WAITS && masked ->                         /* change_mask */
     BUFFER(UNMASK);
#ifndef WEAK_NO_FENCE_MASK
     FENCE;                                          /* [mask] */
#endif
     if :: pend -> pend = 0 :: else fi
  :: else
  fi;
#endif
  if
  :: w == WAITS -> goto user
  :: w < WAITS
  fi;

#ifdef WEAK_NO_FENCE_PARK
  early = DUE;
#endif
  atomic { FENCE; seq++; st = ARMED };
#ifndef WEAK_CANCELLABLE_LATE
  if :: w % 2 == 0 -> BUFFER(SET_C) :: else fi;
#endif
  BUFFER(CLEAR_ON);
  atomic {
    FENCE;
    if
    :: st == ARMED -> st = PARKED; asleep = 1
    :: else -> goto woken
    fi
  };
#ifndef WEAK_NO_FENCE_PARK
  early = DUE;                                       /* [sigwait] */
#endif
#ifdef WEAK_NO_LOOK
  early = 0;
#endif
#ifdef WEAK_CANCELLABLE_LATE
  if :: w % 2 == 0 -> BUFFER(SET_C) :: else fi;
#endif
#ifdef MASK
  if :: masked -> early = 0 :: else fi;
#endif
  if
  :: early ->
     early = 0;
#ifdef WEAK_COMMIT_STORE
     atomic { st = INTR; asleep = 0; goto woken };
#endif
     atomic { if :: st == PARKED -> st = INTR; asleep = 0; goto woken :: else fi }
  :: else
  fi;
end_parked:
  atomic { go -> go = 0; asleep = 0 };
woken:
  atomic {
    assert(st == WOKEN || st == INTR);
#ifdef CANCEL
    assert(st == WOKEN || w % 2 == 0);
    if :: st == INTR -> pend = 0 :: else fi;
#endif
    st = NONE
  };
  if :: w % 2 == 0 -> BUFFER(CLEAR_C) :: else fi;
  w++;
  goto execute;

user:                                                /* for ever */
#ifdef CANCEL
  goto done;
#endif
  forever = 1;
end_user:
  do
  :: atomic { kick -> kick = 0; if :: !masked -> pend = 0 :: else fi }
  od;
done:
  skip
}

inline claim(s, why) {
  atomic {
    won = 0;
    if
    :: seq == s && st == PARKED -> st = why; won = 1; assert(asleep && !go); go = 1
    :: seq == s && st == ARMED -> st = why; won = 1
    :: else
    fi
  }
}

active proctype Waker() {
  byte s;
  bit won;
end:
  do
  :: atomic { s < WAITS -> s++ };
end_wait:
     atomic { seq >= s };
#ifndef NO_WAKER
     if
     :: claim(s, WOKEN)
     :: s == WAITS || s % 2 == 1 -> skip             /* nobody wakes it */
     fi
#endif
  od
}

active proctype Poster() {
  byte s;
  bit won, c;
#ifdef WEAK_NO_FENCE_POST
  s = seq;
  pend = 1;
#else
  pend = 1;
#ifdef WEAK_CANCEL_ORDER
  c = cancellable;
#endif
  s = seq;                                           /* [sigwait] */
#endif
#ifdef CANCEL
#ifndef WEAK_CANCEL_ORDER
  c = cancellable;
#endif
  if :: c -> claim(s, INTR) :: else fi
#else
  if :: masked -> goto gone :: else fi;              /* [mask] */
  claim(s, INTR);
  if
  :: won -> skip
  :: else -> if :: on -> kick = 1 :: else fi         /* [run] */
  fi;
gone:
  skip
#endif
}

init {
  timeout ->
#ifdef CANCEL
  assert(!(asleep && pend && seq % 2 == 1))
#else
  assert(!((asleep || forever) && pend && !masked))
#endif
}
