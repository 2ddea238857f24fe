/* A backend whose operations are counted; one of them asks for an end, as a signal would within it. For a test that has
 * one such backend, which it closes as if nothing was. */
#ifndef CM_TESTS_COUNTED_H
#define CM_TESTS_COUNTED_H

#include <stdatomic.h>

#include "backend/backend.h"
#include "core/stop.h"

static struct {
    const cm_backend_class *kind;
    cm_backend_class counting;
    atomic_int made, asks; /* operations made so far; the number of the one that asks, 0: none */
    cm_stop stop;
} counted;

static inline cm_status counted_run(cm_stream *stream, const cm_call *call) {
    if (atomic_fetch_add(&counted.made, 1) + 1 == atomic_load(&counted.asks)) cm_stop_ask(&counted.stop);
    return counted.kind->run[call->op](stream, call);
}

static inline void counted_begin(cm_backend *backend) {
    counted.kind = backend->kind;
    counted.counting = *backend->kind;
    for (int i = 0; i < CM_OP_COUNT; i++) counted.counting.run[i] = backend->kind->run[i] ? counted_run : NULL;
    backend->kind = &counted.counting;
}

/* From now on operations are counted again, and number `asks` asks. Nothing has been asked. */
static inline void counted_restart(int asks) {
    atomic_store(&counted.made, 0);
    atomic_store(&counted.asks, asks);
    counted.stop = (cm_stop){.asked = 0};
}

#endif
