/* The operations of the cuda backend: host code that turns a call into launches of kernels and runs of products.
 *
 * What an operation needs of its stream it asks here, so that the same code runs in the module on a GPU (module.c) and
 * in the tests on the CPU (tests/backend/cuda/cuda_cpu.c). Matrix products and convolutions are behind product.h and
 * convolution.h in the same way.
 *
 * cm_cuda_<op> launches only: it allocates no memory, waits for nothing and reads no memory of the device; it may be
 * under capture. What it needs of workspace, cm_cuda_<op>_workspace bytes, has been reserved before it was prepared.
 * Addresses may differ from run to run. An action or a row number out of range makes NaN (shape.h). */
#ifndef CM_BACKEND_CUDA_OPS_OPS_H
#define CM_BACKEND_CUDA_OPS_OPS_H

#include "backend/backend.h"
#include "device/cuda/candidates.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- of the stream ---------------------------------------------------------------------------------------------- */

void *cm_ops_queue(const cm_stream *stream);     /* its cudaStream_t */
void *cm_ops_workspace(const cm_stream *stream); /* at least what was reserved; the calls of a stream share it */
/* At least `bytes` of workspace; while a call is prepared only. */
cm_status cm_ops_reserve(cm_stream *stream, size_t bytes) CM_MUST_USE;
/* `bytes` of memory, at most CM_OPS_BORROWED, for launches that follow each other on the stream: what calls keep in
 * their workspace is not there, and none finds it again. */
enum { CM_OPS_BORROWED = 16 << 20 };
void *cm_ops_borrow(cm_stream *stream, size_t bytes);
/* CM_OK for 0, else CM_ERR_DEVICE with `what` and the meaning of a cudaError_t. */
cm_status cm_ops_launched(const cm_stream *stream, int result, const char *what) CM_MUST_USE;
/* What the operations own: where the plans of the stream are (plan.h; NULL at first), the weights of its backend
 * (weights.h). */
void **cm_ops_plans(const cm_stream *stream);
void *cm_ops_weights(const cm_stream *stream);
const cm_device *cm_ops_device(const cm_stream *stream);
/* What a kernel may count on. */
typedef struct cm_ops_limits {
    int multiprocessors;
    size_t block_bytes;      /* that a block may share */
    bool multiplies_16_bits; /* cm_lanes_product */
} cm_ops_limits;
cm_ops_limits cm_ops_limits_of(const cm_stream *stream);
/* Which of candidate[count] is the fastest on this device, launched on the stream (candidates.h); while preparing only.
 */
cm_status cm_ops_choose(cm_stream *stream, const char *key, const cm_cuda_candidate candidate[], int count,
                        int *winner) CM_MUST_USE;

/* ---- operations; ops.c has them in a table ---------------------------------------------------------------------- */

#define CM_OP(name, ...) cm_status cm_cuda_##name(cm_stream *stream, const cm_call *call);
#include "backend/ops.def"
#undef CM_OP

/* Those that have plans and workspace, and those that need workspace alone. */
#define CM_CUDA_PLANNED(X)                                                                                             \
    X(dense) X(dense_backward) X(conv2d) X(conv2d_backward) X(conv2d_norm) X(lstm) X(lstm_backward)
#define CM_CUDA_WORKING(X)                                                                                             \
    X(layer_norm_backward) X(batch_norm) X(batch_norm_backward) X(batch_norm_inference_backward) X(muon_step)

#define CM_CUDA_PREPARE(name)   cm_status cm_cuda_##name##_prepare(cm_stream *stream, cm_call *call) CM_MUST_USE;
#define CM_CUDA_WORKSPACE(name) size_t cm_cuda_##name##_workspace(const cm_call *call);
CM_CUDA_PLANNED(CM_CUDA_PREPARE)
CM_CUDA_PLANNED(CM_CUDA_WORKSPACE)
CM_CUDA_WORKING(CM_CUDA_WORKSPACE)
#undef CM_CUDA_PREPARE
#undef CM_CUDA_WORKSPACE

/* ---- passes as one kernel (row_kernel.c) ----------------------------------------------------------------------------
 * Calls without work memory are a fused segment of a pass: they may have branches, and those that have are left out. */

/* How many of the first calls of such a pass could be a pass of their own, 0 .. pass->count. */
int cm_row_kernel_reach(const cm_call_list *pass);
/* create: *out, the caller's, stays NULL where the pass cannot be one launch or that would take longer
 * (row_autotune.h). All that the pass writes is written again before it is read: it may run. run: the pass is what it
 * was, unless its version is another one; then only addresses differ. */
typedef struct cm_row_kernel cm_row_kernel;
cm_status cm_row_kernel_create(cm_stream *stream, const cm_call_list *pass, cm_row_kernel **out) CM_MUST_USE;
cm_status cm_row_kernel_run(cm_stream *stream, const cm_call_list *pass, cm_row_kernel *kernel) CM_MUST_USE;
void cm_row_kernel_free(cm_row_kernel *kernel); /* NULL is allowed */

/* ---- for the files of operations -------------------------------------------------------------------------------- */

/* Launches a kernel for a call and returns from the calling function if that fails. */
#define CM_LAUNCH(stream, call, kernel, args, items, lanes)                                                            \
    CM_TRY(cm_ops_launched(stream, kernel##_launch(args, items, lanes, cm_ops_queue(stream)), cm_op_name((call)->op)))

/* Pieces of the workspace, one after the other: *used grows; returns where the piece begins. */
static inline size_t cm_ops_piece(size_t *used, size_t bytes) {
    size_t place = *used;
    *used += (bytes + 255) / 256 * 256;
    return place;
}
static inline void *cm_ops_at(const cm_stream *stream, size_t place) {
    return (char *)cm_ops_workspace(stream) + place;
}

#ifdef __cplusplus
}
#endif
#endif
