/* What the operations ask of their stream (ops.h), in the module. */
#include "backend/cuda/module/module.h"

#include <cuda_runtime_api.h>

#include "backend/cuda/module/cuda.h"
#include "device/cuda/lanes.h"

void *cm_ops_queue(const cm_stream *stream) { return cm_cuda_queue(stream); }

void *cm_library_workspace(const cm_stream *stream) { return cm_cuda_stream_of(stream)->own.workspace; }

void *cm_ops_workspace(const cm_stream *stream) {
    return (char *)cm_cuda_stream_of(stream)->own.workspace + CM_LIBRARY_BYTES;
}

/* Products of the stream leave nothing in theirs. */
_Static_assert((int)CM_OPS_BORROWED <= (int)CM_LIBRARY_BYTES, "what is borrowed is the libraries'");
void *cm_ops_borrow(cm_stream *stream, size_t bytes) {
    (void)bytes;
    return cm_library_workspace(stream);
}

cm_status cm_ops_reserve(cm_stream *stream, size_t bytes) {
    return cm_cuda_stream_reserve(&cm_cuda_stream_of(stream)->own, CM_LIBRARY_BYTES + bytes);
}

cm_status cm_ops_launched(const cm_stream *stream, int result, const char *what) {
    return cm_cuda_result(cm_cuda_of(stream)->device, result, what);
}

void **cm_ops_plans(const cm_stream *stream) { return &cm_cuda_stream_of(stream)->plans; }
void *cm_ops_weights(const cm_stream *stream) { return cm_cuda_of(stream)->weights; }
const cm_device *cm_ops_device(const cm_stream *stream) { return stream->backend->device; }

cm_ops_limits cm_ops_limits_of(const cm_stream *stream) {
    const cm_cuda_device *device = cm_cuda_of(stream)->device;
    int bytes = CM_BLOCK_KEPT; /* of an attribute that a driver does not know */
    if (cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device->ordinal) != cudaSuccess)
        (void)cudaGetLastError(); /* or the next launch would say it */
    return (cm_ops_limits){device->properties.multiprocessors, (size_t)(bytes - CM_BLOCK_KEPT),
                           device->properties.major >= 8};
}

cm_status cm_ops_choose(cm_stream *stream, const char *key, const cm_cuda_candidate candidate[], int count,
                        int *winner) {
    return cm_cuda_candidates_choose(&cm_cuda_stream_of(stream)->own, cm_cuda_of(stream)->autotune_cache, key,
                                     candidate, count, winner);
}
