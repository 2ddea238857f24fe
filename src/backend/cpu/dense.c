/* Dense layers: products of a few rows with packed weights, in one pass over the output with bias, action encoding and
 * relu. */
#include "backend/cpu/int8.h"
#include "backend/cpu/product.h"

#include "core/arena.h"

#include <stdlib.h>
#include <string.h>

typedef struct dense_plan {
    cm_plan plan;
    cm_product product;
} dense_plan;

typedef struct dense_backward_plan {
    cm_plan plan;
    cm_product dx;      /* rows of dy with the weight */
    cm_product dweight; /* dy^T with x */
    int columns;        /* of the action encoding */
    size_t sums;        /* place in the scratch memory: sums over the rows of each action */
} dense_backward_plan;

/* What each action adds to the output. */
static cm_status acquire_actions(cm_stream *stream, const cm_call *call, bool bf16, cm_pack **out) {
    const cm_tensor *weight = &call->t[CM_T_dense_weight];
    int inputs = call->t[CM_T_dense_x].dim[1];
    cm_pack wanted = {.layout = bf16 ? CM_PACK_ACTIONS_BF16 : CM_PACK_ACTIONS,
                      .weight = weight->data,
                      .rows = weight->dim[0],
                      .columns = weight->dim[1] - inputs,
                      .stride = weight->stride,
                      .first = inputs,
                      .tag = call->attr.encoding == CM_ENCODE_SCALED ? (uint64_t)call->attr.actions : 0};
    cm_pack_describe(&wanted);
    return cm_pack_acquire(cm_cpu_of(stream), &wanted, out);
}

static cm_status run_dense(cm_stream *stream, const cm_call *call);

static cm_status plan_floats(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = &call->t[CM_T_dense_x], *weight = &call->t[CM_T_dense_weight], *y = &call->t[CM_T_dense_y];
    dense_plan *p = NULL;
    size_t used = 0;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.run = run_dense;
    const cm_product_shape shape = {.m = x->dim[0],
                                    .n = weight->dim[0],
                                    .k = x->dim[1],
                                    .a_row = x->stride,
                                    .c_row = y->stride,
                                    .bf16 = cm_cpu_uses_bf16(stream, call),
                                    .accumulate = call->attr.accumulate >> CM_T_dense_y & 1u};
    CM_TRY(cm_product_of_rows(stream, weight, shape.k, CM_PACK_FORWARD, &shape, &used, &p->product, &p->plan.packs[0]));
    p->product.gemm.relu = call->attr.activation == CM_ACT_RELU;
    if (call->t[CM_T_dense_action].data) {
        CM_TRY(acquire_actions(stream, call, shape.bf16, &p->plan.packs[1]));
        p->product.gemm.table = p->plan.packs[1]->data;
        p->product.gemm.ldt = cm_padded(weight->dim[0]);
    }
    return cm_cpu_reserve(stream, used);
}

static cm_status plan_int8(cm_stream *stream, const cm_call *call, cm_plan **out) {
    cm_pack *actions = NULL;
    if (call->t[CM_T_dense_action].data) CM_TRY(acquire_actions(stream, call, false, &actions));
    return cm_int8_plan(stream, call, actions, out);
}

cm_status cm_cpu_plan_dense(cm_stream *stream, const cm_call *call, cm_plan **out) {
    return (call->attr.compute == CM_I8 ? plan_int8 : plan_floats)(stream, call, out);
}

static cm_status check_actions(const cm_call *call, const cm_tensor *action) {
    const int32_t *index = action->data;
    if (!index) return CM_OK;
    bool bad = false;
    for (int b = 0; b < action->dim[0]; b++) bad |= (uint32_t)index[b] >= (uint32_t)call->attr.actions;
    return bad ? cm_fail(CM_ERR_INPUT, "%s: an action is outside [0, %d)", cm_op_name(call->op), call->attr.actions)
               : CM_OK;
}

static cm_status run_dense(cm_stream *stream, const cm_call *call) {
    const dense_plan *p = call->plan;
    cm_gemm g = p->product.gemm;
    g.a = call->t[CM_T_dense_x].data;
    g.c = call->t[CM_T_dense_y].data;
    g.bias = call->t[CM_T_dense_bias].data;
    g.action = call->t[CM_T_dense_action].data;
    cm_product_run_rows(stream, &p->product, &g);
    return CM_OK;
}

cm_status cm_cpu_dense(cm_stream *stream, const cm_call *call) {
    CM_TRY(check_actions(call, &call->t[CM_T_dense_action]));
    return ((const cm_plan *)call->plan)->run(stream, call);
}

/* ---- backward ---- */

cm_status cm_cpu_plan_dense_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *x = &call->t[CM_T_dense_backward_x];
    const cm_tensor *weight = &call->t[CM_T_dense_backward_weight], *dx = &call->t[CM_T_dense_backward_dx];
    const cm_tensor *dweight = &call->t[CM_T_dense_backward_dweight];
    const bool bf16 = cm_cpu_uses_bf16(stream, call);
    const int rows = dy->dim[0], outputs = dy->dim[1], inputs = x->dim[1];
    dense_backward_plan *p = NULL;
    size_t used = 0;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->columns = weight->dim[1] - inputs;
    if (dx->data) {
        const cm_product_shape shape = {.m = rows,
                                        .n = inputs,
                                        .k = outputs,
                                        .a_row = dy->stride,
                                        .c_row = dx->stride,
                                        .bf16 = bf16,
                                        .accumulate = call->attr.accumulate >> CM_T_dense_backward_dx & 1u};
        CM_TRY(cm_product_of_rows(stream, weight, inputs, CM_PACK_BACKWARD, &shape, &used, &p->dx, &p->plan.packs[0]));
    }
    if (dweight->data) {
        const cm_product_shape shape = {.m = outputs,
                                        .n = inputs,
                                        .k = rows,
                                        .a_row = dy->stride,
                                        .b_row = x->stride,
                                        .c_row = dweight->stride,
                                        .bf16 = bf16,
                                        .accumulate = call->attr.accumulate >> CM_T_dense_backward_dweight & 1u};
        p->dweight = cm_product_across(&shape, &used);
    }
    p->sums = cm_product_alloc(&used, (size_t)p->columns * (size_t)outputs);
    return cm_cpu_reserve(stream, used);
}

/* The columns of dweight that belong to the action encoding: sums of the rows of dy by action, then written as columns.
 */
static void action_gradient(const dense_backward_plan *p, const cm_call *call, float *sums) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *dweight = &call->t[CM_T_dense_backward_dweight];
    const int32_t *action = call->t[CM_T_dense_backward_action].data;
    const bool scaled = call->attr.encoding == CM_ENCODE_SCALED, bf16 = p->dweight.shape.bf16;
    int outputs = dy->dim[1];
    memset(sums, 0, (size_t)p->columns * outputs * sizeof(float));
    for (int b = 0; b < dy->dim[0]; b++) {
        const float *row = (const float *)dy->data + (size_t)b * dy->stride;
        float factor = scaled ? cm_cpu_rounded((float)action[b] / (float)call->attr.actions, bf16) : 1.0f;
        float *sum = sums + (scaled ? 0 : (size_t)action[b] * outputs);
        for (int o = 0; o < outputs; o++) sum[o] += factor * cm_cpu_rounded(row[o], bf16);
    }
    float *column = (float *)dweight->data + p->dweight.shape.n;
    for (int o = 0; o < outputs; o++, column += dweight->stride) {
        for (int e = 0; e < p->columns; e++) {
            float sum = sums[(size_t)e * outputs + o];
            column[e] = p->dweight.shape.accumulate ? column[e] + sum : sum;
        }
    }
}

static void run_dweight(cm_stream *stream, const cm_call *call) {
    const dense_backward_plan *p = call->plan;
    cm_gemm g = p->dweight.gemm;
    g.a = call->t[CM_T_dense_backward_dy].data;
    g.b = call->t[CM_T_dense_backward_x].data;
    g.c = call->t[CM_T_dense_backward_dweight].data;
    cm_product_run_across(stream, &p->dweight, &g);
    if (p->columns) action_gradient(p, call, (float *)(void *)(cm_lane_of(stream)->scratch + p->sums));
}

static void run_dx(cm_stream *stream, const cm_call *call) {
    const dense_backward_plan *p = call->plan;
    cm_gemm g = p->dx.gemm;
    g.a = call->t[CM_T_dense_backward_dy].data;
    g.c = call->t[CM_T_dense_backward_dx].data;
    cm_product_run_rows(stream, &p->dx, &g);
}

cm_status cm_cpu_dense_backward(cm_stream *stream, const cm_call *call) {
    CM_TRY(check_actions(call, &call->t[CM_T_dense_backward_action]));
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *dbias = &call->t[CM_T_dense_backward_dbias];
    if (call->t[CM_T_dense_backward_dweight].data) run_dweight(stream, call);
    if (dbias->data) {
        bool accumulate = call->attr.accumulate >> CM_T_dense_backward_dbias & 1u;
        cm_cpu_of(stream)->kernels.column_sums(dbias->data, dy->data, dy->stride, dy->dim[0], dy->dim[1], accumulate);
    }
    if (call->t[CM_T_dense_backward_dx].data) run_dx(stream, call);
    return CM_OK;
}
