#include "core/busy.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "core/clock.h"

static _Atomic(const char *) at = "beginning";
static _Atomic(cm_busy_kind) how = CM_BUSY_VAIN;
static _Atomic double began;
static _Atomic(cm_busy_unit) counted;
static _Atomic int64_t all, done;
static _Atomic(const void *) undone;
static void (*_Atomic undo_it)(const void *context);

/* Whoever reads what and how in between errs on the safe side. */
void cm_busy_with(const char *what, cm_busy_kind kind) {
    if (kind > atomic_load(&how)) atomic_store(&how, kind);
    atomic_store(&counted, CM_BUSY_NOTHING);
    atomic_store(&at, what);
    atomic_store(&how, kind);
    atomic_store(&began, cm_clock_seconds());
}

const char *cm_busy_what(cm_busy_kind *kind) {
    *kind = atomic_load(&how);
    return atomic_load(&at);
}

void cm_busy_of(cm_busy_unit unit, int64_t count) {
    atomic_store(&counted, CM_BUSY_NOTHING);
    atomic_store(&done, 0);
    atomic_store(&all, count);
    atomic_store(&counted, unit);
}

void cm_busy_count(cm_busy_unit unit, int64_t count) {
    if (atomic_load_explicit(&counted, memory_order_relaxed) == unit)
        atomic_fetch_add_explicit(&done, count, memory_order_relaxed);
}

void cm_busy_format(char out[96], double *since) {
    static const char *const names[] = {"", "steps", "updates", "episodes"};
    const cm_busy_unit unit = atomic_load(&counted);
    *since = atomic_load(&began);
    snprintf(out, 96, "%.40s", atomic_load(&at));
    if (unit != CM_BUSY_NOTHING)
        snprintf(out, 96, "%.40s %lld of %lld %s", atomic_load(&at), (long long)atomic_load(&done),
                 (long long)atomic_load(&all), names[unit]);
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
