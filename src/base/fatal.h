// base/fatal.h -- where fatal() writes: a hook, because base has no system calls of its own.
#pragma once
#include "base/base.h"

namespace gmpt {

extern void (*fatal_sink)(const char* text, size_t n);

}  // namespace gmpt
