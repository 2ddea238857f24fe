#include "distributed/nccl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/symbols.h"

/* ---- the library ---- */

enum { PATH_BYTES = 1024 };
static const char library_name[] = "libnccl.so.2";

static const cm_symbol functions[] = {
#define CM_NCCL_ROW(result, name, symbol, parameters) {#symbol, offsetof(cm_nccl, name)},
    CM_NCCL_FUNCTIONS(CM_NCCL_ROW)
#undef CM_NCCL_ROW
};

static cm_status find_functions(cm_nccl *nccl, void *handle, const char *library) {
    const char *missing = cm_symbols_fill(handle, functions, sizeof functions / sizeof *functions, nccl);
    if (!missing) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "NCCL is too old: %s has no %s; install NCCL 2.13 or newer", library, missing);
}

cm_status cm_nccl_load(cm_nccl *nccl, const char *library) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    *nccl = (cm_nccl){0};
    if (!handle) {
        return cm_fail(CM_ERR_ABSENT,
                       "several ranks on GPUs need NCCL: %s is not on this machine; install it (Debian: libnccl2), add "
                       "its folder to LD_LIBRARY_PATH, or use --backend cpu",
                       library);
    }
    cm_status status = find_functions(nccl, handle, library);
    dlclose(handle);
    return status;
}

/* The folder of the library of CUDA that the module of the backend has opened. */
static int look_for_cuda(struct dl_phdr_info *info, size_t size, void *found) {
    const char *slash = strrchr(info->dlpi_name, '/');
    char *folder = found;
    (void)size;
    if (!slash || strncmp(slash, "/libcublasLt.so", strlen("/libcublasLt.so")) != 0) return 0;
    int length = snprintf(folder, PATH_BYTES, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
    return length < PATH_BYTES;
}

/* Where the loader looks, then next to CUDA: in the same folder, or where pip has packages of both (nvidia/cu13/lib and
 * nvidia/nccl/lib). What the loader has said is the error. */
cm_status cm_nccl_open(cm_nccl *nccl) {
    static const char *const places[] = {"", "../../nccl/lib/"};
    char folder[PATH_BYTES], path[2 * PATH_BYTES];
    if (cm_nccl_load(nccl, library_name) == CM_OK) return CM_OK;
    const bool found = dl_iterate_phdr(look_for_cuda, folder) != 0;
    for (size_t i = 0; found && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s%s", folder, places[i], library_name);
        if (access(path, F_OK) == 0) return cm_nccl_load(nccl, path);
    }
    return cm_nccl_load(nccl, library_name);
}

/* ---- ranks ---- */

/* comm->joined */
typedef struct joined {
    cm_nccl nccl;
    cm_nccl_ranks ranks;          /* owned; NULL after an error that NCCL has told of later */
    void (*close)(cm_comm *comm); /* of the ranks themselves */
} joined;

/* NCCL's last message may have several lines. */
static cm_status fail_nccl(const joined *j, int result, const cm_comm *comm, const char *what) {
    const char *last = j->nccl.last_error(j->ranks);
    int length = last ? (int)strcspn(last, "\n") : 0;
    return cm_fail(CM_ERR_DEVICE,
                   "NCCL, %s on rank %d: %s%s%.*s; NCCL_DEBUG=INFO says more, --backend cpu does without", what,
                   comm->rank, j->nccl.result_text(result), length > 0 ? ": " : "", length, last ? last : "");
}

/* What went wrong since the last call. Kernels that wait for a lost rank end when NCCL is abandoned, so that this one
 * can close its device. */
static cm_status check_state(joined *j, const cm_comm *comm) {
    int state = 0;
    if (!j->ranks) return cm_fail(CM_ERR_DEVICE, "NCCL: rank %d has left the others after an error", comm->rank);
    int result = j->nccl.state(j->ranks, &state);
    if (result == 0 && state == 0) return CM_OK;
    cm_status status = fail_nccl(j, result ? result : state, comm, "state");
    j->nccl.abandon(j->ranks);
    j->ranks = NULL;
    return status;
}

static cm_status sum_on(cm_comm *comm, void *queue, float *data, size_t n) {
    joined *j = comm->joined;
    CM_TRY(check_state(j, comm));
    int result = j->nccl.sum(data, data, n, CM_NCCL_FLOAT32, CM_NCCL_SUM, j->ranks, queue);
    return result ? fail_nccl(j, result, comm, "ncclAllReduce") : CM_OK;
}

static cm_status gather_on(cm_comm *comm, void *queue, const void *mine, size_t bytes, void *all) {
    joined *j = comm->joined;
    CM_TRY(check_state(j, comm));
    int result = j->nccl.gather(mine, all, bytes, CM_NCCL_UINT8, j->ranks, queue);
    return result ? fail_nccl(j, result, comm, "ncclAllGather") : CM_OK;
}

static void close_joined(cm_comm *comm) {
    joined *j = comm->joined;
    if (j->ranks) j->nccl.leave(j->ranks);
    comm->close = j->close;
    comm->joined = NULL;
    comm->device_bytes = 0;
    free(j);
    comm->close(comm);
}

/* NCCL takes ranks of one machine for neighbours that may not share a device. */
static cm_status look_apart(const cm_comm *comm) {
    char name[32];
    snprintf(name, sizeof name, "cumind-rank-%d", comm->rank);
    if (setenv("NCCL_HOSTID", name, 1) == 0) return CM_OK;
    return cm_fail(CM_ERR_MEMORY, "no memory for NCCL_HOSTID");
}

static cm_status meet(joined *j, cm_comm *comm) {
    cm_nccl_id id = {{0}};
    int result = comm->rank == 0 ? j->nccl.make_id(&id) : 0;
    if (result) return fail_nccl(j, result, comm, "ncclGetUniqueId");
    CM_TRY(comm->broadcast(comm, &id, sizeof id, 0));
    result = j->nccl.join(&j->ranks, comm->size, id, comm->rank);
    return result ? fail_nccl(j, result, comm, "ncclCommInitRank") : CM_OK;
}

cm_status cm_nccl_join(cm_comm *comm, const cm_nccl *nccl, bool shared) {
    joined *j = NULL;
    if (shared) CM_TRY(look_apart(comm));
    CM_TRY(cm_alloc(&j, 1, sizeof *j, "ranks on devices"));
    j->nccl = *nccl;
    cm_status status = meet(j, comm);
    if (status != CM_OK) {
        free(j);
        return status;
    }
    j->close = comm->close;
    comm->joined = j;
    comm->device_bytes = CM_NCCL_BYTES;
    comm->sum_on = sum_on;
    comm->gather_on = gather_on;
    comm->close = close_joined;
    return CM_OK;
}

cm_status cm_comm_join_devices(cm_comm *comm, bool shared) {
    cm_nccl nccl;
    if (comm->joined) return CM_OK;
    CM_TRY(cm_nccl_open(&nccl));
    return cm_nccl_join(comm, &nccl, shared);
}
