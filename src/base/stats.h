// base/stats.h -- counter cells, generated from stats.def. Written by their owner only, plain adds.
#pragma once
#include "base/base.h"

namespace gmpt {

struct Stats {
#define COUNTER(name, help) u64 name = 0;
#include "base/stats.def"
#undef COUNTER
};

}  // namespace gmpt
