/* A flag by which a signal handler, or any thread, asks long work to end before it is done. Work that has seen it
 * returns CM_ERR_INTERRUPTED. The flag never goes back. */
#ifndef CM_CORE_STOP_H
#define CM_CORE_STOP_H

#include "core/clock.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_stop {
    int asked;    /* 0 at first; only the functions below touch it */
    double since; /* seconds of the clock when it was */
} cm_stop;

/* `stop` NULL: nobody ever asks. */
static inline bool cm_stop_asked(const cm_stop *stop) {
    return stop && __atomic_load_n(&stop->asked, __ATOMIC_RELAXED) != 0;
}

/* Safe in a signal handler. */
static inline void cm_stop_ask(cm_stop *stop) {
    if (!cm_stop_asked(stop)) stop->since = cm_clock_seconds();
    __atomic_store_n(&stop->asked, 1, __ATOMIC_RELAXED);
}

/* Whether who asks now has asked before, and means it: of one wish there may be two signals, to a process and to its
 * group, as `timeout -s INT` sends them. For the handler of the signals that ask. */
static inline bool cm_stop_is_urged(const cm_stop *stop) {
    const double apart = 0.25; /* seconds: less is the same wish */
    return cm_stop_asked(stop) && cm_clock_seconds() - stop->since > apart;
}

#ifdef __cplusplus
}
#endif
#endif
