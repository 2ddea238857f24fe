/* A flag by which a signal handler, or any thread, asks long work to end before it is done; it may also be asked by
 * another one, or by the clock. All long loops look at one, between steps that take far less than a second, and what
 * has seen it returns CM_ERR_INTERRUPTED. The flag never goes back. */
#ifndef CM_CORE_STOP_H
#define CM_CORE_STOP_H

#include "core/clock.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When one thread has looked at a stop. How far apart that was tells how late the end may be noticed: by as much as an
 * operation takes, or the machine gives the processor to others. */
typedef struct cm_stop_pace {
    double last;    /* seconds of the clock at the last look, at first: at the start of the work */
    double longest; /* seconds between two looks; may begin with what earlier work has shown */
    double most;    /* seconds that are kept in reserve at most */
} cm_stop_pace;

/* A look at the time `now`. Returns the seconds before the end from which on the stop is asked: twice the longest time
 * between two looks. */
static inline double cm_stop_pace_look(cm_stop_pace *pace, double now) {
    if (now - pace->last > pace->longest) pace->longest = now - pace->last;
    pace->last = now;
    return 2.0 * pace->longest < pace->most ? 2.0 * pace->longest : pace->most;
}

typedef struct cm_stop {
    int asked;    /* 0 at first; only the functions below touch it */
    double since; /* seconds of the clock when it was */
    /* constant while anybody looks */
    const struct cm_stop *with; /* asked when this one is; NULL: by none */
    double until;               /* time of the clock from which on it is asked; 0: never */
    cm_stop_pace *pace; /* with `until`, of one thread that looks: it is asked earlier by that; NULL: it is not */
} cm_stop;

/* `stop` NULL: never asked. `with` is looked at for its flag alone. */
static inline bool cm_stop_asked(const cm_stop *stop) {
    if (!stop) return false;
    if (__atomic_load_n(&stop->asked, __ATOMIC_ACQUIRE) != 0) return true;
    if (stop->until > 0.0) {
        const double now = cm_clock_seconds();
        if (now + (stop->pace ? cm_stop_pace_look(stop->pace, now) : 0.0) >= stop->until) return true;
    }
    return stop->with && __atomic_load_n(&stop->with->asked, __ATOMIC_ACQUIRE) != 0;
}

/* Seconds since the flag itself was asked; 0: it was not. */
static inline double cm_stop_seconds(const cm_stop *stop) {
    double since;
    if (!stop || __atomic_load_n(&stop->asked, __ATOMIC_ACQUIRE) == 0) return 0.0;
    __atomic_load(&stop->since, &since, __ATOMIC_RELAXED);
    return cm_clock_seconds() - since;
}

/* Safe in a signal handler. */
static inline void cm_stop_ask(cm_stop *stop) {
    double now = cm_clock_seconds();
    if (__atomic_load_n(&stop->asked, __ATOMIC_ACQUIRE) != 0) return;
    __atomic_store(&stop->since, &now, __ATOMIC_RELAXED); /* handlers may run on several threads */
    __atomic_store_n(&stop->asked, 1, __ATOMIC_RELEASE);
}

/* Whether the user has asked before and means it: of one wish there may be two signals, to a process and to its
 * group, as `timeout -s INT` sends them. For the handler of the signals that ask. */
static inline bool cm_stop_is_urged(const cm_stop *stop) {
    const double apart = 0.25; /* seconds: less is the same wish */
    return cm_stop_seconds(stop) > apart;
}

#ifdef __cplusplus
}
#endif
#endif
