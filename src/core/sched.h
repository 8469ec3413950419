// core/sched.h -- the scheduler's shared state and the names of its parts.
//
// What it is
//   One Sched. Everything tagged lock is under sched.lock, a leaf lock: nothing else is taken and no M
//   is started while it is held.
//
// Where to read what
//   loop.cc    schedule, execute, yield         find.cc   where the next G comes from; the retire side
//   idle.cc    Ms and Ps at rest, wake_p        park.cc   park, ready
//   sys.cc     entering without a P, hand-off   spawn.cc  making and recycling Gs
//   sysmon.cc  retake, preempt, late timers     netpoll.h descriptors     boot.cc  first and last things
//
// Memory orders
//   [dekker]  submit: queue push; fence(); read n_spinning / n_idle_p    (idle.cc: wake_p)
//             retire: n_spinning--; fence(); look at every queue again   (find.cc)
//             One of the two sees the other, so no G is left in a queue with every M asleep.
//   [until]   sysmon: sysmon_until stored; fence(); timers read  |  timer added; fence(); sysmon_until read.
//   Proof     tests/model/wake.pml
#pragma once
#include "core/p.h"

namespace gmpt::core {

constexpr u32 kMaxProcs = 1024;

constexpr u32 kSysmonUnlimited = 2;

struct Sched {
  os::Lock lock;
  M* idle_ms = nullptr;             // lock; last in, first out
  u32 n_idle_m = 0;                 // lock
  u32 n_resting = 0;                // lock; Ms between giving their P back and being on idle_ms
  P* offers = nullptr;              // lock; Ps for resting Ms, see idle.cc I4
  u32 n_offers = 0;                 // lock
  P* idle_ps = nullptr;             // lock
  GList globq;                      // lock
  GList wokenq;                     // lock; ahead of globq: woke while every P was busy
  Atomic<u32> globq_size;           // written under lock: both queues
  Atomic<u32> woken_size;           // written under lock
  Atomic<u32> n_idle_p;             // written under lock
  Atomic<i32> n_spinning;           // any [dekker]
  Atomic<u32> need_spinning;        // any [need], see idle.cc
  Atomic<u32> unserved;             // written under lock; a P rests for want of an M: who is about to sleep takes it [unserved]
  Atomic<u64> last_poll;            // time of the last poll; 0 = an M is blocked in it (a token)
  Atomic<u32> polling;              // an M takes a non-blocking look
  Atomic<u32> poll_wanted;          // sysmon's wish that the next M in find_runnable takes one
  Atomic<u64> poll_until;           // when the blocked poller wakes by itself
  u32 n_procs = 0;                  // once
  P* ps[kMaxProcs] = {};            // once
  Atomic<M*> all_ms;                // push only
  Atomic<G*> all_gs;                // push only
  Atomic<u32> n_ms;
  Atomic<u32> n_gs;                 // alive
  Atomic<u32> sysmon_waits;         // it rests until it is woken; kSysmonUnlimited: however long that is
  Atomic<u32> real_time;            // there have been real-time threads: an ordinary M may not get to run
  Atomic<i32> boost;                // a priority above theirs and below sysmon's; 0 = there is none
  Atomic<u32> sysmon_up;            // it has its own table of descriptors
  M* sysmon = nullptr;              // once; its note is what sysmon_waits is about
  Atomic<u64> sysmon_until;         // when sysmon wakes by itself [until]
  Atomic<u32> sysmon_poke;          // futex it sleeps on
  Stats stats;                      // what has no P: racy adds, good enough for people
  i32 pid = 0;
  u64 boot_ns = 0;
};

extern Sched sched;

// ---- loop.cc (all on g0) ----
[[noreturn]] void schedule();
[[noreturn]] void execute(G* g, bool inherit);
bool yield();                        // on a G, in the runtime. False: no other G was waiting for this P
void reset_spinning(M* m);

// ---- find.cc ----
G* find_runnable(M* m, bool* inherit);
void runq_put(P* p, G* g, bool next);
void globq_push(G* g);               // takes the lock
void globq_push_locked(G* g, bool woken = false);
void globq_push_woken(G* g);         // ahead of all: it woke while every P was busy
void inject(GList* l, P* p);         // Gs already kRunnable; p may be null

// ---- idle.cc ----
void p_idle_put_locked(P* p);
P* p_idle_get_locked();
P* p_idle_get_spinning_locked();
void wire(M* m, P* p);
P* unwire(M* m);
void wake_p();
void start_m(P* p, bool spinning);
void no_m(P* p, bool spinning);      // start_m found none: p rests, its Gs go to the global queue
void stop_m(bool resting);
P* rest_end(M* m, bool want, bool* offered);
bool rest_until_woken(M* m, u64 limit_ns = kNever);  // false: that time passed
void wake_for_signals();
void hand_off_p(P* p);               // the caller holds p by kTaken
void wake_sysmon();
void hurry_sysmon();              // it looks now; also from a signal handler
void poke_sysmon(u64 when);          // a timer that sysmon may have to serve was added

// ---- park.cc ----
Reason park(u64 deadline, Why why, const void* what);  // after g->wait_seq = waiter.arm(); in the runtime
// A thread that is not a G; the caller blocked all signals, *mask (may be null) is in force while it sleeps.
Reason park_kernel(Waiter* w, u32 seq, u64 deadline, const u64* mask);
void ready(G* g, bool next);         // in the runtime, on an M with a P
void ready_outside(G* g);            // without a P (sysmon, kernel threads)
void ready_list(GList* l, bool have_p);

// ---- netpoll ----
void netpoll_break();
bool netpoll_has_waiters();
bool netpoll_listen();                    // counts the caller as one; for what the poller hears of besides sockets
void netpoll_unlisten();
void netpoll(i64 delay_ns, GList* out);   // -1 block, 0 look
bool netpoll_started();
bool netpoll_boot();                      // makes its descriptors, so that sysmon can have them in a table of its own
bool netpoll_private_table();             // sysmon: what it opens shall not take the numbers that the program expects
void netpoll_follow();                    // sysmon: netpoll_vacate may have moved them
bool netpoll_watch_clock(int fd);          // sysmon: an event of fd means that the clock was set
bool netpoll_start();                     // needed for timers too: the poller is what sleeps until the next one

// ---- sysmon.cc / preempt.cc ----
void start_sysmon();
bool preempt_m(M* m);                // sends the signal unless one is outstanding

}  // namespace gmpt::core
