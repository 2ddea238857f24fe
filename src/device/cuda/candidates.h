/* Which of several ways to launch the same work takes a GPU the least time, as part of a graph: measured once, then
 * kept on disk (autotuner.h). */
#ifndef CM_DEVICE_CUDA_CANDIDATES_H
#define CM_DEVICE_CUDA_CANDIDATES_H

#include "device/cuda/autotune_cache.h"
#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of them, borrowed. It runs many times over, so once more must not change what once does. */
typedef struct cm_cuda_candidate {
    cm_cuda_work launch; /* on the stream */
    void *context;
} cm_cuda_candidate;

/* *winner = the number of the fastest of candidate[count], 1 <= count <= CM_AUTOTUNER_MOST: the one that is kept under
 * the key, else the one that is measured to be. A candidate that does not run is out. Takes no memory of the device but
 * for graphs; not while the stream captures. Errors: where none runs, what the last one said; CM_ERR_MEMORY. */
cm_status cm_cuda_candidates_choose(cm_cuda_stream *stream, cm_autotune_cache *cache, const char *key,
                                    const cm_cuda_candidate candidate[], int count, int *winner) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
