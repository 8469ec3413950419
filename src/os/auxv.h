// os/auxv.h -- the auxiliary vector and the environment, read from /proc or the initial stack.
#pragma once
#include "base/base.h"

namespace gmpt::os {

u64 auxv(u64 type);   // 0 when absent
char** environ_();    // the environment at load time
void auxv_init();

}  // namespace gmpt::os
