/* Matrix products of the cpu backend's operations, in float32 or, where a call computes in it, bfloat16: operands are
 * converted into the scratch memory of the stream. */
#ifndef CM_BACKEND_CPU_PRODUCT_H
#define CM_BACKEND_CPU_PRODUCT_H

#include "backend/cpu/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c[m, n] of a sum over k. */
typedef struct cm_product_shape {
    int m, n, k;
    int a_row, b_row, c_row; /* elements from row to row; b_row of products across rows alone */
    bool bf16, accumulate;
} cm_product_shape;

typedef struct cm_product {
    cm_gemm gemm; /* a run is given a copy with addresses, and what is added and done besides */
    cm_product_shape shape;
    size_t a, b; /* places of the operands in bfloat16 in the scratch memory */
} cm_product;

/* A place for `floats` numbers of scratch memory, of which *used bytes are taken. */
size_t cm_product_alloc(size_t *used, size_t floats);

/* Rows a[m, k] with a packed weight: `layout` CM_PACK_FORWARD is c = a weight^T, CM_PACK_BACKWARD c = a weight, of
 * the first `inputs` columns of the weight. *pack is the plan's. Errors: CM_ERR_MEMORY. */
cm_status cm_product_of_rows(cm_stream *stream, const cm_tensor *weight, int inputs, cm_pack_layout layout,
                             const cm_product_shape *shape, size_t *used, cm_product *out, cm_pack **pack) CM_MUST_USE;
/* Across rows: c = a^T b of a[k, m] and b[k, n]. */
cm_product cm_product_across(const cm_product_shape *shape, size_t *used);

/* `gemm`: that of the product with a, c and, across rows, b. */
void cm_product_run_rows(cm_stream *stream, const cm_product *product, const cm_gemm *gemm);
void cm_product_run_across(cm_stream *stream, const cm_product *product, const cm_gemm *gemm);

#ifdef __cplusplus
}
#endif
#endif
