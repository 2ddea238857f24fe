/* A flag by which a signal handler, or any thread, asks long work to end before it is done. Work that has seen it
 * returns CM_ERR_INTERRUPTED. The flag never goes back. */
#ifndef CM_CORE_STOP_H
#define CM_CORE_STOP_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_stop {
    int asked; /* 0 at first; only the functions below touch it */
} cm_stop;

/* Safe in a signal handler. */
static inline void cm_stop_ask(cm_stop *stop) { __atomic_store_n(&stop->asked, 1, __ATOMIC_RELAXED); }

/* `stop` NULL: nobody ever asks. */
static inline bool cm_stop_asked(const cm_stop *stop) {
    return stop && __atomic_load_n(&stop->asked, __ATOMIC_RELAXED) != 0;
}

#ifdef __cplusplus
}
#endif
#endif
