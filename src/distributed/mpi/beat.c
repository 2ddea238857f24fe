#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/log.h"
#include "distributed/mpi/internal.h"

enum {
    TAG = 1,
    EXIT_LOST = 1,
    ENDING = 5 /* seconds that the end of a job takes at most (guard.c) */
};

struct cm_beat {
    MPI_Comm comm; /* owned */
    pthread_t thread;
    const char *host; /* [size, width] borrowed */
    size_t width;
    double silence, period; /* seconds without a beat until a rank is given up, and between two beats */
    int before, after;      /* ranks in the ring */
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool stop;
    int sent, heard; /* the beats that are on their way; MPI owns them until it is done */
};

/* Ends the job: the others may be waiting for the lost rank for ever. */
static void abort_job(const cm_beat *b) {
    cm_log(CM_ERROR, "rank %d on %s has not answered for %g s: all ranks end", b->before,
           b->host + (size_t)b->before * b->width, b->silence);
    MPI_Abort(MPI_COMM_WORLD, EXIT_LOST);
}

/* Sleeps for a period, or until it is to stop. False then. */
static bool goes_on(cm_beat *b) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double end = (double)until.tv_nsec * 1e-9 + b->period;
    until.tv_sec += (time_t)end;
    until.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    pthread_mutex_lock(&b->lock);
    int error = 0;
    while (!b->stop && error == 0) error = pthread_cond_timedwait(&b->woken, &b->lock, &until);
    const bool stop = b->stop;
    pthread_mutex_unlock(&b->lock);
    return !stop;
}

static void *beat_on(void *context) {
    cm_beat *b = context;
    MPI_Request out = MPI_REQUEST_NULL, in;
    double last = cm_clock_seconds(), before = last;
    MPI_Irecv(&b->heard, 1, MPI_INT, b->before, TAG, b->comm, &in);
    do {
        double now = cm_clock_seconds();
        int done = 0;
        MPI_Test(&out, &done, MPI_STATUS_IGNORE);
        if (done) MPI_Isend(&b->sent, 1, MPI_INT, b->after, TAG, b->comm, &out);
        for (MPI_Test(&in, &done, MPI_STATUS_IGNORE); done; MPI_Test(&in, &done, MPI_STATUS_IGNORE)) {
            last = now;
            MPI_Irecv(&b->heard, 1, MPI_INT, b->before, TAG, b->comm, &in);
        }
        if (now - before > b->silence / 2.0) last = now; /* it was this process that stood still */
        before = now;
        if (now - last > b->silence) abort_job(b);
    } while (goes_on(b));
    MPI_Cancel(&in);
    MPI_Wait(&in, MPI_STATUS_IGNORE);
    if (out != MPI_REQUEST_NULL) MPI_Request_free(&out);
    return NULL;
}

/* Signals are for the main thread. */
static int start_thread(cm_beat *b) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int error = pthread_create(&b->thread, NULL, beat_on, b);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

double cm_beat_silence(double timeout) { return timeout > 2.0 * ENDING ? timeout - ENDING : timeout / 2.0; }

cm_status cm_beat_start(const char *host, size_t width, double timeout, cm_beat **out) {
    int rank, size;
    *out = NULL;
    cm_beat *b;
    CM_TRY(cm_alloc(&b, 1, sizeof *b, "the ranks' beats"));
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&b->woken, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&b->lock, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    b->host = host;
    b->width = width;
    b->silence = cm_beat_silence(timeout);
    b->period = b->silence / 8.0 < 1.0 ? b->silence / 8.0 : 1.0;
    b->before = (rank + size - 1) % size;
    b->after = (rank + 1) % size;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &b->comm) != MPI_SUCCESS || start_thread(b) != 0) {
        free(b);
        return cm_fail(CM_ERR_DEVICE, "the thread that listens to the other ranks cannot be started");
    }
    *out = b;
    return CM_OK;
}

void cm_beat_stop(cm_beat *b) {
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_signal(&b->woken);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->woken);
    pthread_mutex_destroy(&b->lock);
    free(b);
}
