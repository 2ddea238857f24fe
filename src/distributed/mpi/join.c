/* MPI waits without end for ranks that never join, and until then they know nothing of each other. So every rank says
 * by a name that the others of its machine can see that it has come, and a thread looks for those that have not. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/log.h"
#include "distributed/mpi/internal.h"

enum { EXIT_LOST = 1, TURN_SECONDS = 2 /* in which the first rank that speaks ends the job for the others */ };

struct cm_join {
    pthread_t thread;
    double silence;             /* seconds that are waited */
    int rank, size, here, name; /* of the job; ranks of this machine; the socket of the name, -1: there is none */
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool is_over;
};

static int number_of(const char *variable) {
    const char *text = getenv(variable);
    return text ? atoi(text) : -1;
}

/* A name is that of a socket outside of all folders, and goes with its process. */
static socklen_t write_name(int rank, struct sockaddr_un *name) {
    const char *job = getenv("PMIX_NAMESPACE");
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length =
        snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "cumind-%.64s-rank-%d", job ? job : "", rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int bind_name(int rank) {
    struct sockaddr_un name;
    const socklen_t length = write_name(rank, &name);
    const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0 || bind(file, (const struct sockaddr *)&name, length) == 0) return file;
    close(file);
    return -1;
}

static bool has_come(const cm_join *j, int rank) {
    struct sockaddr_un name;
    const socklen_t length = write_name(rank, &name);
    if (rank == j->rank) return true;
    const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool has = file >= 0 && connect(file, (const struct sockaddr *)&name, length) == 0;
    if (file >= 0) close(file);
    return has;
}

/* Waits for so many seconds, or until all have joined. True then. */
static bool is_joined(cm_join *j, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double end = (double)until.tv_nsec * 1e-9 + seconds;
    until.tv_sec += (time_t)end;
    until.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    pthread_mutex_lock(&j->lock);
    int error = 0;
    while (!j->is_over && error == 0) error = pthread_cond_timedwait(&j->woken, &j->lock, &until);
    const bool is_over = j->is_over;
    pthread_mutex_unlock(&j->lock);
    return is_over;
}

/* The absent ranks. A rank of another machine cannot be told from one that has come there. */
static void name_missing(const cm_join *j, int missing, int first) {
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    if (missing == 0)
        cm_log(CM_ERROR, "for %g s not all of %d ranks have joined; all %d on %s have: all ranks end", j->silence,
               j->size, j->here, host);
    else if (j->here == j->size && missing == 1)
        cm_log(CM_ERROR, "rank %d on %s has not joined the others for %g s: all ranks end", first, host, j->silence);
    else if (j->here == j->size)
        cm_log(CM_ERROR, "rank %d and %d other%s on %s have not joined for %g s: all ranks end", first, missing - 1,
               missing > 2 ? "s" : "", host, j->silence);
    else
        cm_log(CM_ERROR, "%d of the %d ranks on %s have not joined for %g s: all ranks end", missing, j->here, host,
               j->silence);
}

static void *look_on(void *context) {
    cm_join *j = context;
    if (is_joined(j, j->silence)) return NULL;
    int come = 0, first_come = j->size, first = first_come;
    for (int r = 0; r < j->size; r++) {
        const bool is_here = has_come(j, r);
        come += is_here;
        if (is_here && r < first_come) first_come = r;
        if (!is_here && r < first) first = r;
    }
    if (first_come != j->rank && is_joined(j, TURN_SECONDS)) return NULL;
    name_missing(j, j->here > come ? j->here - come : 0, first);
    _exit(EXIT_LOST); /* upon which the launcher ends the others */
}

/* Signals are for the main thread. */
static int start_thread(cm_join *j) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    const int error = pthread_create(&j->thread, NULL, look_on, j);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

cm_status cm_join_begin(double timeout, cm_join **out) {
    const int rank = number_of("OMPI_COMM_WORLD_RANK");
    pthread_condattr_t clock;
    cm_join *j;
    *out = NULL;
    if (rank < 0) return CM_OK; /* another launcher: it has limits of its own */
    CM_TRY(cm_alloc(&j, 1, sizeof *j, "the ranks' joining"));
    j->silence = cm_beat_silence(timeout);
    j->rank = rank, j->size = number_of("OMPI_COMM_WORLD_SIZE"), j->here = number_of("OMPI_COMM_WORLD_LOCAL_SIZE");
    j->name = bind_name(rank);
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&j->woken, &clock);
    pthread_condattr_destroy(&clock);
    if (start_thread(j) == 0) {
        *out = j;
        return CM_OK;
    }
    if (j->name >= 0) close(j->name);
    free(j);
    return cm_fail(CM_ERR_DEVICE, "the thread that waits for the other ranks cannot be started");
}

void cm_join_end(cm_join *j) {
    if (!j) return;
    pthread_mutex_lock(&j->lock);
    j->is_over = true;
    pthread_cond_signal(&j->woken);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
    pthread_cond_destroy(&j->woken);
    pthread_mutex_destroy(&j->lock);
    if (j->name >= 0) close(j->name);
    free(j);
}
