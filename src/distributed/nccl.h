/* NCCL as a table of function pointers, found at run time in libnccl.so.2: sums between GPUs.
 *
 * No header and no library of CUDA is needed to compile this: the types below are those of nccl.h under names of our
 * own, and distributed/cuda/nccl_check.c holds them against those of nccl.h where there is one. Tests put a stand-in
 * for the table in its place. Results are those of NCCL: 0 is success.
 */
#ifndef CM_DISTRIBUTED_NCCL_H
#define CM_DISTRIBUTED_NCCL_H

#include "distributed/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;
typedef struct ncclComm *cm_nccl_ranks; /* an ncclComm_t */

/* Goes by value. */
typedef struct cm_nccl_id {
    char bytes[128];
} cm_nccl_id;

enum { CM_NCCL_UINT8 = 1, CM_NCCL_FLOAT32 = 7, CM_NCCL_SUM = 0 };

/* result, name of the member, symbol in the library, parameters */
#define CM_NCCL_FUNCTIONS(F)                                                                                           \
    F(int, version, ncclGetVersion, (int *version))                                                                    \
    F(const char *, result_text, ncclGetErrorString, (int result))                                                     \
    F(const char *, last_error, ncclGetLastError, (cm_nccl_ranks ranks))                                               \
    F(int, make_id, ncclGetUniqueId, (cm_nccl_id * id))                                                                \
    F(int, join, ncclCommInitRank, (cm_nccl_ranks * out, int size, cm_nccl_id id, int rank))                           \
    F(int, sum, ncclAllReduce,                                                                                         \
      (const void *from, void *to, size_t n, int type, int operation, cm_nccl_ranks ranks, void *queue))               \
    F(int, gather, ncclAllGather, (const void *mine, void *all, size_t n, int type, cm_nccl_ranks ranks, void *queue)) \
    F(int, state, ncclCommGetAsyncError, (cm_nccl_ranks ranks, int *result))                                           \
    F(int, leave, ncclCommDestroy, (cm_nccl_ranks ranks))                                                              \
    F(int, abandon, ncclCommAbort, (cm_nccl_ranks ranks))

typedef struct cm_nccl {
#define CM_NCCL_MEMBER(result, name, symbol, parameters) result(*name) parameters;
    CM_NCCL_FUNCTIONS(CM_NCCL_MEMBER)
#undef CM_NCCL_MEMBER
} cm_nccl;

/* Fills the table from libnccl.so.2, which stays open: from the system's places, or next to the other libraries of CUDA
 * that this process has opened. Errors: CM_ERR_ABSENT if it is not there, or too old to have a function. */
cm_status cm_nccl_open(cm_nccl *nccl) CM_MUST_USE;
cm_status cm_nccl_load(cm_nccl *nccl, const char *library) CM_MUST_USE; /* from another file */

/* What NCCL takes of a device for its buffers: an estimate, to plan with. It has three in front of each connection, of
 * 8 steps: NCCL_BUFFSIZE (4 MiB) for large messages, 8 lines of 16 bytes for each of 512 threads for small ones (LL),
 * and 120 words of 8 bytes for each of 640 threads for those between (LL128). A channel has a connection of its ring
 * and one of its tree. GPUs joined by NVLink use up to 24 channels; those that are not, 2 to 8, and take less. */
#define CM_NCCL_CONNECTION_BYTES (((size_t)4 << 20) + 8 * (8 * 512 * 16 + 120 * 640 * 8))
#define CM_NCCL_BYTES            (24 * 2 * CM_NCCL_CONNECTION_BYTES)

/* cm_comm_join_devices with that table, which is copied. */
cm_status cm_nccl_join(cm_comm *comm, const cm_nccl *nccl, bool shared) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
