/* The part of oneDNN's interface that changed between version 2 and 3, as one set of functions. */
#ifndef CM_BACKEND_CPU_DNNL_COMPAT_H
#define CM_BACKEND_CPU_DNNL_COMPAT_H

#include <oneapi/dnnl/dnnl.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t cm_dnnl_desc; /* borrowed */
#else
typedef const dnnl_memory_desc_t *cm_dnnl_desc;
#endif

/* A tensor with plain strides, or in the layout that the primitive likes best. */
typedef struct cm_dnnl_shape {
    int ndim;           /* 0: absent */
    dnnl_dims_t dim;    /* in oneDNN's order: N C H W, O I H W */
    dnnl_dims_t stride; /* elements */
    dnnl_data_type_t type;
    bool any;
} cm_dnnl_shape;

typedef enum cm_dnnl_direction { CM_DNNL_FORWARD, CM_DNNL_BACKWARD_DATA, CM_DNNL_BACKWARD_WEIGHTS } cm_dnnl_direction;

typedef struct cm_dnnl_conv {
    cm_dnnl_direction direction;
    cm_dnnl_shape src, weight, bias, dst; /* or their gradients, where the direction makes them */
    int stride, padding;
    bool relu; /* forward only */
} cm_dnnl_conv;

/* Descriptions of primitives with scratch memory given by the caller; destroyed by dnnl_primitive_desc_destroy.
 * `forward` is the description of the forward pass, which the backward ones need. */
dnnl_status_t cm_dnnl_conv_describe(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_conv *conv,
                                    const_dnnl_primitive_desc_t forward);

/* Reorder between a plain shape and a layout; to_plain tells the direction. */
dnnl_status_t cm_dnnl_reorder_describe(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const cm_dnnl_shape *plain,
                                       cm_dnnl_desc layout, bool to_plain);

#ifdef __cplusplus
}
#endif
#endif
