/* Matrix products: cuBLASLt in the module (blas.c), plain loops in the tests.
 *
 * c[m, n] = a b, or c += a b; then bias[n] is added to every row, then relu, which keeps NaN. All matrices are
 * row-major. */
#ifndef CM_BACKEND_CUDA_OPS_PRODUCT_H
#define CM_BACKEND_CUDA_OPS_PRODUCT_H

#include "backend/call_key.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_cuda_product {
    int m, n, k;
    bool a_across, b_across;     /* a lies as [k, m], b as [n, k] */
    int64_t a_row, b_row, c_row; /* elements from one row, as it lies in memory, to the next */
    cm_dtype type;               /* of a and b; sums and c are float32 */
    bool bias, relu, accumulate;
    int a_gap, b_gap, c_gap; /* cm_alignment_gap of the addresses, the same in every run; that of the bias is 0 */
} cm_cuda_product;

/* Bytes, of at most 16, that an address with such a gap is a multiple of. */
static inline uint32_t cm_alignment_of(int gap) { return gap == 0 ? 16 : gap % 8 == 0 ? 8 : gap % 4 == 0 ? 4 : 2; }

typedef struct cm_product_plan cm_product_plan;

/* Chooses an algorithm. The caller frees the plan. */
cm_status cm_product_prepare(cm_stream *stream, const cm_cuda_product *product, cm_product_plan **out) CM_MUST_USE;
void cm_product_free(cm_product_plan *plan); /* NULL is allowed */

/* Launches it. Products have workspace of their own, apart from that of the operations. */
typedef struct cm_product_data {
    const void *a, *b;
    const float *bias; /* where the product has one */
    float *c;
} cm_product_data;
cm_status cm_product_run(cm_stream *stream, const cm_product_plan *plan, const cm_product_data *data) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
