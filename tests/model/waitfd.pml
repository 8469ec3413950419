/* tests/model/waitfd.pml -- waiting for a descriptor: no reader sleeps on data, an error or end of file.
 *
 * What it is
 *   Mirrors src/core/netpoll.{h,cc} and src/rt/io.cc read_loop: one direction of one descriptor, registered
 *   edge-triggered. The kernel holds kq items and an end-of-file flag; each arrival makes an edge, edges
 *   not yet fetched merge. The poller fetches an edge with its event mask and, under the descriptor's lock,
 *   counts it and wakes one consumer. READERS readers read up to BUF items at a time, READS times each. A
 *   parked reader's wait ends by one claim: woken, or left (deadline, signal, cancel). A reader may be
 *   cancelled before it waits, and an attempt may fail for the reader's own reasons (EFAULT) or with an
 *   error that the file reports once (ECONNRESET) while others wait.
 *
 * Who touches what
 *   edges     counted by the poller under the lock, sampled by readers at any time (fd_edge)
 *   hup       sticky: the mask had HUP, RDHUP or ERR. Stored before edges, under the lock
 *   drained   hint: "after edge s a read came back short"; stores s, by readers, without the lock
 *   wq        waiters, FIFO, under the lock; its head is looked at without
 *
 *   Reader: s = edges; if drained == s and no hup, wait first, then s = edges again, and an attempt in any
 *   case. tracked = no hup, looked at before the attempt. EAGAIN: cancelled? lock; if edges != s unlock and
 *   start again; else link, unlock, park. Short read and tracked: drained = s. After any attempt that is not
 *   EAGAIN, if somebody waits: pass the baton, that is wake the next waiter under the lock.
 *
 * Why an edge number and not a flag
 *   A "ready" bit that readers clear before they try is right for one reader and wrong for two: reader
 *   A clears, tries, gets EAGAIN; an edge sets the bit; reader B clears it for its own try and takes
 *   part of the data while A is not linked yet, so B's baton finds nobody; A finds the bit clear and
 *   parks on the rest. Likewise a "drained" bit: A's short read, an edge, B's full read that leaves data, and
 *   only then A's late store says "drained". An edge number is cleared by nobody, and a late
 *   drained = s is simply no longer believed. The number may be short: a reader would have to sleep
 *   through exactly 2^n edges inside one try.
 *
 * Invariants
 *   at a standstill no reader is parked while kq > 0 or the end of file has come.
 *
 * Memory orders
 *   [edge] edges store-release under the lock, edges load-acquire before the try (hup is stored before
 *   edges); the check that counts is made under the lock. drained is relaxed: it carries the s it is true for.
 *
 * Weakenings, each of which must fail
 *   WEAK_SAMPLE_LATE     edge number sampled ("ready cleared") after the try
 *   WEAK_NO_RECHECK      no second look under the lock
 *   WEAK_NO_BATON        a successful reader does not wake the next
 *   WEAK_ERROR_NO_BATON  one whose attempt failed does not
 *   WEAK_LEAVE_WOKEN     a woken reader leaves (cancelled) before its attempt and keeps the wake to itself
 *   WEAK_NO_RETRY        a wake-up whose claim fails is not given to the next waiter
 *   WEAK_NO_HUP          drained believed after HUP: data and FIN came in one edge
 *   WEAK_HUP_LATE        hup stored after edges
 *   WEAK_DRAINED_LATE    drained stores the edge number of after the read
 *   WEAK_READY_BIT       the flag described above
 *   WEAK_DRAINED_BIT     drained as a flag, cleared at each edge
 *   With one reader WEAK_READY_BIT is no error (-DREADERS=1 passes).
 *
 * Not here   who claims first (park.pml), close and generation tags, watchers, accept (accept.pml).
 * Lineage    Go runtime: netpollblock, netpollunblock (one waiter per direction, so no baton there);
 *            the drained hint is the short-read rule of epoll(7).
 *
 * @long  two     -DREADERS=2 -DREADS=2 -DITEMS=2 -DLEAVES=0 -DFAULTS=0
 * @long  leave   -DREADERS=2 -DREADS=1 -DITEMS=2
 * @base  leave   -DREADERS=2 -DREADS=1 -DITEMS=1
 * @base  items   -DREADERS=2 -DREADS=1 -DITEMS=2 -DLEAVES=0 -DFAULTS=0
 * @long  three   -DREADERS=3 -DREADS=1 -DITEMS=1 -DLEAVES=0 -DFAULTS=0
 * @quick leave   -DREADERS=2 -DREADS=1 -DITEMS=1 -DFAULTS=0
 * @weak  -DREADERS=2 -DREADS=2 -DITEMS=3 -DLEAVES=0 -DFAULTS=0
 * @slow  WEAK_LEAVE_WOKEN WEAK_NO_RETRY
 * @slow  WEAK_READY_BIT WEAK_DRAINED_LATE
 */
#if defined(WEAK_LEAVE_WOKEN) || defined(WEAK_NO_RETRY)
#undef  LEAVES
#undef  READS
#define READS 1
#endif
#ifdef WEAK_ERROR_NO_BATON
#undef  FAULTS
#undef  READS
#define READS 1
#endif
#ifndef READERS
#define READERS 2
#endif
#ifndef READS
#define READS 2
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef LEAVES
#define LEAVES 1
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef BUF
#define BUF 2
#endif

byte kq;  bit eof, edge;                 /* the kernel */
byte edges = 1, drained;                  /* drained: 0 = never */
bit  hup, L, ready;
chan wq = [READERS] of { byte };
bit  parked[READERS], go[READERS], claimed[READERS];
byte leaves = LEAVES, faults = FAULTS;   /* how many may leave, how many attempts may fail */

#define LOCK    atomic { !L -> L = 1 }
#define UNLOCK  L = 0

/* under the lock: the first whose wait is not over */
inline wake_one(x) {
  do
  :: wq?x ->
     if :: !claimed[x] -> claimed[x] = 1; go[x] = 1; break :: else fi;
#ifdef WEAK_NO_RETRY
     break;
#endif
     skip
  :: empty(wq) -> break
  od;
  x = 0
}

#ifdef WEAK_NO_BATON
#define baton()  skip
#else
#define baton()  if :: nempty(wq) -> LOCK; atomic { wake_one(x); UNLOCK } :: else fi
#endif

active proctype Kernel() {
  byte k;
  do
  :: k < ITEMS -> atomic { kq++; edge = 1; k++ }
  :: atomic { leaves > 0 -> leaves-- }               /* or fewer */
  :: k > 0 -> break
  od;
  if :: atomic { eof = 1; edge = 1 } :: skip fi
}

active proctype Poller() {
  byte x;
  bit h;
end:
  do
  :: atomic { edge -> edge = 0; h = eof };           /* the mask is computed at the fetch */
     LOCK;
#ifndef WEAK_HUP_LATE
     if :: h -> hup = 1 :: else fi;
#endif
     edges++;
     ready = 1;
#ifdef WEAK_DRAINED_BIT
     drained = 0;
#endif
#ifdef WEAK_HUP_LATE
     if :: h -> hup = 1 :: else fi;
#endif
     atomic { wake_one(x); h = 0; UNLOCK }
  od
}

#ifdef WEAK_DRAINED_BIT
#define DRAINED  drained != 0
#elif defined(WEAK_SAMPLE_LATE)
#define DRAINED  drained == edges
#else
#define DRAINED  drained == s
#endif
#ifdef WEAK_READY_BIT
#define NEWS     ready
#undef  DRAINED
#define DRAINED  drained != 0 && !ready
#else
#define NEWS     edges != s
#endif
#ifdef WEAK_NO_HUP
#define HUP      false
#else
#define HUP      hup
#endif

active [READERS] proctype Reader() {
  byte id, s, n, k, x;
  bit hinted, tracked;
  id = _pid - 2;

again:
#ifndef WEAK_SAMPLE_LATE
  s = edges;
#endif
  if
  :: DRAINED -> if :: !HUP -> hinted = 1; goto wait :: else fi
  :: else
  fi;
attempt:
  tracked = !(HUP);
#ifdef WEAK_READY_BIT
  ready = 0;
#endif
  atomic {                                           /* the system call */
    if
    :: kq >= BUF -> kq = kq - BUF; n = BUF
    :: kq > 0 && kq < BUF -> n = kq; kq = 0
    :: kq == 0 && eof -> goto finish
    :: kq == 0 && !eof -> n = 0
    :: (kq > 0 || eof) && faults > 0 -> faults--; goto failed
    fi
  };
#ifdef WEAK_SAMPLE_LATE
  s = edges;
#endif
  if
  :: n > 0 ->
#ifdef WEAK_DRAINED_LATE
     if :: n < BUF && tracked -> drained = edges :: else fi;
#else
     if :: n < BUF && tracked -> drained = s :: else fi;
#endif
     baton();
     atomic { n = 0; k++; if :: k == READS -> goto gone :: else -> goto again fi }
  :: else
  fi;

wait:
  if :: atomic { leaves > 0 -> leaves--; goto gone } :: skip fi;   /* cancelled */
  LOCK;
#ifndef WEAK_NO_RECHECK
  if
  :: NEWS -> UNLOCK; goto woken
  :: else
  fi;
#endif
  atomic { wq!id; claimed[id] = 0; parked[id] = 1; UNLOCK };
end_parked:
  if
  :: atomic { go[id] -> go[id] = 0; parked[id] = 0 };
#ifdef WEAK_LEAVE_WOKEN
     if :: atomic { leaves > 0 -> leaves--; goto gone } :: skip fi;
#endif
     skip
  :: atomic { leaves > 0 && !claimed[id] -> leaves--; claimed[id] = 1; parked[id] = 0 };
     LOCK;
     atomic { if :: wq??[eval(id)] -> wq??eval(id) :: else fi; UNLOCK };
     goto gone
  fi;
woken:
  if
  :: atomic { hinted -> hinted = 0 };
#ifndef WEAK_SAMPLE_LATE
     s = edges;
#endif
     goto attempt
  :: else -> goto again
  fi;

failed:
#ifdef WEAK_ERROR_NO_BATON
  goto gone;
#endif
finish:
  baton();
gone:
  skip
}

init {
  byte i;
  timeout ->
  do
  :: i < READERS -> assert(!(parked[i] && (kq > 0 || eof))); i++
  :: else -> break
  od
}
