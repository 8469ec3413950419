// rt/dl.h -- shared objects that come and go while Gs exist.
#pragma once

namespace gmpt::rt {

void modules_changed();  // after dlopen or dlclose: new static TLS images reach every existing thread

}  // namespace gmpt::rt
