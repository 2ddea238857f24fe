#include "backend/cuda/ops/plan.h"

#include <stdlib.h>

#include "core/arena.h"

static void free_plan(const cm_stream *stream, cm_cuda_plan *plan) {
    cm_weights_release(cm_ops_weights(stream), plan->copy);
    if (plan->free) plan->free(plan);
    free(plan);
}

/* The copy of the weight may be older than the weight, or of another weight that had its address. */
static cm_status use_known(cm_stream *stream, cm_call *call, cm_cuda_plan *plan) {
    call->plan = plan;
    if (!plan->copy) return CM_OK;
    const cm_weight_copy *copy = plan->copy;
    size_t elements = (size_t)(copy->rows - 1) * (size_t)copy->step + (size_t)copy->columns;
    int result = cm_weights_renew(cm_ops_weights(stream), cm_ops_queue(stream), copy->weight, elements * sizeof(float));
    return cm_ops_launched(stream, result, cm_op_name(call->op));
}

cm_status cm_cuda_plan_find(cm_stream *stream, cm_call *call, uint32_t kept, cm_cuda_plan_maker make) {
    const cm_call_key key = cm_call_key_of(call, kept);
    cm_cuda_plan **first = (cm_cuda_plan **)cm_ops_plans(stream);
    for (cm_cuda_plan *plan = *first; plan; plan = plan->next)
        if (cm_call_key_same(&plan->key, &key)) return use_known(stream, call, plan);
    cm_cuda_plan *plan = NULL;
    CM_TRY(cm_alloc(&plan, 1, sizeof *plan, "a plan"));
    plan->key = key;
    cm_status status = make(stream, call, plan);
    if (status != CM_OK) {
        free_plan(stream, plan);
        return status;
    }
    plan->next = *first;
    *first = plan;
    call->plan = plan;
    return CM_OK;
}

void cm_cuda_plans_free(cm_stream *stream) {
    cm_cuda_plan **first = (cm_cuda_plan **)cm_ops_plans(stream);
    for (cm_cuda_plan *plan = *first, *next; plan; plan = next) {
        next = plan->next;
        free_plan(stream, plan);
    }
    *first = NULL;
}
