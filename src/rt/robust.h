// rt/robust.h -- robust mutexes of a thread that ends holding them, and the word it asked to be cleared.
#pragma once
#include "rt/self.h"

namespace gmpt::rt {

// At the end of g's thread: each robust mutex it still holds becomes "owner died" and one waiter is woken.
void robust_owner_died(G* g);

// get_robust_list and set_robust_list by number. tid 0 is the caller.
i64 raw_get_robust_list(i32 tid, uptr* head, size_t* size);
i64 raw_set_robust_list(uptr head, size_t size);

i64 raw_set_tid_address(u32* word);
void clear_tid_word(G* g);       // at the end of g's thread

}  // namespace gmpt::rt
