// core/signal.h -- signals: every handler of the program runs in a G's context, on the G's stack.
//
// What it is
//   The kernel's handler for each caught signal is ours, on the M's own signal stack, without TLS. It
//   repairs FS, takes preemption requests, and either hands the signal to the running G at once (copying
//   the kernel's frame to the G's stack and sending the context there) or, when runtime code was
//   interrupted, queues it; it is delivered when a G leaves the runtime.
//
// Invariants
//   S1  The kernel's mask of an M is its G's mask minus what we need (SIGSEGV in lazy mode, the
//       preemption signal, libc's own two).
//   S2  A handler may block and continue on another M: its frame is left through gmpt_sig_landing, which
//       writes the present M's signal stack into the frame.
//   S3  The table of the program's actions is ours; the kernel holds only our handler, SIG_DFL or SIG_IGN.
//
// Who may call it
//   set_action, get_action, set_mask_of_g, post: a G outside the runtime (they enter it themselves) or a
//   kernel thread with signals blocked.
#pragma once
#include "core/sched.h"
#include "os/tcb.h"

namespace gmpt::core {

struct SigAction {  // as the program gave it, kernel layout
  void* handler;    // 0 = default, 1 = ignore
  u64 flags, mask;
};

extern int preempt_sig;
extern Atomic<u32> process_signals;   // count of process-directed signals waiting for a G

inline bool signals_waiting() { return GMPT_UNLIKELY(process_signals.load_relaxed() != 0); }
inline bool signals_waiting_now() { return process_signals.load_acquire() != 0; }
// Cancellation is requested, enabled and not under way. The bits are glibc's (os/tcb.h): 1 disabled, 2 asynchronous,
// 8 requested, 16 exiting, 32 ended.
inline bool cancel_due(G* g) {
  if (GMPT_LIKELY(!g->cancel_req.load_acquire())) return false;
  return (*reinterpret_cast<volatile u32*>(g->fs + os::tcb.cancelhandling) & (1 | 8 | 16 | 32)) == 8;
}
inline bool cancel_async(G* g) { return cancel_due(g) && (*reinterpret_cast<volatile u32*>(g->fs + os::tcb.cancelhandling) & 2); }

inline bool signal_pending_for(G* g) { return (g->sigpending.load_acquire() & ~g->sigmask) != 0; }
u64 kernel_mask(u64 program_mask);

void signals_boot(G* main_g);                  // take over the handlers the program installed so far
void signals_child(G* g);             // in a forked child: give the kernel the program's own actions back
bool signals_ours();                  // the kernel holds our handlers
// Which signals every G blocks: an M at rest blocks exactly these, so that a signal finds the process open if
// and only if some thread is.
void* handler_of(int sig);
void act_by_default(const os::SigInfo& si);
void mask_counted(u64 from, u64 to);  // a G's mask changes; 0 at birth and death
void counted_at_birth(u64 mask);      // a G begins to count among all
void counted_at_end(u64 mask);
u64 blocked_by_all();
void mask_raised(u64 bits);           // outside the runtime: the caller blocks these again, or who had them open has ended
void signals_opened();                // some thread takes what it did not, or is new
void open_mask(M* m, u64 also_blocked = 0);  // on g0, before m sleeps
void switch_mask(M* m, u64 want, bool rests = false);  // rests: as open_mask
void make_room(M* m);                 // where no handler may come between: m is about to take signals from the kernel

i64 set_action(int sig, const SigAction* sa, SigAction* old);
u64 change_mask(G* g, int how, const u64* set);   // the old mask; delivers what became unblocked
i64 post_signal(G* g, int sig, const os::SigInfo& info, bool shared = false);  // shared: see sigqueue.h
// sigwait and its kin: a queued signal of `set` at once (true); else whoever queues one later kicks g's M, until
// g->sigwait is cleared.
bool sigwait_begin(G* g, u64 set, os::SigInfo* out);
void sigwait_end(G* g, u64 set);
u64 queued_signals(G* g);              // for sigpending
// As kill() of the own process, without the kernel. False: it is the kernel's to act upon (no handler, nobody who
// would run it, somebody waits for it).
bool send_to_process(const os::SigInfo& info);
// A timer's signals are that G's (tid 0: nobody's in particular), and it counts the CPU time of `pinned` (may be null).
// False: no room. All three inside the runtime.
bool timer_is_of(i32 kernel_id, i32 tid, G* pinned);
void timer_ends(i32 kernel_id);
extern Atomic<u64> signalfd_watches;   // some signalfd is, or was, for these
void signalfd_made(G* me, u64 watched);
u32 timer_pins_over(G* g, bool all);   // how many of g's pins were for timers that ended (all: for any)
i64 send_to_g(G* g, const os::SigInfo& info);
bool ends_process(int sig);            // by its default action, now; false: that is the kernel's to do
void request_cancel(G* g);             // inside the runtime: sets the bit, ends a cancellable wait, or kicks the M
extern void (*async_cancel_hook)();   // rt's: unwinds the calling G; called outside the runtime
void dispatch_signals();              // on g0 with a P: find a G for each process-directed signal
void deliver_signals();               // on a G outside the runtime: run handlers now

// On a G: how many of the program's handlers ran in it so far.
inline u32 signal_gen() { return mm()->curg->handled.load_relaxed(); }

}  // namespace gmpt::core
