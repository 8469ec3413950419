/* tests/model/waitfd.pml -- waiting for a descriptor: no reader sleeps on data or end of file.
 *
 * What it is
 *   Mirrors src/core/netpoll.h: one direction of one descriptor, registered edge-triggered. The kernel
 *   holds kq items and an end-of-file flag; each arrival makes an edge, edges not yet fetched merge.
 *   The poller fetches an edge with its event mask and, under the descriptor's lock, publishes it and
 *   wakes one waiter. READERS readers read up to BUF items at a time, READS times each; a claimed
 *   reader may also leave without reading (deadline, signal, cancel).
 *
 * Who touches what
 *   seq       edge number; stored by the poller under the lock, loaded by readers at any time
 *   hup       sticky: the mask had HUP, RDHUP or ERR. Stored before seq, under the lock
 *   drained   hint: "a read begun at edge s came back short"; stores s, by readers, without the lock
 *   wq        waiters, FIFO, under the lock
 *
 *   Reader: s = seq; if drained == s and not hup, go straight to waiting; try the read.
 *   EAGAIN: lock; if seq != s unlock and start again; else link, unlock, park.
 *   Short read: drained = s. After any success or end of file, and when leaving without a read after
 *   being woken: pass the baton, that is wake the next waiter under the lock.
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
 *   seq store-release under the lock, seq load-acquire before the try (hup is stored before seq); the
 *   check that counts is made under the lock. drained is relaxed: it carries the s it is true for.
 *
 * Weakenings, each of which must fail
 *   WEAK_SAMPLE_LATE     edge number read ("ready cleared") after the try
 *   WEAK_NO_RECHECK      no second look under the lock
 *   WEAK_NO_BATON        a successful reader does not wake the next
 *   WEAK_LEAVE_NO_BATON  a woken reader leaves without reading and keeps the wake to itself
 *   WEAK_NO_HUP          drained believed after HUP: data and FIN came in one edge
 *   WEAK_HUP_LATE        hup stored after seq
 *   WEAK_READY_BIT       the flag described above
 *   WEAK_DRAINED_BIT     drained as a flag, cleared at each edge
 *   With one reader WEAK_READY_BIT is no error (-DREADERS=1 passes).
 *
 * Not here   claiming a waiter against its deadline (park.pml), close and generation tags, ERR.
 * Lineage    Go runtime: netpollblock, netpollunblock (one waiter per direction, so no baton there);
 *            the drained hint is the short-read rule of epoll(7).
 *
 * @base  two     -DREADERS=2 -DREADS=2 -DITEMS=3
 * @base  three   -DREADERS=3 -DREADS=1 -DITEMS=1
 * @quick two     -DREADERS=2 -DREADS=1 -DITEMS=2
 */
#ifndef READERS
#define READERS 2
#endif
#ifndef READS
#define READS 2
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef BUF
#define BUF 2
#endif

byte kq;  bit eof, edge;                 /* the kernel */
byte seq = 1, drained;                   /* drained: 0 = never */
bit  hup, L, ready;
chan wq = [READERS] of { byte };
bit  parked[READERS], go[READERS];

#define LOCK    atomic { !L -> L = 1 }
#define UNLOCK  L = 0

/* under the lock */
inline wake_one(x) {
  if :: atomic { wq?x -> go[x] = 1; x = 0 } :: empty(wq) fi
}

#ifdef WEAK_NO_BATON
#define baton()  skip
#else
#define baton()  LOCK; atomic { wake_one(x); UNLOCK }
#endif

active proctype Kernel() {
  byte k;
  do
  :: k < ITEMS -> atomic { kq++; edge = 1; k++ }
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
     seq++;
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
#define DRAINED  drained == seq
#else
#define DRAINED  drained == s
#endif
#ifdef WEAK_READY_BIT
#define NEWS     ready
#undef  DRAINED
#define DRAINED  drained != 0 && !ready
#else
#define NEWS     seq != s
#endif
#ifdef WEAK_NO_HUP
#define HUP      false
#else
#define HUP      hup
#endif

active [READERS] proctype Reader() {
  byte id, s, n, k, x;
  id = _pid - 2;

again:
#ifndef WEAK_SAMPLE_LATE
  s = seq;
#endif
  if
  :: DRAINED -> if :: !HUP -> goto wait :: else fi
  :: else
  fi;
#ifdef WEAK_READY_BIT
  ready = 0;
#endif
  atomic {                                           /* the system call */
    if
    :: kq >= BUF -> kq = kq - BUF; n = BUF
    :: kq > 0 && kq < BUF -> n = kq; kq = 0
    :: kq == 0 && eof -> goto finish
    :: else -> n = 0
    fi
  };
#ifdef WEAK_SAMPLE_LATE
  s = seq;
#endif
  if
  :: n > 0 ->
     if :: n < BUF -> drained = s :: else fi;
     baton();
     atomic { n = 0; k++; if :: k == READS -> goto gone :: else -> goto again fi }
  :: else
  fi;

wait:
  LOCK;
#ifndef WEAK_NO_RECHECK
  if
  :: NEWS -> UNLOCK; goto again
  :: else
  fi;
#endif
  atomic { wq!id; parked[id] = 1; UNLOCK };
end_parked:
  atomic { go[id] -> go[id] = 0; parked[id] = 0 };
  if
  :: goto again
  :: skip                                            /* deadline, signal, cancel */
  fi;
#ifdef WEAK_LEAVE_NO_BATON
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
