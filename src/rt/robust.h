// rt/robust.h -- robust mutexes of a thread that ends holding them.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// At the end of g's thread: each robust mutex it still holds becomes "owner died" and one waiter is woken.
void robust_owner_died(G* g);

}  // namespace gmpt::rt
