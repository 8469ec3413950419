// rt/schedattr.h -- sched_setattr() and sched_getattr() for Gs; results as the system calls'.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

i64 sched_attr_set(G* g, void* attr, u32 flags);
i64 sched_attr_get(G* g, void* attr, u32 size, u32 flags);

}  // namespace gmpt::rt
