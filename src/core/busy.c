#include "core/busy.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(const char *) at = "beginning";
static _Atomic(cm_busy_kind) how = CM_BUSY_VAIN;
static _Atomic(const void *) undone;
static void (*_Atomic undo_it)(const void *context);

/* Whoever reads both in between errs on the safe side. */
void cm_busy_with(const char *what, cm_busy_kind kind) {
    if (kind > atomic_load(&how)) atomic_store(&how, kind);
    atomic_store(&at, what);
    atomic_store(&how, kind);
}

const char *cm_busy_what(cm_busy_kind *kind) {
    *kind = atomic_load(&how);
    return atomic_load(&at);
}

void cm_busy_undo_by(void (*undo)(const void *context), const void *context) {
    atomic_store(&undo_it, NULL);
    atomic_store(&undone, context);
    atomic_store(&undo_it, undo);
}

void cm_busy_undo(void) {
    void (*const undo)(const void *) = atomic_exchange(&undo_it, NULL);
    if (undo) undo(atomic_load(&undone));
}
