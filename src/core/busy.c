#include "core/busy.h"

#include <stdatomic.h>

static _Atomic(const char *) at = "beginning";
static atomic_bool waits;

void cm_busy_with(const char *what, bool is_awaited) {
    if (is_awaited) atomic_store(&waits, true); /* whoever reads both in between errs on the safe side */
    atomic_store(&at, what);
    atomic_store(&waits, is_awaited);
}

const char *cm_busy_what(bool *is_awaited) {
    *is_awaited = atomic_load(&waits);
    return atomic_load(&at);
}
