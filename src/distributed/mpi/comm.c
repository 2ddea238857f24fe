/* Ranks over MPI. MPI moves bytes; all adding is done here, so that no choice of the library changes a bit. */
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/arena.h"
#include "distributed/module.h"
#include "distributed/mpi/internal.h"

enum { TESTS_BUSY = 2000, TESTS_YIELDING = 4000 }; /* of a request before this thread yields, and before it sleeps */
static const size_t piece_bytes = (size_t)1 << 30; /* moved by one call at most: MPI counts in int */

typedef struct context {
    MPI_Comm comm;   /* owned */
    cm_guard *guard; /* owned */
    cm_beat *beat;   /* owned */
    char *host;      /* [size, MPI_MAX_PROCESSOR_NAME] owned: the machines of the ranks */
    /* of sums; owned */
    void *part; /* [size, block] what the ranks have of this rank's block */
    size_t part_bytes;
    int *count, *place, *part_place; /* [size] of bytes: of each rank's block, where it stands, where it is collected */
} context;

/* ---- errors and waiting ---- */

static cm_status fail_mpi(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return cm_fail(CM_ERR_DEVICE, "MPI: %s: %s", what, text);
}

/* Waits without holding a core that another rank could use. A rank that never answers ends the job (beat.c). */
static cm_status finish(int started, MPI_Request *request, const char *what) {
    static const struct timespec nap = {.tv_nsec = 50000};
    int done = 0;
    if (started != MPI_SUCCESS) return fail_mpi(started, what);
    for (int tests = 0; !done; tests++) {
        int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return fail_mpi(code, what);
        if (done || tests < TESTS_BUSY) continue;
        if (tests < TESTS_YIELDING) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
        }
    }
    return CM_OK;
}

/* ---- moving ---- */

static cm_status barrier(cm_comm *comm) {
    const context *c = comm->context;
    MPI_Request request;
    return finish(MPI_Ibarrier(c->comm, &request), &request, "barrier");
}

static cm_status broadcast(cm_comm *comm, void *data, size_t bytes, int root) {
    const context *c = comm->context;
    for (size_t at = 0; at < bytes; at += piece_bytes) {
        size_t n = bytes - at < piece_bytes ? bytes - at : piece_bytes;
        MPI_Request request;
        int started = MPI_Ibcast((char *)data + at, (int)n, MPI_BYTE, root, c->comm, &request);
        CM_TRY(finish(started, &request, "broadcast"));
    }
    return CM_OK;
}

static cm_status all_gather(cm_comm *comm, const void *mine, size_t bytes, void *all) {
    const context *c = comm->context;
    MPI_Request request;
    if (bytes * (size_t)comm->size > INT_MAX) return cm_fail(CM_ERR_INPUT, "gathering %zu bytes is too much", bytes);
    char *place = (char *)all + (size_t)comm->rank * bytes;
    if (mine != place) memcpy(place, mine, bytes);
    int started = MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, all, (int)bytes, MPI_BYTE, c->comm, &request);
    return finish(started, &request, "gathering");
}

/* ---- sums: block r of the data goes to rank r, which adds what the ranks have of it; then all get all blocks. Of a
 * few numbers every rank gets and adds all, in one step instead of two. ---- */

enum { FEW_BYTES = 16384 }; /* of all ranks */

/* Elements of a block: all have as many, but the last ones fewer. */
static size_t block_of(const cm_comm *comm, size_t n) { return (n + (size_t)comm->size - 1) / (size_t)comm->size; }

static cm_status reserve_part(context *c, size_t need) {
    if (need <= c->part_bytes) return CM_OK;
    free(c->part);
    c->part = NULL, c->part_bytes = 0;
    CM_TRY(cm_alloc(&c->part, need, 1, "sums over ranks"));
    c->part_bytes = need;
    return CM_OK;
}

static cm_status plan(cm_comm *comm, size_t n, size_t width) {
    context *c = comm->context;
    size_t block = block_of(comm, n), need = block * width * (size_t)comm->size;
    if (need > INT_MAX) return cm_fail(CM_ERR_INPUT, "a sum over ranks of %zu elements is too large", n);
    for (int r = 0; r < comm->size; r++) {
        size_t first = (size_t)r * block < n ? (size_t)r * block : n, left = n - first;
        c->place[r] = (int)(first * width);
        c->count[r] = (int)((left < block ? left : block) * width);
    }
    return reserve_part(c, need);
}

/* part[size, count of this rank] <- what every rank has of this rank's block. */
static cm_status collect(cm_comm *comm, void *data, int *got, int *got_at) {
    context *c = comm->context;
    MPI_Request request;
    for (int r = 0; r < comm->size; r++) {
        got[r] = c->count[comm->rank];
        got_at[r] = r * c->count[comm->rank];
    }
    int started = MPI_Ialltoallv(data, c->count, c->place, MPI_BYTE, c->part, got, got_at, MPI_BYTE, c->comm, &request);
    return finish(started, &request, "sum over ranks");
}

static cm_status share(cm_comm *comm, void *data) {
    context *c = comm->context;
    MPI_Request request;
    memcpy((char *)data + c->place[comm->rank], c->part, (size_t)c->count[comm->rank]);
    int started = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, data, c->count, c->place, MPI_BYTE, c->comm, &request);
    return finish(started, &request, "sum over ranks");
}

static cm_status sum_few(cm_comm *comm, void *data, size_t n, size_t width, cm_tree_sum *add) {
    context *c = comm->context;
    CM_TRY(reserve_part(c, n * width * (size_t)comm->size));
    CM_TRY(all_gather(comm, data, n * width, c->part));
    add(c->part, comm->size, n);
    memcpy(data, c->part, n * width);
    return CM_OK;
}

static cm_status sum(cm_comm *comm, void *data, size_t n, size_t width, cm_tree_sum *add) {
    context *c = comm->context;
    if (n * width * (size_t)comm->size <= FEW_BYTES) return sum_few(comm, data, n, width, add);
    CM_TRY(plan(comm, n, width));
    CM_TRY(collect(comm, data, c->part_place, c->part_place + comm->size));
    add(c->part, comm->size, (size_t)c->count[comm->rank] / width);
    return share(comm, data);
}

static cm_status all_reduce(cm_comm *comm, float *data, size_t n) {
    return sum(comm, data, n, sizeof *data, cm_tree_sum_floats);
}

static cm_status all_reduce_double(cm_comm *comm, double *data, size_t n) {
    return sum(comm, data, n, sizeof *data, cm_tree_sum_doubles);
}

/* ---- life ---- */

static void abort_all(cm_comm *comm, int code) {
    (void)comm;
    MPI_Abort(MPI_COMM_WORLD, code);
}

static void destroy(context *c) {
    free(c->host);
    free(c->part);
    free(c->count);
    free(c);
}

/* Beats end when no rank needs them any more: after a barrier. */
static void close_comm(cm_comm *comm) {
    context *c = comm->context;
    cm_status status = barrier(comm);
    (void)status; /* there is nothing left to save */
    cm_beat_stop(c->beat);
    MPI_Finalize();
    cm_guard_stop(c->guard);
    destroy(c);
    comm->context = NULL;
}

/* The ranks of each machine. */
static cm_status find_hosts(cm_comm *comm) {
    context *c = comm->context;
    const size_t width = MPI_MAX_PROCESSOR_NAME;
    int length = 0;
    CM_TRY(cm_alloc(&c->host, (size_t)comm->size, width, "names of machines"));
    char *mine = c->host + (size_t)comm->rank * width;
    MPI_Get_processor_name(mine, &length);
    CM_TRY(all_gather(comm, mine, width, c->host));
    for (int r = 0; r < comm->size; r++) {
        if (strcmp(c->host + (size_t)r * width, mine) != 0) continue;
        comm->local_rank += r < comm->rank;
        comm->local_size++;
    }
    return CM_OK;
}

static cm_status open_context(context *c, const cm_comm_options *options, cm_comm *out) {
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &c->comm);
    if (code != MPI_SUCCESS) return fail_mpi(code, "opening");
    MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c->comm, &out->rank);
    MPI_Comm_size(c->comm, &out->size);
    CM_TRY(cm_alloc(&c->count, 4 * (size_t)out->size, sizeof *c->count, "sums over ranks"));
    c->place = c->count + out->size;
    c->part_place = c->place + out->size;
    CM_TRY(find_hosts(out));
    return out->size > 1 ? cm_beat_start(c->host, MPI_MAX_PROCESSOR_NAME, options->timeout, &c->beat) : CM_OK;
}

/* Containers often refuse a process to read the memory of another. Open MPI learns that from every large message again,
 * says so on stderr and sends it by other means; told before, it takes these at once. */
static void tell_of_memory(void) {
    char mine = 0, copy;
    const struct iovec to = {&copy, 1}, from = {&mine, 1};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0) {
        setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
    }
}

static cm_status begin(context *c, const cm_comm_options *options, cm_comm *out) {
    int provided = MPI_THREAD_SINGLE;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (code != MPI_SUCCESS) return fail_mpi(code, "starting");
    if (provided < MPI_THREAD_MULTIPLE) {
        return cm_fail(CM_ERR_ABSENT, "this MPI library is not built for threads (MPI_THREAD_MULTIPLE); use Open MPI "
                                      "of the distribution");
    }
    return open_context(c, options, out);
}

static cm_status start(const cm_comm_options *options, cm_comm *out) {
    context *c = NULL;
    tell_of_memory();
    CM_TRY(cm_alloc(&c, 1, sizeof *c, "ranks"));
    out->context = c;
    CM_TRY(cm_guard_start(&c->guard));
    cm_join *join;
    CM_TRY(cm_join_begin(options->timeout, &join));
    const cm_status status = begin(c, options, out);
    cm_join_end(join);
    return status;
}

static cm_status open_mpi(const cm_comm_options *options, cm_comm *out) {
    *out = (cm_comm){.name = "mpi",
                     .barrier = barrier,
                     .broadcast = broadcast,
                     .all_gather = all_gather,
                     .all_reduce = all_reduce,
                     .all_reduce_double = all_reduce_double,
                     .abort_all = abort_all,
                     .close = close_comm};
    cm_status status = start(options, out);
    if (status != CM_OK) cm_comm_single(out); /* the process is on its own, and ends */
    return status;
}

static const cm_comm_module module = {
    .version = CM_VERSION, .sizes = {sizeof(cm_comm), sizeof(cm_comm_options)}, .open = open_mpi};

const cm_comm_module *cumind_comm_module(void);

const cm_comm_module *cumind_comm_module(void) { return &module; }
