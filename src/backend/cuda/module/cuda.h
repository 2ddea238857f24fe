/* Inside of the cuda backend, a module (build/lib/cumind_cuda.so): its state, and what its files give each other. The
 * folder has four layers; only the last one sees libraries of NVIDIA, so the tests run the others on a CPU.
 *
 *   operations      NAME.c launches, NAME.h has the kernels, NAME.cu lists them for nvcc (device/cuda/lanes.h):
 *                   batch_norm conv2d dense elementwise int8 layer_norm losses lstm minmax optimizer points prefix
 *                   sampled shape softmax support;
 *                   ops.h is what they ask of a stream, ops.c their table
 *   what they share rows.h (tensors as kernels see them), columns.h (sums of columns), sums.h (those of several
 *                   calls), plan.h (what prepare finds again), weights.h (copies of 16 or 8 bits), product.h and
 *                   convolution.h (products and convolutions)
 *   fused kernels   row-wise ones, rows of a tile by a block: row_step.h (what such a kernel is given),
 *                   row_kernel.h, row_product.h, row_wide.h and row_lane.h (the kernel), row_shared.h (weights
 *                   in shared memory), row_build.h (calls become steps), row_places.h and row_range.h (where
 *                   their rows lie), row_autotune.h (whether it is worth it), row_kernel.c (launching);
 *                   convolutions of a tower, activations of some boards in shared memory: tower_args.h (what the
 *                   kernel is given), tower.h (the kernel), tower_build.c (calls become layers), towers.h (whether
 *                   it is worth it, launching); segments.h (where a pass has either)
 *   the module      cuda.c (the class: opening, streams, describing), module.c (ops.h on a GPU), graphs.c (passes as
 *                   graphs), side_streams.c (side streams of a stream), blas.c (cuBLASLt), dnn.c and dnn_*.c (cuDNN),
 *                   autotune_check.h (do two ways to compute agree?), nvtx.c (timelines), driver_check.c (types of the
 * driver's table)
 *
 * Memory, streams, graphs, the autotune cache and messages are the program's (device/cuda/): the module calls them
 * there.
 *
 * Rules for an operation. `prepare` may choose, measure, wait; the workspace has been reserved. `run` only launches in
 * the order of its stream: no memory is allocated, nothing is waited for, no host memory is read or written but the
 * call itself, because it may be under capture; its kernels get scalars and addresses by value. What a launch says goes
 * through cm_ops_launched (CM_LAUNCH does it). Addresses in call->t may differ between runs, shapes may not.
 */
#ifndef CM_BACKEND_CUDA_MODULE_CUDA_H
#define CM_BACKEND_CUDA_MODULE_CUDA_H

#include "backend/backend.h"
#include "device/cuda/autotune_cache.h"
#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct cm_search_kernels cm_cuda_search_kernels; /* mcts/cuda/kernels.c */
extern const struct cm_agent_kernels cm_cuda_agent_kernels;   /* agent/cuda/simulations.c */

struct cublasLtContext; /* *: a cublasLtHandle_t */
struct cudnnContext;    /* *: a cudnnHandle_t */

/* backend->state */
typedef struct cm_cuda {
    cm_cuda_device *device;
    cm_cuda_driver driver;
    struct cublasLtContext *blas;      /* safe from several threads */
    cm_autotune_cache *autotune_cache; /* algorithms that were measured, by device and shape */
    void *weights;                     /* of the operations: copies of weights (ops/weights.h) */
    char description[192];
} cm_cuda;

/* Where calls run concurrently with those of a stream (cm_call.branch). */
typedef struct cm_cuda_side_stream {
    cm_stream *stream;  /* owned; NULL before a call of it is prepared */
    cm_cuda_event *end; /* of what it was given */
} cm_cuda_side_stream;

/* stream->state */
typedef struct cm_cuda_stream_state {
    cm_cuda_stream own;       /* own.handle is the cudaStream_t; own.workspace what cm_cuda_stream_reserve took */
    struct cudnnContext *dnn; /* set to own.handle; NULL before the first convolution is prepared */
    void *plans;              /* of the operations (ops/plan.h) */
    struct cm_convolution_norm_plan *norms; /* those in use */
    cm_cuda_side_stream side[CM_CALL_BRANCHES];
    cm_cuda_event *turn; /* where one of these begins */
} cm_cuda_stream_state;

static inline cm_cuda *cm_cuda_of(const cm_stream *stream) { return (cm_cuda *)stream->backend->state; }
static inline cm_cuda_stream_state *cm_cuda_stream_of(const cm_stream *stream) {
    return (cm_cuda_stream_state *)stream->state;
}
static inline cm_cu_stream cm_cuda_queue(const cm_stream *stream) { return cm_cuda_stream_of(stream)->own.handle; }

/* ---- what ops.c gives ------------------------------------------------------------------------------------------ */

typedef struct cm_cuda_op {
    cm_op_run run;                                          /* launches; NULL: the backend lacks the operation */
    cm_status (*prepare)(cm_stream *stream, cm_call *call); /* sets call->plan; NULL: nothing to prepare */
    size_t (*workspace)(const cm_call *call);               /* bytes that `run` takes; NULL: none */
} cm_cuda_op;
extern const cm_cuda_op cm_cuda_ops[CM_OP_COUNT];

/* ---- what graphs.c gives ----------------------------------------------------------------------------------------- */

/* The hooks of the class (backend.h: fuse, prepare_list, run_list, capture, destroy_graph). Fused segments are one
 * launch each, unless the backend was unfused when the list was first run. One that is the whole list gets no graph of
 * its own. */
cm_status cm_cuda_fuse(cm_stream *stream, const cm_call_list *calls, void **kept) CM_MUST_USE;
cm_status cm_cuda_prepare_list(cm_stream *stream, const cm_call_list *calls, void **kept) CM_MUST_USE;
cm_status cm_cuda_run_list(cm_stream *stream, const cm_call_list *calls, bool captures, void **kept) CM_MUST_USE;
cm_status cm_cuda_capture(cm_stream *stream, const char *name, cm_stream_work launches, void *context,
                          void **kept) CM_MUST_USE;
void cm_cuda_destroy_graph(void *kept);

/* ---- what side_streams.c gives ---------------------------------------------------------------------------------- */

/* Opens the call's side stream if it has one, with space for `bytes` of workspace; while preparing only. */
cm_status cm_cuda_side_stream_reserve(cm_stream *stream, const cm_call *call, size_t bytes) CM_MUST_USE;
/* *out is the stream that the call is to be launched on, ordered after all that `stream` was given; that of branch 0
 * is `stream`. */
cm_status cm_cuda_side_stream_enter(cm_stream *stream, const cm_call *call, cm_stream **out) CM_MUST_USE;
/* What `stream` is given from now on runs after what the branches of the set (bit i: branch i) were given. */
cm_status cm_cuda_side_stream_join(cm_stream *stream, unsigned branches) CM_MUST_USE;
void cm_cuda_side_stream_close(cm_stream *stream);

/* ---- what nvtx.c gives ------------------------------------------------------------------------------------------ */

/* Under a profiler of NVIDIA trace ranges are shown on its timeline from here on. The module stays loaded. */
void cm_cuda_nvtx_open(void);

/* ---- what cuda.c gives ----------------------------------------------------------------------------------------- */

/* Opens stream->dnn if it is not open: streams without convolutions do without cuDNN and what it loads. */
cm_status cm_cuda_dnn_open(cm_stream *stream) CM_MUST_USE;

/* CM_OK for CUBLAS_STATUS_SUCCESS and CUDNN_STATUS_SUCCESS, else CM_ERR_DEVICE with `what` and the library's word. */
cm_status cm_cuda_blas(int status, const char *what) CM_MUST_USE;
cm_status cm_cuda_dnn(int status, const char *what) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
