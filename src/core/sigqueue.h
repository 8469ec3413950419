// core/sigqueue.h -- signals that wait for a thread to take them.
//
// Who may call it
//   enqueue and dequeue take a lock: inside the runtime, or in the kernel's handler when it interrupted program code.
//   put_aside is for a handler that interrupted the runtime.
#pragma once
#include "core/signal.h"

namespace gmpt::core {

// to == null: process-directed. first: ahead of its kind, since it was queued before. shared: chosen for `to`, but sent to
// the process. False: full, or merged with an earlier one.
bool enqueue(const os::SigInfo& si, G* to, bool first = false, bool shared = false);
// g blocks these from now on: what it has not taken of those sent to the process is the process's again. ended: g is
// no more; its own are dropped.
void give_back(G* g, u64 bits, bool ended);
// Takes the first queued signal for `to` whose bit is in `want`. left: is the same signal queued again?
bool dequeue(G* to, u64 want, os::SigInfo* out, bool* left);
void put_aside(M* m, const os::SigInfo& si, os::UContext* uc);
bool nobody_takes();                          // what is left in the queue. False: somebody has just opened some of it
void take_over_pending(G* main_g);            // boot: what pends in the initial kernel thread
void sigqueue_reset();

// sigdispatch.cc
extern os::Lock signal_moves;                 // from the process's queue to a thread: in order
bool claim_queued(G* g, os::SigInfo* si);     // the next one for g to handle now; signals blocked
void swap_for_earlier(G* g, os::SigInfo* si); // for the oldest of its kind that g has to handle, which it is queued behind
// Lets the kernel build the frame: sent to this very M while all signals are blocked, it arrives when the mask goes
// back, outside the runtime, and on_signal() hands it to its G.
void resend(M* m, const os::SigInfo& si);

// sigsend.cc
void kick_sigwait(G* g);
i32 owner_of(const os::SigInfo& si);          // the tid of the G it is for; 0: nobody's in particular
bool pass_on(G* me, const os::SigInfo& si);   // inside the runtime. True: it was another G's and is on its way
void timers_of_child();
bool for_signalfd(const os::SigInfo& info);   // True: the kernel has it, pending for the process
constexpr i32 kTkill = -6;  // SI_TKILL
// It came to m: whom it is for goes into SigInfo::pad, which is 0 in what the program sees. Null: anybody.
G* mark_owner(M* m, os::SigInfo* si);
bool to_main_instead(const os::SigInfo& si);  // on a kernel thread that is no M. True: main takes it
extern G* main_g;
bool anothers(G* g, const os::SigInfo& si);   // is there somebody else whom this signal goes to first?
void interrupt_rest();                        // some M at rest finds a P for dispatch_signals
void interrupt_one(u64 bit);                  // every P is busy: a running G takes it, or makes room for dispatch_signals

}  // namespace gmpt::core
