// rt/closerange.h -- many descriptors closed at once.
#pragma once
#include "base/base.h"

namespace gmpt::rt {

void fd_closing_range(u32 lo, u32 hi);  // before the close; hi is included

}  // namespace gmpt::rt
