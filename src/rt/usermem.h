// rt/usermem.h -- is an argument's memory there? The kernel answers EFAULT where a call that is made here would die.
//
// What it is
//   For calls whose native form hands the pointer to the kernel; what libc itself reads natively may fault here,
//   too. A caller's own stack needs no asking; anything else is one cheap system call a page.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// The common case, a variable of a calling function: the part of the stack in use is there.
bool on_own_stack(const void* p, size_t n);
bool readable(const void* p, size_t n);
bool writable(void* p, size_t n);        // n: 4 or more; the first bytes in each page are overwritten

}  // namespace gmpt::rt
