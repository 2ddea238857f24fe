/* Dense layers: products of a few rows with packed weights, in one pass over the output with bias, action encoding and
 * relu. */
#include "backend/cpu/cpu.h"

#include "core/arena.h"

#include <stdlib.h>
#include <string.h>

typedef struct dense_plan {
    cm_plan plan;
    cm_gemm gemm;
    bool bf16;
} dense_plan;

typedef struct dense_backward_plan {
    cm_plan plan;
    cm_gemm dx;      /* rows of dy with the weight */
    cm_gemm dweight; /* dy^T with x */
    bool bf16;
    int columns;                             /* of the action encoding */
    size_t pairs_dy, pairs_x, rows_dy, sums; /* places in the scratch memory */
} dense_backward_plan;

static int padded(int n) { return (n + CM_GEMM_PANEL - 1) / CM_GEMM_PANEL * CM_GEMM_PANEL; }

/* The columns of the layer's weight that meet x, in one layout. */
static cm_status acquire(cm_stream *stream, const cm_tensor *weight, int inputs, cm_pack_layout layout, cm_pack **out) {
    cm_pack wanted = {.layout = layout,
                      .kernels = &cm_cpu_of(stream)->kernels,
                      .weight = weight->data,
                      .rows = weight->dim[0],
                      .columns = inputs,
                      .stride = weight->stride};
    cm_pack_describe(&wanted);
    return cm_pack_acquire(cm_cpu_of(stream), &wanted, out);
}

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

/* Lets b be the panels of a pack of depth k. */
static void set_packed(cm_gemm *g, const cm_pack *pack) {
    g->b = pack->data;
    g->b_step = CM_GEMM_PANEL;
    g->b_panel = (size_t)g->k * CM_GEMM_PANEL;
}

cm_status cm_cpu_plan_dense(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = &call->t[CM_T_dense_x], *weight = &call->t[CM_T_dense_weight], *y = &call->t[CM_T_dense_y];
    const cm_tensor *action = &call->t[CM_T_dense_action];
    dense_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->bf16 = cm_cpu_uses_bf16(stream, call);
    int inputs = x->dim[1], depth = p->bf16 ? (inputs + 1) / 2 : inputs;
    p->gemm = (cm_gemm){.m = x->dim[0],
                        .n = weight->dim[0],
                        .k = depth,
                        .lda = p->bf16 ? depth : x->stride,
                        .ldc = y->stride,
                        .relu = call->attr.activation == CM_ACT_RELU,
                        .accumulate = call->attr.accumulate >> CM_T_dense_y & 1u};
    CM_TRY(acquire(stream, weight, inputs, p->bf16 ? CM_PACK_FORWARD_BF16 : CM_PACK_FORWARD, &p->plan.packs[0]));
    set_packed(&p->gemm, p->plan.packs[0]);
    if (action->data) {
        CM_TRY(acquire_actions(stream, call, p->bf16, &p->plan.packs[1]));
        p->gemm.table = p->plan.packs[1]->data;
        p->gemm.ldt = padded(weight->dim[0]);
    }
    return p->bf16 ? cm_cpu_reserve(stream, (size_t)p->gemm.m * depth * sizeof(float)) : CM_OK;
}

static cm_status check_actions(const cm_call *call, const cm_tensor *action) {
    const int32_t *index = action->data;
    if (!index) return CM_OK;
    bool bad = false;
    for (int b = 0; b < action->dim[0]; b++) bad |= (uint32_t)index[b] >= (uint32_t)call->attr.actions;
    return bad ? cm_fail(CM_ERR_INPUT, "%s: an action is outside [0, %d)", cm_op_name(call->op), call->attr.actions)
               : CM_OK;
}

cm_status cm_cpu_dense(cm_stream *stream, const cm_call *call) {
    const dense_plan *p = call->plan;
    CM_TRY(check_actions(call, &call->t[CM_T_dense_action]));
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const cm_tensor *x = &call->t[CM_T_dense_x];
    cm_gemm g = p->gemm;
    g.a = x->data;
    g.c = call->t[CM_T_dense_y].data;
    g.bias = call->t[CM_T_dense_bias].data;
    g.action = call->t[CM_T_dense_action].data;
    if (!p->bf16) {
        kernels->gemm(&g);
        return CM_OK;
    }
    float *rows = (float *)cm_lane_of(stream)->scratch;
    kernels->bf16_rows(rows, x->data, x->stride, x->dim[0], x->dim[1]);
    g.a = rows;
    kernels->gemm_bf16(&g);
    return CM_OK;
}

/* ---- backward ---- */

static size_t take(size_t *used, size_t floats) {
    size_t place = *used;
    *used += cm_align(floats * sizeof(float));
    return place;
}

/* Room for the converted operands and for the sums over the rows of each action. */
static size_t plan_scratch(dense_backward_plan *p, const cm_tensor *dy, int inputs) {
    size_t used = 0, pairs = (size_t)(dy->dim[0] + 1) / 2;
    if (p->bf16) {
        p->pairs_dy = take(&used, pairs * padded(dy->dim[1]));
        p->pairs_x = take(&used, pairs * padded(inputs));
        p->rows_dy = take(&used, (size_t)dy->dim[0] * ((dy->dim[1] + 1) / 2));
    }
    p->sums = take(&used, (size_t)p->columns * dy->dim[1]);
    return used;
}

static void plan_dweight(dense_backward_plan *p, const cm_call *call) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *x = &call->t[CM_T_dense_backward_x];
    const cm_tensor *dweight = &call->t[CM_T_dense_backward_dweight];
    p->dweight = (cm_gemm){.m = dy->dim[1],
                           .n = x->dim[1],
                           .k = p->bf16 ? (dy->dim[0] + 1) / 2 : dy->dim[0],
                           .lda = p->bf16 ? padded(dy->dim[1]) : dy->stride,
                           .b_panel = CM_GEMM_PANEL,
                           .b_step = p->bf16 ? (size_t)padded(x->dim[1]) : (size_t)x->stride,
                           .n_load = p->bf16 ? padded(x->dim[1]) : x->dim[1],
                           .ldc = dweight->stride,
                           .accumulate = call->attr.accumulate >> CM_T_dense_backward_dweight & 1u};
}

cm_status cm_cpu_plan_dense_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *x = &call->t[CM_T_dense_backward_x];
    const cm_tensor *weight = &call->t[CM_T_dense_backward_weight], *dx = &call->t[CM_T_dense_backward_dx];
    dense_backward_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->bf16 = cm_cpu_uses_bf16(stream, call);
    int inputs = x->dim[1], depth = p->bf16 ? (dy->dim[1] + 1) / 2 : dy->dim[1];
    p->columns = weight->dim[1] - inputs;
    if (dx->data) {
        cm_pack_layout layout = p->bf16 ? CM_PACK_BACKWARD_BF16 : CM_PACK_BACKWARD;
        CM_TRY(acquire(stream, weight, inputs, layout, &p->plan.packs[0]));
        p->dx = (cm_gemm){.m = dy->dim[0],
                          .n = inputs,
                          .k = depth,
                          .lda = p->bf16 ? depth : dy->stride,
                          .ldc = dx->stride,
                          .accumulate = call->attr.accumulate >> CM_T_dense_backward_dx & 1u};
        set_packed(&p->dx, p->plan.packs[0]);
    }
    if (call->t[CM_T_dense_backward_dweight].data) plan_dweight(p, call);
    return cm_cpu_reserve(stream, plan_scratch(p, dy, inputs));
}

/* The columns of dweight that belong to the action encoding: sums of the rows of dy by action, then written as columns.
 */
static void action_gradient(const dense_backward_plan *p, const cm_call *call, float *sums) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *dweight = &call->t[CM_T_dense_backward_dweight];
    const int32_t *action = call->t[CM_T_dense_backward_action].data;
    bool scaled = call->attr.encoding == CM_ENCODE_SCALED;
    int outputs = dy->dim[1];
    memset(sums, 0, (size_t)p->columns * outputs * sizeof(float));
    for (int b = 0; b < dy->dim[0]; b++) {
        const float *row = (const float *)dy->data + (size_t)b * dy->stride;
        float factor = scaled ? cm_cpu_rounded((float)action[b] / (float)call->attr.actions, p->bf16) : 1.0f;
        float *sum = sums + (scaled ? 0 : (size_t)action[b] * outputs);
        for (int o = 0; o < outputs; o++) sum[o] += factor * cm_cpu_rounded(row[o], p->bf16);
    }
    float *column = (float *)dweight->data + p->dweight.n;
    for (int o = 0; o < outputs; o++, column += dweight->stride) {
        for (int e = 0; e < p->columns; e++) {
            float sum = sums[(size_t)e * outputs + o];
            column[e] = p->dweight.accumulate ? column[e] + sum : sum;
        }
    }
}

static void run_dweight(const dense_backward_plan *p, const cm_kernels *kernels, const cm_call *call,
                        unsigned char *scratch) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy], *x = &call->t[CM_T_dense_backward_x];
    cm_gemm g = p->dweight;
    g.c = call->t[CM_T_dense_backward_dweight].data;
    if (p->bf16) {
        float *a = (float *)(scratch + p->pairs_dy), *b = (float *)(scratch + p->pairs_x);
        kernels->bf16_pairs(a, g.lda, dy->data, dy->stride, dy->dim[0], dy->dim[1]);
        kernels->bf16_pairs(b, (int)g.b_step, x->data, x->stride, x->dim[0], x->dim[1]);
        g.a = a;
        g.b = b;
        kernels->gemm_bf16_across(&g);
    } else {
        g.a = dy->data;
        g.b = x->data;
        kernels->gemm_across(&g);
    }
    if (p->columns) action_gradient(p, call, (float *)(scratch + p->sums));
}

static void run_dx(const dense_backward_plan *p, const cm_kernels *kernels, const cm_call *call,
                   unsigned char *scratch) {
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy];
    cm_gemm g = p->dx;
    g.c = call->t[CM_T_dense_backward_dx].data;
    if (p->bf16) {
        float *rows = (float *)(scratch + p->rows_dy);
        kernels->bf16_rows(rows, dy->data, dy->stride, dy->dim[0], dy->dim[1]);
        g.a = rows;
        kernels->gemm_bf16(&g);
    } else {
        g.a = dy->data;
        kernels->gemm(&g);
    }
}

cm_status cm_cpu_dense_backward(cm_stream *stream, const cm_call *call) {
    const dense_backward_plan *p = call->plan;
    CM_TRY(check_actions(call, &call->t[CM_T_dense_backward_action]));
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const cm_tensor *dy = &call->t[CM_T_dense_backward_dy];
    unsigned char *scratch = cm_lane_of(stream)->scratch;
    if (call->t[CM_T_dense_backward_dweight].data) run_dweight(p, kernels, call, scratch);
    if (call->t[CM_T_dense_backward_dbias].data) {
        bool accumulate = call->attr.accumulate >> CM_T_dense_backward_dbias & 1u;
        kernels->column_sums(call->t[CM_T_dense_backward_dbias].data, dy->data, dy->stride, dy->dim[0], dy->dim[1],
                             accumulate);
    }
    if (call->t[CM_T_dense_backward_dx].data) run_dx(p, kernels, call, scratch);
    return CM_OK;
}
