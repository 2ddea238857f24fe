/* A convolution as an operation graph of cuDNN, its way of naming kernels that the functions of convolutions do not
 * reach. cuDNN's heuristics name engines for a graph; an engine makes a plan, which is what runs.
 *
 * The graph may go on with the constant norm after the convolution, its residual and relu: then nothing but the result
 * is written.
 *
 * Everything but running works without a GPU, too: a description of one stands in for the handle. */
#ifndef CM_BACKEND_CUDA_MODULE_DNN_GRAPH_H
#define CM_BACKEND_CUDA_MODULE_DNN_GRAPH_H

#include "backend/cuda/ops/convolution.h"
#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cudnnContext;

enum { CM_DNN_KNOBS = 12 };
#define CM_DNN_COMPILED (1u << 31) /* among the notes of an engine: its kernel is compiled when it is planned */

/* An engine and what its knobs are set to. It makes the same plan in every process that has this version of cuDNN and
 * this device. */
typedef struct cm_dnn_engine {
    int32_t index, knobs;
    uint32_t notes; /* bit i: it has the numerical note i (cudnnBackendNumericalNote_t) */
    struct {
        int32_t type, value;
    } knob[CM_DNN_KNOBS];
} cm_dnn_engine;

/* What plans are for: an opened cuDNN or, NULL, the device described by `device`, JSON as
 * CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it. A plan may bring code to the GPU that cuDNN was opened on, `gpu`,
 * and take it away again: nothing is captured there meanwhile. NULL: there is none. */
typedef struct cm_dnn_target {
    struct cudnnContext *dnn;
    const char *device;
    cm_cuda_device *gpu; /* borrowed, for as long as the graph is open */
} cm_dnn_target;

typedef struct cm_dnn_graph cm_dnn_graph;

/* Describes the convolution. The caller closes it. Errors: CM_ERR_DEVICE with what cuDNN says. */
cm_status cm_dnn_graph_open(const cm_dnn_target *target, const cm_convolution *convolution,
                            cm_dnn_graph **out) CM_MUST_USE;
cm_status cm_dnn_graph_open_norm(const cm_dnn_target *target, const cm_convolution_norm *norm,
                                 cm_dnn_graph **out) CM_MUST_USE;
void cm_dnn_graph_close(cm_dnn_graph *graph); /* NULL is allowed */

/* The engines that cuDNN names, the one it thinks fastest first; *count of them, at most `most`. Left out are those
 * that do not give the same bits every time, and those less exact than sums of products in the type of the tensors:
 * Fourier and Winograd transforms, rounded inputs or partial sums, for float32 tensor cores (TF32); of small
 * convolutions those that are compiled, too. fallback: those that cuDNN keeps for graphs on which its heuristics have
 * nothing. */
cm_status cm_dnn_graph_engines(const cm_dnn_graph *graph, bool fallback, cm_dnn_engine *out, int most,
                               int *count) CM_MUST_USE;

/* Makes an engine's plan, which takes the place of the one before. Errors: CM_ERR_DEVICE if cuDNN refuses the engine;
 * CM_ERR_MEMORY if it needs more than `workspace` bytes; CM_ERR_STATE while this thread captures. */
cm_status cm_dnn_graph_plan(cm_dnn_graph *graph, const cm_dnn_engine *engine, size_t workspace) CM_MUST_USE;

/* Launch the plan on the stream of the target's handle, tensors as in cm_convolution_run and cm_convolution_norm_run.
 */
cm_status cm_dnn_graph_run(const cm_dnn_graph *graph, const void *a, const void *b, void *out,
                           void *workspace) CM_MUST_USE;
cm_status cm_dnn_graph_run_norm(const cm_dnn_graph *graph, const cm_convolution_norm_data *data,
                                void *workspace) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
