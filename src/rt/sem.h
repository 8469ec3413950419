// rt/sem.h -- process-private semaphores. Results are POSIX error numbers.
#pragma once
#include "rt/waiting.h"

namespace gmpt::rt {

bool sem_is_ours(const sem_t* s);
int sem_trywait_(sem_t* s);
int sem_wait_(sem_t* s, Limit limit = {});  // on a G
int sem_post_(sem_t* s);

}  // namespace gmpt::rt
