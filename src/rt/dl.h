// rt/dl.h -- shared objects that come and go while Gs exist.
#pragma once
#include <stddef.h>

namespace gmpt::rt {

void modules_changed();  // after dlopen or dlclose: new static TLS images reach every existing thread

// What to give to ld.so for `file`, as the object that contains `caller` means it: file itself, or buf.
const char* file_for_caller(const char* file, const void* caller, char* buf, size_t room);

}  // namespace gmpt::rt
