/* tests/model/private.pml -- a real-time thread waits for a socket while nobody else may be there to poll.
 *
 * What it is
 *   Mirrors src/core/privatep.cc (rest_private, need_poller, wake_private) against the tail of
 *   src/core/find.cc. R is the M with a private P: its G waits ROUNDS times for an event, and R sleeps on its
 *   note. S shares a P: it looks whether somebody waits and polls, or sleeps until wake_p. WORK times somebody
 *   else keeps S busy for a while, during which it does not poll. Env makes an event once the G waits.
 *
 * Who touches what
 *   waiters    R counts its waiter up, S down when the event came
 *   polled     last_poll == 0: S stores it
 *   rnote      S sets, R clears          snote    any wake_p sets, S clears
 *
 * Memory orders
 *   [poller] R: waiters++    | fence | load polled
 *            S: polled = 0   | fence | load waiters      (on its way to sleep)
 *   Both stores go through a one-entry store buffer.
 *
 * Invariants
 *   at a standstill the G does not wait for an event that came; with none to come it has had all of them.
 *
 * Weakenings, each of which must fail
 *   WEAK_NO_FENCE_R     polled is read before the waiter is counted
 *   WEAK_NO_FENCE_S     the waiters are read before polled = 0 is seen: R trusts a poller that sleeps
 *   WEAK_NO_NEED        R does not look: S sleeps, having seen nobody who waits
 *   WEAK_CLEAR_LATE     R clears its note when it goes to sleep instead of after the wait: a wake before is lost
 *
 * Not here   the claim of the wait word (sigwait.pml, park.pml), who gets a P (wake.pml), the timers of the
 *            private P, which only R touches.
 *
 * @base  two    -DROUNDS=2 -DWORK=2
 * @quick one    -DROUNDS=1 -DWORK=1
 */
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef WORK
#define WORK 1
#endif

byte waiters, sbr, sbs;                  /* buffers: R's count up, S's store to polled (1: true, 2: false) */
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
     if :: !polled -> snote = 1 :: polled fi;
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
  :: atomic { sbs != 0 -> polled = (sbs == 1); sbs = 0 }
  od
}

init {
  atomic { run R(); run S(); run Env() }
  timeout -> assert(rounds == 0)
}
