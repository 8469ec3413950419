// rt/once.h -- one-time initialisation.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

int once(pthread_once_t* control, void (*init)());
void once_child();  // in a forked child: what was in progress elsewhere starts again

}  // namespace gmpt::rt
