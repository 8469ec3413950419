/* tests/model/private.pml -- a real-time thread waits for a socket while nobody else may be there to poll.
 *
 * What it is
 *   Mirrors src/core/privatep.cc (rest_private, need_poller, wake_private) against the tail of
 *   src/core/find.cc. R is the M with a private P: its G waits ROUNDS times for an event, and R sleeps on its
 *   note. S shares a P: it looks whether somebody waits and polls, or sleeps until wake_p. WORK times somebody
 *   else keeps S busy for a while, during which it does not poll. Env makes an event once the G waits.
 *   With STARVED, S is in the poller from the start and never gets a CPU again: sysmon (Y) is what looks, and it rests
 *   without a limit while it sees nobody who waits (deep_sleep).
 *
 * Who touches what
 *   waiters    R counts its waiter up, S down when the event came
 *   polled     last_poll == 0: S stores it
 *   rnote      S sets, R clears          snote    any wake_p sets, S clears
 *
 * Memory orders
 *   [poller] R: waiters++    | fence | load polled
 *            S: polled = 0   | fence | load waiters      (on its way to sleep)
 *            Y: unlimited = 1 | fence | load waiters     so with sysmon
 *   The stores go through one-entry store buffers.
 *
 * Invariants
 *   at a standstill the G does not wait for an event that came; with none to come it has had all of them.
 *
 * Weakenings, each of which must fail
 *   WEAK_NO_FENCE_R     polled is read before the waiter is counted
 *   WEAK_NO_FENCE_S     the waiters are read before polled = 0 is seen: R trusts a poller that sleeps
 *   WEAK_NO_NEED        R does not look: S sleeps, having seen nobody who waits
 *   WEAK_NO_FENCE_Y     sysmon reads the waiters before it is seen to rest without a limit
 *   WEAK_NO_SYSMON      R does not wake sysmon: somebody polls, it thinks
 *   WEAK_CLEAR_LATE     R clears its note when it goes to sleep instead of after the wait: a wake before is lost
 *
 * Not here   the claim of the wait word (sigwait.pml, park.pml), who gets a P (wake.pml), the timers of the
 *            private P, which only R touches.
 *
 * @base  two    -DROUNDS=2 -DWORK=2
 * @base  starve -DROUNDS=2 -DWORK=0 -DSTARVED
 * @quick one    -DROUNDS=1 -DWORK=1
 */
#if defined(WEAK_NO_FENCE_Y) || defined(WEAK_NO_SYSMON)
#define STARVED
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef WORK
#define WORK 1
#endif

byte waiters, sbr, sbs, sby;             /* buffers: R's count up, S's store to polled (1: true, 2: false), Y's to unlimited */
bit  unlimited, ynote;
bit  polled, rnote, snote, event, waiting;
byte rounds = ROUNDS, work = WORK;

#define FENCE_R sbr == 0
#define FENCE_S sbs == 0

proctype R() {
  do
  :: rounds == 0 -> break
  :: rounds > 0 ->
     atomic { FENCE_R -> sbr = 1; waiting = 1 };
#ifdef WEAK_CLEAR_LATE
     rnote = 0;
#endif
#ifndef WEAK_NO_FENCE_R
     FENCE_R;
#endif
#ifndef WEAK_NO_NEED
     if
     :: !polled -> snote = 1
#if defined(STARVED) && !defined(WEAK_NO_SYSMON)
     :: atomic { polled && unlimited -> unlimited = 0; ynote = 1 }
     :: polled && !unlimited
#else
     :: polled
#endif
     fi;
#endif
end_rest:
     atomic { rnote -> assert(!waiting) };
#ifndef WEAK_CLEAR_LATE
     rnote = 0;
#endif
     rounds--
  od
}

proctype S() {
  bit some;
  do
  :: atomic { work > 0 -> work-- }       /* busy with others, and not polling */
  ::
#ifndef WEAK_NO_FENCE_S
     FENCE_S;
#endif
     some = waiters > 0;
     if
     :: some ->
        atomic { FENCE_S -> sbs = 1 };
end_poll:
        if
        :: atomic { FENCE_S && event -> event = 0; waiting = 0; waiters-- };
           atomic { FENCE_S -> sbs = 2 };
           rnote = 1
        :: atomic { FENCE_S && work > 0 -> work--; sbs = 2 }   /* something else came */
        fi
     :: else ->
end_sleep:
        atomic { snote -> snote = 0 }
     fi
  od
}

/* One look, or a rest: until the next look (which may be at once), or until it is woken. */
proctype Y() {
  do
  :: atomic { event && waiters > 0 -> event = 0; waiting = 0; waiters-- };
     rnote = 1
  :: sby == 0 -> sby = 1;
#ifndef WEAK_NO_FENCE_Y
     sby == 0;
#endif
     if
     :: waiters > 0 -> (sby == 0); unlimited = 0; ynote = 0; (event)
     :: else ->
end_rest_y:
        atomic { ynote -> ynote = 0 }
     fi
  od
}

proctype Env() {
  do
  :: atomic { waiting && !event -> event = 1 }
  :: rounds == 0 -> break
  od
}

active proctype Flusher() {
end:
  do
  :: atomic { sbr != 0 -> waiters++; sbr = 0 }
  :: atomic { sby != 0 -> unlimited = 1; sby = 0 }
  :: atomic { sbs != 0 -> polled = (sbs == 1); sbs = 0 }
  od
}

init {
#ifdef STARVED
  atomic { polled = 1; run R(); run Y(); run Env() }
#else
  atomic { run R(); run S(); run Env() }
#endif
  timeout -> assert(rounds == 0)
}
