#include "core/patient.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/arena.h"
#include "core/crash.h"

#define LOOK_SECONDS 0.1 /* between two looks at what was asked */

struct cm_patient {
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t called, returned;
    cm_status (*run)(void *context);
    void *context;
    bool is_running, is_over, is_left;
    cm_status status;
    char message[1024];
};

static _Atomic(const cm_patient *) at_work; /* the one whose call was the last to begin, until it ends */

static void *serve(void *argument) {
    cm_patient *p = argument;
    cm_crash_own_stack();
    pthread_mutex_lock(&p->lock);
    while (!p->is_over) {
        if (!p->is_running) {
            pthread_cond_wait(&p->called, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        const cm_status status = p->run(p->context);
        pthread_mutex_lock(&p->lock);
        p->status = status;
        snprintf(p->message, sizeof p->message, "%s", status == CM_OK ? "" : cm_error_message());
        p->is_running = false;
        pthread_cond_signal(&p->returned);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

cm_status cm_patient_create(cm_patient **out) {
    cm_patient *p;
    pthread_condattr_t clock;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a thread to wait for"));
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->called, &clock);
    pthread_cond_init(&p->returned, &clock);
    pthread_condattr_destroy(&clock);
    const int error = pthread_create(&p->thread, NULL, serve, p);
    if (error == 0) {
        *out = p;
        return CM_OK;
    }
    free(p);
    return cm_fail(CM_ERR_MEMORY, "a thread to wait for cannot be started: %s", strerror(error));
}

void cm_patient_destroy(cm_patient *p) {
    if (!p || p->is_left) return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_signal(&p->called);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->called);
    pthread_cond_destroy(&p->returned);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

bool cm_patient_pass(int signal_number) {
    const cm_patient *p = atomic_load(&at_work);
    return p && !pthread_equal(p->thread, pthread_self()) && pthread_kill(p->thread, signal_number) == 0;
}

bool cm_patient_is_left(const cm_patient *p) { return p && p->is_left; }

static void wait_some(cm_patient *p) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(LOOK_SECONDS * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&p->returned, &p->lock, &until);
}

cm_status cm_patient_call(cm_patient *p, const cm_stop *stop, double seconds, cm_status (*run)(void *context),
                          void *context) {
    double patience = -1.0; /* until this time of the clock; -1: not asked yet */
    pthread_mutex_lock(&p->lock);
    p->run = run, p->context = context;
    p->is_running = true;
    atomic_store(&at_work, p);
    pthread_cond_signal(&p->called);
    while (p->is_running && !p->is_left) {
        wait_some(p);
        if (patience < 0.0 && cm_stop_asked(stop)) patience = cm_clock_seconds() + seconds;
        p->is_left = p->is_running && patience >= 0.0 && cm_clock_seconds() >= patience;
    }
    const bool is_left = p->is_left;
    if (!is_left) atomic_store(&at_work, NULL);
    cm_status status = is_left ? CM_ERR_INTERRUPTED : p->status;
    if (!is_left && status != CM_OK) status = cm_fail(status, "%s", p->message);
    pthread_mutex_unlock(&p->lock);
    return is_left ? cm_fail(status, "it did not come back within %g s", seconds) : status;
}
