// rt/key.h -- thread-specific data: values stay in glibc's control block, destructors are ours to run.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

int key_create(pthread_key_t* key, void (*destructor)(void*));
int key_delete(pthread_key_t key);
void run_key_destructors();       // at a G's end; destructors may block

}  // namespace gmpt::rt
