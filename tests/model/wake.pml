/* tests/model/wake.pml -- submit against rest: no runnable G waits beside an idle P.
 *
 * What it is
 *   Mirrors src/core/idle.cc (wake_p, start_m, rest_end, stop_m, hand_off_p) and src/core/find.cc (inject,
 *   rest_p, the tail of find_runnable). NP Ps, NM Ms; a G is only a count in a P's queue or in the global
 *   one. A running G may submit more Gs (LEFT in all) and then ends at once, blocks in the kernel (HANDOFFS
 *   times: its P is handed off), or is a hog: it runs until nothing is queued or until hogs hold all Ps.
 *   So a G left beside an idle P shows as a standstill even though other Ms are busy -- work
 *   conservation, not just absence of deadlock. With EVENTS an M may block in the netpoller, which returns
 *   that many Gs; with OUTSIDE a thread without a P submits so many (ready_outside).
 *
 * Who touches what
 *   rq[p]            stored by the owner, taken by CAS by all
 *   n_spinning       RMW by all
 *   n_idle_p         written under the lock, read by all          need    any, set and cleared
 *   gq, idle Ps, idle Ms, n_resting, offers: under sched.lock. A hold of the lock that writes at most one
 *   thing that others read without it is one step; the others (rest_p, hand_off_p) hold L.
 *
 * Memory orders
 *   [dekker] submit: store the work | fence | load n_idle_p, n_spinning
 *            retire: n_spinning--   | fence | load all queues
 *   [need]   submit: need = 1       | fence | load n_idle_p again
 *            rest:   n_idle_p++     | fence | load need
 *   The stores are explicit: each M has a one-entry store buffer that a Flusher drains whenever it likes,
 *   a fence and an unlock wait for it. The decrement is buffered too, for a seq_cst fetch_sub alone does
 *   not keep later acquire loads behind it on every CPU (AArch64 with LSE).
 *   [unserved] no_m: P idle, unserved = 1 | fence | load polled
 *            poller: polled = 1       | fence | load unserved
 *   Submitting to the global queue needs no fence: the lock orders it against the re-check.
 *
 * Invariants, at a standstill
 *   nothing is queued; no P is on offer; nobody counts as resting or spinning.
 *
 * Weakenings, each of which must fail
 *   WEAK_NO_FENCE_SUBMIT      release store, then load: MOV;MOV on x86
 *   WEAK_NO_FENCE_RETIRE      decrement, then loads
 *   WEAK_NO_FENCE_NEED_SET    need = 1, then n_idle_p read without a fence
 *   WEAK_NO_FENCE_NEED_REST   P idle, then need read without a fence
 *   WEAK_NO_SECOND_LOOK       need = 1 and n_idle_p not read again
 *   WEAK_RESCAN_FIRST         re-scan, then decrement: a submit between both is skipped by both
 *   WEAK_NO_NEED              rest_p does not look at need
 *   WEAK_NO_GLOBAL_RECHECK    retire re-scans the Ps only
 *   WEAK_NO_CHAIN             an M that found work while spinning does not wake the next one
 *   WEAK_UNDO_UNLOCKED        wake_p found no P and takes its n_spinning back after the unlock: in between
 *                             an M sees need, spins in vain and rests, then a submitter is kept off by the
 *                             count of an M that spins nowhere
 *   WEAK_INJECT_SAMPLE        inject starts as many Ms as there were idle Ps before its push
 *   WEAK_HANDOFF_NO_NEED      hand_off_p leaves a P idle without a look at need
 *   WEAK_REST_END_NO_LOOK     an M leaves the resting state for work it saw, or for the netpoller, and
 *                             forgets the offer
 *   WEAK_STOP_NO_LOOK         so does one that goes to sleep
 *   WEAK_OFFER_NO_DUTY        a retiring M sees work, takes an offer that does not spin and leaves it at that:
 *                             submitters relied on its second look, and it runs one G of several
 *   WEAK_OFFER_SPIN           who takes an offer does not spin though the giver counted it
 *   WEAK_NO_M_NO_LOOK         no kernel thread was to be had and the P rests, though an M went to sleep meanwhile
 *   WEAK_NO_M_UNSERVED        the same, and the M is about to sleep
 *   WEAK_NO_M_POLLER          the same, and the one M left is in the netpoller
 *   WEAK_POLLER_NO_LOOK       the same, and it is about to block there
 *
 * With FEW no kernel thread can be made beyond the NM there are; without it a run that would need more ends there.
 *
 * Not here   timers as a source of work, sysmon's polls, runnext.
 * Lineage    Go runtime: findRunnable steps 10-16, wakep, startm, resetspinning, handoffp, injectglist;
 *            need without the lock and offers are ours.
 *
 * @base  three-ms  -DNP=2 -DNM=3 -DLEFT=2
 * @long  three-ps  -DNP=3 -DNM=3 -DLEFT=2
 * @base  outside   -DNP=2 -DNM=2 -DLEFT=1 -DOUTSIDE=1
 * @long  outside   -DNP=2 -DNM=3 -DLEFT=0 -DOUTSIDE=1
 * @base  handoff   -DNP=2 -DNM=3 -DLEFT=1 -DHANDOFFS=1
 * @long  handoff-2 -DNP=2 -DNM=3 -DLEFT=2 -DHANDOFFS=1
 * @base  poll      -DNP=2 -DNM=3 -DLEFT=1 -DEVENTS=1
 * @base  few       -DNP=2 -DNM=2 -DLEFT=2 -DFEW
 * @base  few-poll  -DNP=2 -DNM=2 -DLEFT=0 -DEVENTS=1 -DOUTSIDE=1 -DFEW
 * @base  few-hand  -DNP=2 -DNM=2 -DLEFT=1 -DHANDOFFS=1 -DFEW
 * @quick two-ms    -DNP=2 -DNM=2 -DLEFT=3
 * @weak  -DNP=2 -DNM=3 -DLEFT=2
 * @slow  WEAK_NO_FENCE_NEED_SET WEAK_NO_CHAIN WEAK_UNDO_UNLOCKED WEAK_OFFER_SPIN WEAK_OFFER_NO_DUTY
 * @slow  WEAK_INJECT_SAMPLE WEAK_NO_GLOBAL_RECHECK WEAK_STOP_NO_LOOK
 */
#if defined(WEAK_NO_CHAIN) || defined(WEAK_NO_SECOND_LOOK) || defined(WEAK_NO_FENCE_NEED_SET)
#undef  NP
#define NP 3
#endif
#if defined(WEAK_UNDO_UNLOCKED) || defined(WEAK_NO_GLOBAL_RECHECK)
#undef  NM
#define NM 2
#undef  LEFT
#define LEFT 1
#define OUTSIDE 1
#endif
#ifdef WEAK_INJECT_SAMPLE
#undef  LEFT
#define LEFT 1
#define EVENTS 1
#endif
#if defined(WEAK_NO_M_NO_LOOK) || defined(WEAK_NO_M_UNSERVED) || defined(WEAK_NO_M_POLLER) || defined(WEAK_POLLER_NO_LOOK)
#define FEW
#undef  NM
#define NM 2
#undef  LEFT
#define LEFT 1
#define OUTSIDE 1
#endif
#if defined(WEAK_NO_M_POLLER) || defined(WEAK_POLLER_NO_LOOK)
#define EVENTS 1
#endif
#if defined(WEAK_HANDOFF_NO_NEED) || defined(WEAK_OFFER_NO_DUTY)
#define HANDOFFS 1
#endif
#ifndef NP
#define NP 2
#endif
#ifndef NM
#define NM 2
#endif
#ifndef LEFT
#define LEFT 2
#endif
#ifndef OUTSIDE
#define OUTSIDE 0
#endif
#ifndef HANDOFFS
#define HANDOFFS 0
#endif
#ifndef EVENTS
#define EVENTS 0
#endif
#define NT   (NM + 1)                    /* the last one is the thread without a P */
#define NONE 9

byte rq[NP], gq;
bit  L, pidle[NP], midle[NM], note[NM];
byte nextp[NM];  bit nexts[NM];
byte n_idle_p, n_spinning, n_resting, n_offers;
bit  need;
bit  offer[NP], ospin[NP];
byte sb[NT], sbp[NT];                    /* store buffers: PUSH to rq[sbp], DEC n_spinning, IDLE, NEED */
byte left = LEFT;
byte handoffs = HANDOFFS, events = EVENTS;
bit  polled;                             /* an M is blocked in the netpoller */
byte queued, nhog;                       /* ghosts */
bit  beyond;
bit  unserved, broke;                      /* a P rests for want of an M; netpoll_break */

#define PUSH 1
#define DEC  2
#define IDLE 3
#define NEED 4
#define FENCE            sb[id] == 0
#define BUFFER(kind, p)  atomic { sb[id] == 0 -> sb[id] = kind; sbp[id] = p }
#define LOCKED           !L

/* under the lock, one step: a P off the idle list into r */
inline pidle_get(r) {
  r = 0;
  do
  :: r < NP && !pidle[r] -> r++
  :: r == NP -> r = NONE; break
  :: r < NP && pidle[r] -> pidle[r] = 0; n_idle_p--; break
  od
}
inline pidle_get_spinning(r) { pidle_get(r); if :: r == NONE -> need = 1 :: else fi }

inline take_offer(r) {                   /* there is one */
  r = 0;
  do :: !offer[r] -> r++ :: else -> break od;
  offer[r] = 0; n_offers--;
#ifndef WEAK_OFFER_SPIN
  spinning = ospin[r];
#endif
  ospin[r] = 0
}

/* start_m(q, s); q becomes 0. new_m fails between two holds of the lock, then no_m. */
inline start_m(s) {
  do
  :: atomic {
       LOCKED ->
       if
#ifdef WEAK_NO_M_NO_LOOK
       :: none
#endif
       :: midle[0] -> midle[0] = 0; nextp[0] = q; nexts[0] = s; note[0] = 1; none = 0; break
       :: !midle[0] && midle[1] -> midle[1] = 0; nextp[1] = q; nexts[1] = s; note[1] = 1; none = 0; break
#if NM > 2
       :: !midle[0] && !midle[1] && midle[2] -> midle[2] = 0; nextp[2] = q; nexts[2] = s; note[2] = 1; none = 0; break
#endif
#if NM > 3
       :: !midle[0] && !midle[1] && !midle[2] && midle[3] ->
          midle[3] = 0; nextp[3] = q; nexts[3] = s; note[3] = 1; none = 0; break
#endif
       :: else ->
          if :: n_resting > n_offers -> offer[q] = 1; ospin[q] = s; n_offers++; none = 0; break :: else fi
       fi;
#ifdef FEW
       if
       :: !none -> none = 1
       :: none ->
          L = 1; gq = gq + rq[q]; rq[q] = 0; BUFFER(IDLE, 0); pidle[q] = 1;
#ifndef WEAK_NO_M_UNSERVED
          unserved = 1;
#endif
          break
       fi
#else
       beyond = 1;                                   /* a new kernel thread: this run is dropped */
       break
#endif
     }
  od;
  q = 0;
  if
  :: none ->
     none = 0;
     if :: s -> BUFFER(DEC, 0) :: else fi;
     atomic { FENCE -> L = 0 };
#ifndef WEAK_NO_M_POLLER
     if :: polled -> broke = 1 :: else fi
#endif
  :: else
  fi;
  if :: beyond -> goto gone :: else fi
}

inline wake_p() {
#ifndef WEAK_NO_FENCE_SUBMIT
  FENCE;                                             /* [dekker] */
#endif
  do
  :: n_idle_p != 0 -> ok = 1; break
  :: n_idle_p == 0 ->
     if :: n_spinning != 0 -> break :: n_spinning == 0 fi;
     if :: need -> break :: !need fi;
     BUFFER(NEED, 0);
#ifdef WEAK_NO_SECOND_LOOK
     break;
#endif
#ifndef WEAK_NO_FENCE_NEED_SET
     FENCE;                                          /* [need] */
#endif
     if :: n_idle_p == 0 -> break :: n_idle_p != 0 fi
  od;
  if
  :: ok ->
     atomic { FENCE; if :: n_spinning == 0 -> n_spinning = 1; ok = 1 :: else -> ok = 0 fi };
     if
     :: ok ->
        atomic {
          LOCKED -> pidle_get_spinning(q); ok = 0;
#ifndef WEAK_UNDO_UNLOCKED
          if :: q == NONE -> assert(n_spinning > 0); n_spinning--; q = 0; ok = 1 :: else fi
#endif
        };
        if
        :: ok -> ok = 0
#ifdef WEAK_UNDO_UNLOCKED
        :: q == NONE -> atomic { n_spinning--; q = 0 }
#endif
        :: else -> start_m(1)
        fi
     :: else
     fi
  :: else
  fi
}

inline submit() {
  BUFFER(PUSH, p);
  wake_p()
}

/* what the netpoller returned, no P at hand: one G */
inline inject() {
#ifdef WEAK_INJECT_SAMPLE
  ok = n_idle_p != 0;
#endif
  atomic { LOCKED -> gq++ };
#ifndef WEAK_INJECT_SAMPLE
  ok = 1;
#endif
  if
  :: ok ->
     atomic { LOCKED -> pidle_get(q); ok = 0 };
     if :: q != NONE -> start_m(0) :: else -> q = 0 fi
  :: else
  fi
}

/* gives p away; p becomes NONE */
inline hand_off_p() {
  if
  :: rq[p] > 0 || gq > 0 -> atomic { q = p; p = NONE }; start_m(0)
  :: else ->
     FENCE;
     ok = n_spinning == 0;
     if :: ok && n_idle_p != 0 -> ok = 0 :: else fi;
     if :: ok -> atomic { if :: n_spinning == 0 -> n_spinning = 1 :: else -> ok = 0 fi } :: else fi;
     if
     :: ok -> atomic { q = p; p = NONE; ok = 0 }; start_m(1)
     :: else ->
        atomic { LOCKED -> L = 1; ok = gq > 0 };
        if
        :: ok -> atomic { L = 0; q = p; p = NONE; ok = 0 }; start_m(0)
        :: else ->
           atomic { BUFFER(IDLE, 0); pidle[p] = 1; p = NONE };
           FENCE;                                    /* [need] */
           atomic { ok = need; L = 0 };
#ifdef WEAK_HANDOFF_NO_NEED
           ok = 0;
#endif
           if :: ok -> ok = 0; wake_p() :: else fi
        fi
     fi
  fi
}

inline reset_spinning() {
  if
  :: spinning -> atomic { FENCE; assert(n_spinning > 0); spinning = 0; n_spinning-- };
#ifndef WEAK_NO_CHAIN
     wake_p()
#endif
  :: else
  fi
}

/* wanted: with an idle P if there is no offer. ok = offered */
inline rest_end(wanted) {
  atomic {
    LOCKED -> n_resting--; ok = 0;
    if
#ifndef WEAK_REST_END_NO_LOOK
    :: n_offers > 0 -> take_offer(q); ok = 1
#endif
    :: else -> if :: wanted -> pidle_get_spinning(q) :: else -> q = NONE fi
    fi;
    p = q; q = 0
  }
}

inline become_spinning() { atomic { FENCE; spinning = 1; n_spinning++ } }

proctype M(byte id; byte p; bit running) {
  byte q;
  bit spinning, ok, was, resting, none, event;
  if :: running -> goto exec :: p == NONE -> goto stop :: else fi;

top:
  atomic { FENCE; if :: rq[p] > 0 -> rq[p]--; queued--; goto found :: else fi };
  atomic { gq == 0 || LOCKED; if :: gq > 0 -> gq--; queued--; goto found :: else fi };
  if
  :: spinning || 2 * n_spinning < NP - n_idle_p ->
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
  atomic {                                           /* rest_p */
    LOCKED;
    if
    :: gq > 0 -> gq--; queued--; goto found
    :: else -> L = 1; BUFFER(IDLE, 0); pidle[p] = 1
    fi
  };
#ifndef WEAK_NO_FENCE_NEED_REST
  FENCE;                                             /* [need] */
#endif
  if
#ifndef WEAK_NO_NEED
  :: atomic { !spinning && need -> FENCE };
     need = 0;
     atomic { pidle[p] = 0; n_idle_p-- };
     atomic { spinning = 1; n_spinning++; L = 0 };
     goto top
  :: atomic { spinning || !need -> n_resting++ }
#else
  :: n_resting++
#endif
  fi;
  atomic { FENCE; L = 0; p = NONE; resting = 1; was = spinning };

  if
  :: was ->                                          /* retire */
#ifndef WEAK_RESCAN_FIRST
     atomic { spinning = 0; BUFFER(DEC, 0) };
#ifndef WEAK_NO_FENCE_RETIRE
     FENCE;                                          /* [dekker] */
#endif
#endif
#ifndef WEAK_NO_GLOBAL_RECHECK
     ok = gq > 0;
#endif
     do
     :: atomic { !ok && q < NP && rq[q] == 0 -> q++ }
     :: atomic { ok || (q < NP && rq[q] > 0) -> q = 0; ok = 0 };
        rest_end(1);
        resting = 0;
        break
     :: atomic { !ok && q == NP -> q = 0; break }
     od;
#ifdef WEAK_RESCAN_FIRST
     if :: p == NONE -> spinning = 0; BUFFER(DEC, 0) :: else fi;
#endif
     if
     :: p != NONE -> 
#ifdef WEAK_OFFER_NO_DUTY
        if :: !ok -> become_spinning() :: else -> ok = 0 fi;
#else
        ok = 0;
        if :: !spinning -> become_spinning() :: else fi;
#endif
        goto top
     :: else
     fi
  :: else
  fi;

#if EVENTS
  if
  :: atomic { !polled -> polled = 1 };
     if
     :: resting ->
        rest_end(0); resting = 0;
        if :: p != NONE -> atomic { ok = 0; polled = 0 }; goto top :: else fi
     :: else
     fi;
     FENCE;                                          /* [unserved] */
     ok = unserved;
#ifdef WEAK_POLLER_NO_LOOK
     ok = 0;
#endif
end_polling:
     atomic {
       if
       :: events > 0 -> events--; queued++; event = 1
       :: broke -> broke = 0
       :: ok
       fi;
       ok = 0
     };
     polled = 0;
     atomic { LOCKED -> pidle_get(p); unserved = 0 };
     if
     :: p != NONE && event -> atomic { queued--; was = 0; event = 0 }; goto exec
     :: p != NONE && !event -> was = 0; goto top
     :: p == NONE && event -> event = 0; inject(); goto stop
     :: p == NONE && !event -> goto stop
     fi
  :: polled
  fi;
#endif
stop:
  atomic {                                           /* stop_m */
    LOCKED && FENCE -> was = 0;
    if
    :: resting ->
       n_resting--;
       resting = 0;
#ifndef WEAK_STOP_NO_LOOK
       if :: n_offers > 0 -> take_offer(q); p = q; q = 0; goto top :: else fi
#endif
    :: else
    fi;
    if :: unserved -> unserved = 0; pidle_get(p); if :: p != NONE -> goto top :: else fi :: else fi;
    midle[id] = 1
  };
end_parked:
  atomic { note[id] -> note[id] = 0; p = nextp[id]; spinning = nexts[id]; nextp[id] = 0; nexts[id] = 0 };
  goto top;

found:
  reset_spinning();
exec:
  do
  :: atomic { left > 0 -> left--; queued++ }; submit()
#if HANDOFFS
  :: atomic { handoffs > 0 -> handoffs-- }; hand_off_p(); goto stop
#endif
  :: break
  :: nhog++;
end_hog:
     (queued == 0 || nhog == NP) -> nhog--; break
  od;
  goto top;
gone:
  skip
}

#if OUTSIDE
proctype Outside(byte id) {
  byte q, k = OUTSIDE;
  bit ok, none;
  do
  :: atomic { k > 0 -> k-- };
     atomic { LOCKED -> gq++; queued++ };
     wake_p()
  :: else -> break
  od;
gone:
  skip
}
#endif

inline flush(j) {
  if
  :: sb[j] == PUSH -> rq[sbp[j]]++
  :: sb[j] == DEC -> assert(n_spinning > 0); n_spinning--
  :: sb[j] == IDLE -> n_idle_p++
  :: sb[j] == NEED -> need = 1
  fi;
  sb[j] = 0; sbp[j] = 0; j = 0
}

active proctype Flusher() {
  byte i;
end:
  do
  :: atomic { sb[0] != 0 -> i = 0; flush(i) }
  :: atomic { sb[1] != 0 -> i = 1; flush(i) }
  :: atomic { sb[2] != 0 -> i = 2; flush(i) }
#if NM > 2
  :: atomic { sb[3] != 0 -> i = 3; flush(i) }
#endif
#if NM > 3
  :: atomic { sb[4] != 0 -> i = 4; flush(i) }
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
#if OUTSIDE
    run Outside(NM);
#endif
    i = 0
  }
  timeout -> assert(beyond || queued == 0 && n_offers == 0 && n_resting == 0 && n_spinning == 0)
}
