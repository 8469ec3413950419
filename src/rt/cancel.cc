// rt/cancel.cc -- acting on a cancellation request where a G may be cancelled.
//
// glibc keeps the request in the control block, and its pthread_testcancel acts on it by unwinding; so the
// points where we wait only have to ask.
#include "os/tcb.h"
#include "arch/x86_64.h"
#include "rt/self.h"

namespace gmpt::rt {

void cancellation_point() {
  if (!self()) return;  // a kernel thread: libc's own calls do this
  // One load decides: no bit of the cancellation word is set in a thread nobody cancels.
  if (GMPT_LIKELY(*reinterpret_cast<volatile u32*>(self()->fs + os::tcb.cancelhandling) == 0)) return;
  pthread_testcancel();
}

}  // namespace gmpt::rt
