/* Plans of a stream: what prepare makes for one key (backend/call_key.h) and finds again for the next call with it. */
#ifndef CM_BACKEND_CUDA_OPS_PLAN_H
#define CM_BACKEND_CUDA_OPS_PLAN_H

#include "backend/cuda/ops/convolution.h"
#include "backend/cuda/ops/ops.h"
#include "backend/cuda/ops/product.h"
#include "backend/cuda/ops/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PLAN_PRODUCTS = 4, CM_PLAN_CONVOLUTIONS = 2 };

typedef struct cm_cuda_plan cm_cuda_plan;
struct cm_cuda_plan {
    cm_cuda_plan *next;
    cm_call_key key;
    cm_weight_copy *copy;                       /* of the weight, of 16 or 8 bits; NULL: not needed */
    cm_product_plan *product[CM_PLAN_PRODUCTS]; /* what each is, says the operation */
    bool is_bare;                               /* of a dense layer: its product leaves bias and relu to a kernel */
    cm_convolution_plan *convolution[CM_PLAN_CONVOLUTIONS];
    void (*free)(cm_cuda_plan *plan); /* what the vendor's libraries have made for it; set by its maker */
    cm_convolution_norm_plan *whole;  /* of a convolution and what follows it; NULL: one after the other */
};

/* Sets call->plan to the stream's plan for the call. One that is not there yet is made by `make`, which fills a zeroed
 * plan; the tensors of bits `kept` may not move while the plan lives. */
typedef cm_status (*cm_cuda_plan_maker)(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan);
cm_status cm_cuda_plan_find(cm_stream *stream, cm_call *call, uint32_t kept, cm_cuda_plan_maker make) CM_MUST_USE;

void cm_cuda_plans_free(cm_stream *stream); /* all of them */

#ifdef __cplusplus
}
#endif
#endif
