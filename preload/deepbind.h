// preload/deepbind.h -- see deepbind.cc.
#pragma once

namespace gmpt {

void rebind(void* handle);  // after a dlopen with RTLD_DEEPBIND; null: it failed

}  // namespace gmpt
