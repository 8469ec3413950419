// preload/once.cc -- pthread_once and C11's call_once, libc names.
#include "rt/once.h"

#include "preload/interpose.h"

using namespace gmpt;

GMPT_API int pthread_once(pthread_once_t* control, void (*init)()) {
  GMPT_NATIVE(pthread_once, control, init);
  return rt::once(control, init);
}

GMPT_API int __pthread_once(pthread_once_t* control, void (*init)()) {
  GMPT_NATIVE(pthread_once, control, init);
  return rt::once(control, init);
}

GMPT_API void call_once(once_flag* flag, void (*init)()) {
  GMPT_NATIVE(call_once, flag, init);
  static_assert(sizeof(once_flag) == sizeof(pthread_once_t));
  rt::once(reinterpret_cast<pthread_once_t*>(flag), init);
}
