/* tests/model/powner.pml -- who owns a P: user code is stealable, the runtime is not.
 *
 * What it is
 *   Mirrors src/core/p.h (the owner word), src/core/sys.h (entry, exit, hand-off) and the thief in
 *   src/core/sysmon.cc. One P (or NP), NM Ms, NG Gs that enter the runtime ROUNDS times each, and a
 *   monitor that steals STEALS times from Ms in user code and hands the P to another M.
 *
 * Who touches what
 *   P.word = (M, tag)   tag rt or user; also "none" (idle) and "stolen" (in the monitor's hands)
 *        M|user -> M|rt     entry: in_rt = 1, then CAS. Failure: the P is lost
 *        M|rt -> M|user     exit: plain release store (only M may change M|rt), then in_rt = 0
 *        M|user -> stolen   thief: CAS; it then holds the P as its own
 *        stolen/none -> M|rt   the new owner, on waking or when it takes an idle P
 *   P data (cnt)        plain loads and stores, by the owner in rt only
 *   in_rt               M's own flag for M's own signal handler: the handler enters only if it is 0
 *   idle Ps, idle Ms, global queue: under sched.lock (one atomic step here)
 *
 *   An M that lost its P takes an idle one or puts its G on the global queue and parks, both under
 *   the same hold of the lock; whoever frees a P looks at the global queue under that lock.
 *
 * Invariants
 *   one M in rt per P; an entry by the fast path finds the P as M left it (P.m is M); cnt never loses an update; an M never takes the slow path while the word still
 *   says M|rt (that P would be nobody's); every G ends.
 *
 * Memory orders
 *   [hand] exit store-release -> thief CAS-acquire -> nextp and sched.lock -> new owner. The last data
 *          store before the exit is buffered explicitly; release = the word waits for it.
 *   The entry CAS needs acquire for the case that the P is M's again after a steal in between (taken
 *   through the lock, so ordered anyway) and must not let P data loads rise above it. The pair
 *   in_rt/word is read by a handler on the same thread: program order and compiler barriers are enough.
 *   A stale thief is harmless: M|user may be a later visit than the one it judged, but then M is in user
 *   code again and the P is as stealable as before.
 *
 * Weakenings, each of which must fail
 *   WEAK_ENTRY_STORE     load, compare, store instead of CAS: thief and M both own the P
 *   WEAK_NO_ID           word is user/rt only: M comes back, finds M2's user tag, and takes M2's P by
 *                        the fast path. One owner at a time still holds, but the P is wired to M2
 *                        (P.m, current G, slice): fast entry may assume nothing about it
 *   WEAK_LEAVE_ORDER     in_rt = 0 before the store: a handler in between sees M|rt, takes it for a loss
 *   WEAK_ENTRY_ORDER     CAS before in_rt = 1: the same at entry
 *   WEAK_LEAVE_RELAXED   exit store relaxed: the next owner misses P data
 *   WEAK_STEAL_STORE     thief loads, compares and stores instead of CAS
 *   WEAK_SLOW_SPLIT      slow path looks for an idle P and queues its G in two holds of the lock: the P
 *                        freed in between stays idle beside the queued G
 *
 * Not here   the membarrier variant of entry (plain store, thief fences all), stop-the-world, pinned Gs.
 * Lineage    Go runtime: entersyscall, exitsyscall, exitsyscallNoP, retake, handoffp (1.25's Psyscall CAS).
 *
 * @long  one-p   -DNP=1 -DNM=3 -DNG=2 -DROUNDS=2 -DSTEALS=3
 * @long  two-ps  -DNP=2 -DNM=3 -DNG=2 -DROUNDS=1 -DSTEALS=2
 * @base  one-p   -DNP=1 -DNM=3 -DNG=2 -DROUNDS=2 -DSTEALS=2
 * @quick one-p   -DNP=1 -DNM=3 -DNG=2 -DROUNDS=1 -DSTEALS=2
 * @slow  WEAK_NO_ID WEAK_ENTRY_STORE
 */
#ifndef NP
#define NP 1
#endif
#ifndef NM
#define NM 3
#endif
#ifndef NG
#define NG 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef STEALS
#define STEALS 3
#endif
#define NOP 9

#define NONE   0
#define STOLEN 1
#ifdef WEAK_NO_ID
#define RT(m)    2
#define USER(m)  3
#else
#define RT(m)    (2 + 2 * (m))
#define USER(m)  (3 + 2 * (m))
#endif
#define IS_USER(w)  ((w) >= 3 && (w) % 2 == 1)

byte word[NP];
byte cnt[NP];                            /* the P's data */
bit  pidle[NP], midle[NM], in_rt[NM];
byte nextp[NM];                          /* P + 1 */
chan gq = [NG] of { byte };              /* global queue: rounds a G has left */
byte sb[NM], sbv[NM];                    /* store buffer for cnt: P + 1, value */
byte owner[NP];                          /* ghost: M + 1 that is in rt */
byte pm[NP];                             /* P.m: wired M, P data written by whoever takes the P */
byte total[NP], ended;                   /* ghosts */

#define OWN(p)     assert(owner[p] == 0); owner[p] = id + 1
#define DISOWN(p)  assert(owner[p] == id + 1); owner[p] = 0

/* the owner works on P data: load, then store */
inline work(p) {
  atomic {
    assert(owner[p] == id + 1);
    if :: sb[id] == p + 1 -> r = sbv[id] :: else -> r = cnt[p] fi;
    assert(r == total[p])
  };
  atomic {
    sb[id] == 0 ->
    assert(owner[p] == id + 1);
    sb[id] = p + 1; sbv[id] = r + 1; total[p] = r + 1; r = 0
  }
}

/* under sched.lock: give P p to an M if a G waits, else put it on the idle list.
 * With no idle M the thief awaits one here; the code starts one. */
inline hand_or_idle(p) {
  if
  :: nempty(gq) && midle[0] -> midle[0] = 0; nextp[0] = p + 1
  :: nempty(gq) && midle[1] -> midle[1] = 0; nextp[1] = p + 1
  :: nempty(gq) && midle[2] -> midle[2] = 0; nextp[2] = p + 1
#if NM > 3
  :: nempty(gq) && midle[3] -> midle[3] = 0; nextp[3] = p + 1
#endif
  :: empty(gq) -> word[p] = NONE; pidle[p] = 1
  fi
}

inline take_idle(r) {
  if
  :: pidle[0] -> pidle[0] = 0; r = 0
#if NP > 1
  :: pidle[1] -> pidle[1] = 0; r = 1
#endif
  :: else -> r = NOP
  fi
}

/* a signal may land here: its handler enters the runtime if in_rt is 0 */
#define SIGNAL  atomic { if :: in_rt[id] == 0 && word[p] != USER(id) -> assert(owner[p] != id + 1) :: skip fi }

proctype M(byte id; byte p; byte g) {
  byte r, i;
  if :: p == NOP -> goto park :: else -> goto own fi;

schedule:                                            /* in rt, no G */
  work(p);
  sb[id] == 0;                                       /* the lock below orders */
  atomic {                                           /* sched.lock */
    if
    :: gq?g
    :: empty(gq) -> DISOWN(p); word[p] = NONE; pidle[p] = 1; p = NOP; goto park
    fi
  };

leave:
#ifndef WEAK_LEAVE_RELAXED
  sb[id] == 0;                                       /* release [hand] */
#endif
#ifdef WEAK_LEAVE_ORDER
  in_rt[id] = 0;
  SIGNAL;
#endif
  atomic { DISOWN(p); word[p] = USER(id) };
#ifndef WEAK_LEAVE_ORDER
  SIGNAL;
  in_rt[id] = 0;
#endif

  /* user code */

#ifndef WEAK_ENTRY_ORDER
  in_rt[id] = 1;
  SIGNAL;
#endif
#ifdef WEAK_ENTRY_STORE
  if
  :: word[p] == USER(id) -> word[p] = RT(id); atomic { OWN(p) }
  :: else -> goto lost
  fi;
#else
  atomic {
    if
    :: word[p] == USER(id) -> word[p] = RT(id); OWN(p)
    :: else -> goto lost
    fi
  };
#endif
#ifdef WEAK_ENTRY_ORDER
  SIGNAL;
  in_rt[id] = 1;
#endif

entered:                                             /* in rt, with G */
  assert(pm[p] == id);
  work(p);
  if
  :: g == 0 -> ended++; goto schedule
  :: atomic { g > 0 -> g-- }; goto leave
  :: atomic { g > 0 -> g--; gq!g; g = 0 }; goto schedule   /* yield, preempted */
  fi;

lost:
  in_rt[id] = 1;
#ifdef WEAK_SLOW_SPLIT
  atomic { take_idle(p) };
  if
  :: p != NOP -> atomic { word[p] = RT(id); OWN(p); pm[p] = id }; goto entered
  :: else -> atomic { gq!g; g = 0 }
  fi;
#else
  atomic {                                           /* sched.lock */
    take_idle(p);
    if
    :: p != NOP -> word[p] = RT(id); OWN(p); pm[p] = id; goto entered
    :: else -> gq!g; g = 0
    fi;
    midle[id] = 1                                    /* same hold: a hand-off finds the M */
  };
  goto parked;
#endif

park:
  midle[id] = 1;
parked:
end_parked:
  atomic { nextp[id] != 0 -> p = nextp[id] - 1; nextp[id] = 0 };
own:
  in_rt[id] = 1;
  atomic { word[p] = RT(id); OWN(p); pm[p] = id };
  if :: g != 0 -> goto leave :: else -> goto schedule fi
}

active proctype Sysmon() {
  byte k, p, w;
  bit ok;
  do
  :: k == STEALS -> break
  :: k < STEALS ->
     k++;
     if
     :: p = 0
#if NP > 1
     :: p = 1
#endif
     fi;
     w = word[p];
     if
     :: IS_USER(w) ->
#ifdef WEAK_STEAL_STORE
        if :: word[p] == w -> word[p] = STOLEN; ok = 1 :: else fi;
#else
        atomic { if :: word[p] == w -> word[p] = STOLEN; ok = 1 :: else fi };
#endif
        if :: ok -> atomic { ok = 0; hand_or_idle(p) } :: else fi
     :: else
     fi;
     w = 0
  od
}

active proctype Flusher() {
end:
  do
  :: atomic { sb[0] != 0 -> cnt[sb[0] - 1] = sbv[0]; sb[0] = 0; sbv[0] = 0 }
  :: atomic { sb[1] != 0 -> cnt[sb[1] - 1] = sbv[1]; sb[1] = 0; sbv[1] = 0 }
  :: atomic { sb[2] != 0 -> cnt[sb[2] - 1] = sbv[2]; sb[2] = 0; sbv[2] = 0 }
#if NM > 3
  :: atomic { sb[3] != 0 -> cnt[sb[3] - 1] = sbv[3]; sb[3] = 0; sbv[3] = 0 }
#endif
  od
}

init {
  byte i;
  atomic {
    do
    :: i < NM -> run M(i, (i < NP -> i : NOP), (i < NP && i < NG -> ROUNDS : 0)); i++
    :: else -> break
    od;
    i = NP;
    do :: i < NG -> gq!ROUNDS; i++ :: else -> break od;
    i = 0
  }
  timeout -> assert(ended == NG)
}
