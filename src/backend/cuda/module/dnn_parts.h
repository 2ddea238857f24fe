/* Descriptors of cuDNN's operation graphs, and the graph that dnn_graph.c describes and runs and dnn_engine.c plans. */
#ifndef CM_BACKEND_CUDA_MODULE_DNN_PARTS_H
#define CM_BACKEND_CUDA_MODULE_DNN_PARTS_H

#include "backend/cuda/module/dnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *cm_dnn_part; /* a cudnnBackendDescriptor_t */

/* Those that are freed together. */
enum { CM_DNN_PARTS = 64, CM_DNN_OPERATIONS = 12 };
typedef struct cm_dnn_parts {
    cm_dnn_part list[CM_DNN_PARTS];
    int count;
} cm_dnn_parts;

struct cm_dnn_graph {
    cm_convolution convolution;
    const cm_convolution_norm *norm;          /* while the graph is described; NULL: the convolution alone */
    struct cudnnContext *dnn;                 /* borrowed; NULL: `device` */
    cm_dnn_part device;                       /* among `fixed` */
    cm_cuda_device *gpu;                      /* borrowed; NULL: see cm_dnn_target */
    cm_dnn_parts fixed;                       /* the graph and what it is made of */
    cm_dnn_part operation[CM_DNN_OPERATIONS]; /* [operations], in their order */
    int operations;
    cm_dnn_part graph;
    cm_dnn_parts chosen; /* the plan and what it is made of */
    cm_dnn_part plan;    /* NULL before the first */
};

/* CM_OK for CUDNN_STATUS_SUCCESS. */
cm_status cm_dnn_check(int status) CM_MUST_USE;

/* A new descriptor among `parts`; kind: a cudnnBackendDescriptorType_t. */
cm_status cm_dnn_add(cm_dnn_parts *parts, int kind, cm_dnn_part *out) CM_MUST_USE;
void cm_dnn_free(cm_dnn_parts *parts); /* the last one first */

/* An attribute, n values; name: a cudnnBackendAttributeName_t, type: a cudnnBackendAttributeType_t. Then for values of
 * one type: numbers, a cudnnDataType_t, a descriptor. */
cm_status cm_dnn_set(cm_dnn_part part, int name, int type, int64_t n, const void *values) CM_MUST_USE;
cm_status cm_dnn_set_numbers(cm_dnn_part part, int name, int64_t n, const int64_t *values) CM_MUST_USE;
cm_status cm_dnn_set_type(cm_dnn_part part, int name, int type) CM_MUST_USE;
cm_status cm_dnn_set_part(cm_dnn_part part, int name, cm_dnn_part value) CM_MUST_USE;
cm_status cm_dnn_finish(cm_dnn_part part) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
