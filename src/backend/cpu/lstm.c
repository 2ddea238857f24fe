/* lstm and its gradient: one product for the inputs of all steps and one per step for the state, as dense layers make
 * them; the gates of a step by the kernels of activations. Gates of a step: i f g o, then c and tanh(c). */
#include "backend/cpu/product.h"

#include "backend/formulas.h"
#include "core/arena.h"

#include <string.h>

typedef struct sizes {
    int T, B, inputs, H, gates;
} sizes;

static sizes sizes_of(const cm_tensor *x, const cm_tensor *y) {
    return (sizes){x->dim[0], x->dim[1], x->dim[2], y->dim[2], CM_LSTM_GATES * y->dim[2]};
}

static float *scratch_at(const cm_stream *stream, size_t place) {
    return (float *)(void *)(cm_lane_of(stream)->scratch + place);
}

/* ---- forward ---- */

typedef struct lstm_plan {
    cm_plan plan;
    cm_product input, hidden;
    /* places: sums at the gates of all steps; both biases; h0 without gaps; a step's part of `saved` where it is absent
     */
    size_t pre, bias, h0, state;
} lstm_plan;

cm_status cm_cpu_plan_lstm(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const sizes s = sizes_of(CM_ARG(call, lstm, x), CM_ARG(call, lstm, y));
    const bool bf16 = cm_cpu_uses_bf16(stream, call);
    const cm_product_shape input = {
        .m = s.T * s.B, .n = s.gates, .k = s.inputs, .a_row = s.inputs, .c_row = s.gates, .bf16 = bf16};
    const cm_product_shape hidden = {
        .m = s.B, .n = s.gates, .k = s.H, .a_row = s.H, .c_row = s.gates, .bf16 = bf16, .accumulate = true};
    const size_t units = (size_t)s.B * (size_t)s.H;
    lstm_plan *p = NULL;
    size_t used = 0;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->pre = cm_product_alloc(&used, (size_t)s.T * units * CM_LSTM_GATES);
    p->bias = cm_product_alloc(&used, (size_t)s.gates);
    p->h0 = cm_product_alloc(&used, units);
    p->state = cm_product_alloc(&used, units * CM_LSTM_SAVED);
    CM_TRY(cm_product_of_rows(stream, CM_ARG(call, lstm, weight_ih), s.inputs, CM_PACK_FORWARD, &input, &used,
                              &p->input, &p->plan.packs[0]));
    CM_TRY(cm_product_of_rows(stream, CM_ARG(call, lstm, weight_hh), s.H, CM_PACK_FORWARD, &hidden, &used, &p->hidden,
                              &p->plan.packs[1]));
    return cm_cpu_reserve(stream, used);
}

/* Rows of n floats after each other from a matrix [rows, n]. */
static void copy_rows(float *to, const cm_tensor *from) {
    const size_t n = (size_t)from->dim[1];
    for (int r = 0; r < from->dim[0]; r++)
        memcpy(to + (size_t)r * n, (const float *)from->data + (size_t)r * (size_t)from->stride, n * sizeof(float));
}

/* The sums at the gates of all steps that come from the inputs and the biases. */
static void run_inputs(cm_stream *stream, const cm_call *call) {
    const lstm_plan *p = call->plan;
    const float *ih = CM_ARG(call, lstm, bias_ih)->data, *hh = CM_ARG(call, lstm, bias_hh)->data;
    float *bias = scratch_at(stream, p->bias);
    cm_gemm g = p->input.gemm;
    for (int i = 0; i < g.n; i++) bias[i] = ih[i] + hh[i];
    g.a = CM_ARG(call, lstm, x)->data;
    g.c = scratch_at(stream, p->pre);
    g.bias = bias;
    cm_product_run_rows(stream, &p->input, &g);
}

/* Adds those that come from h on entering step t. */
static void run_hidden(cm_stream *stream, const cm_call *call, int t) {
    const lstm_plan *p = call->plan;
    const size_t step = (size_t)p->hidden.shape.m * (size_t)p->hidden.shape.k;
    cm_gemm g = p->hidden.gemm;
    g.a = t > 0 ? (const float *)CM_ARG(call, lstm, y)->data + (size_t)(t - 1) * step : scratch_at(stream, p->h0);
    g.c = scratch_at(stream, p->pre) + (size_t)t * step * CM_LSTM_GATES;
    cm_product_run_rows(stream, &p->hidden, &g);
}

/* to[rows, n] = act(from[rows, n]); rows are these many floats apart. */
typedef struct columns {
    const float *from;
    float *to;
    int from_row, to_row, n;
} columns;

static cm_status activate(cm_stream *stream, int rows, const columns *at, cm_activation activation) {
    cm_call call = {.op = CM_OP_activation, .attr.activation = activation};
    cm_tensor *y = &call.t[CM_T_activation_y], *x = &call.t[CM_T_activation_x];
    *y = cm_tensor_2d(at->to, CM_F32, rows, at->n);
    *x = cm_tensor_2d((float *)at->from, CM_F32, rows, at->n);
    y->stride = at->to_row;
    x->stride = at->from_row;
    return cm_cpu_of(stream)->run[CM_OP_activation](stream, &call);
}

/* Gates of a step's sums pre[B, 4H] into state[B, 6H]. */
static cm_status run_gates(cm_stream *stream, const sizes *s, const float *pre, float *state) {
    const int H = s->H, row = CM_LSTM_SAVED * H;
    const columns i_f = {pre, state, s->gates, row, 2 * H};
    const columns g = {pre + 2 * H, state + 2 * H, s->gates, row, H};
    const columns o = {pre + 3 * H, state + 3 * H, s->gates, row, H};
    CM_TRY(activate(stream, s->B, &i_f, CM_ACT_SIGMOID));
    CM_TRY(activate(stream, s->B, &g, CM_ACT_TANH));
    return activate(stream, s->B, &o, CM_ACT_SIGMOID);
}

/* Rows of the state c on entering a step; data NULL: zeros. */
typedef struct entering {
    const float *c;
    size_t row;
} entering;

static cm_status run_state(cm_stream *stream, const sizes *s, const entering *before, float *state, float *y) {
    const size_t H = (size_t)s->H, row = CM_LSTM_SAVED * H;
    for (size_t b = 0; b < (size_t)s->B; b++) {
        float *at = state + b * row;
        const float *c = before->c ? before->c + b * before->row : NULL;
        for (size_t j = 0; j < H; j++) at[4 * H + j] = at[j] * at[2 * H + j] + (c ? at[H + j] * c[j] : 0.0f);
    }
    const columns c = {state + 4 * H, state + 5 * H, (int)row, (int)row, s->H};
    CM_TRY(activate(stream, s->B, &c, CM_ACT_TANH));
    for (size_t b = 0; b < (size_t)s->B; b++) {
        const float *at = state + b * row;
        for (size_t j = 0; j < H; j++) y[b * H + j] = at[3 * H + j] * at[5 * H + j];
    }
    return CM_OK;
}

cm_status cm_cpu_lstm(cm_stream *stream, const cm_call *call) {
    const lstm_plan *p = call->plan;
    const cm_tensor *y = CM_ARG(call, lstm, y), *saved = CM_ARG(call, lstm, saved), *c0 = CM_ARG(call, lstm, c0);
    const sizes s = sizes_of(CM_ARG(call, lstm, x), y);
    const size_t units = (size_t)s.B * (size_t)s.H;
    entering before = {c0->data, (size_t)c0->stride};
    copy_rows(scratch_at(stream, p->h0), CM_ARG(call, lstm, h0));
    run_inputs(stream, call);
    for (int t = 0; t < s.T; t++) {
        const bool reset = cm_lstm_is_reset(call->attr.horizon, t);
        const float *pre = scratch_at(stream, p->pre) + (size_t)t * units * CM_LSTM_GATES;
        float *state =
            saved->data ? (float *)saved->data + (size_t)t * units * CM_LSTM_SAVED : scratch_at(stream, p->state);
        if (!reset) run_hidden(stream, call, t);
        if (reset) before.c = NULL;
        CM_TRY(run_gates(stream, &s, pre, state));
        CM_TRY(run_state(stream, &s, &before, state, (float *)y->data + (size_t)t * units));
        before = (entering){state + 4 * (size_t)s.H, CM_LSTM_SAVED * (size_t)s.H};
    }
    return CM_OK;
}

/* ---- backward ---- */

typedef struct lstm_backward_plan {
    cm_plan plan;
    cm_product dx, dh, dweight_ih, dweight_hh;
    /* places: gradients at the gates of all steps; what arrives at h and c; h on entering each step */
    size_t dgate, arrives_h, arrives_c, entering;
} lstm_backward_plan;

static sizes backward_sizes(const cm_call *call) {
    return sizes_of(CM_ARG(call, lstm_backward, x), CM_ARG(call, lstm_backward, y));
}

/* Gradients at the gates of `rows` samples, through a weight to n columns. */
static cm_product_shape through_weight(const sizes *s, int rows, int n, bool bf16) {
    return (cm_product_shape){.m = rows, .n = n, .k = s->gates, .a_row = s->gates, .c_row = n, .bf16 = bf16};
}

/* The gradient of a weight of n columns. */
static cm_product_shape of_weight(const sizes *s, const cm_tensor *dweight, bool bf16, bool add) {
    const int n = dweight->dim[1];
    return (cm_product_shape){.m = s->gates,
                              .n = n,
                              .k = s->T * s->B,
                              .a_row = s->gates,
                              .b_row = n,
                              .c_row = dweight->stride,
                              .bf16 = bf16,
                              .accumulate = add};
}

cm_status cm_cpu_plan_lstm_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const sizes s = backward_sizes(call);
    const bool bf16 = cm_cpu_uses_bf16(stream, call);
    cm_product_shape dx = through_weight(&s, s.T * s.B, s.inputs, bf16), dh = through_weight(&s, s.B, s.H, bf16);
    const cm_product_shape of_ih =
        of_weight(&s, CM_ARG(call, lstm_backward, dweight_ih), bf16, CM_ADDS(call, lstm_backward, dweight_ih));
    const cm_product_shape of_hh =
        of_weight(&s, CM_ARG(call, lstm_backward, dweight_hh), bf16, CM_ADDS(call, lstm_backward, dweight_hh));
    const size_t units = (size_t)s.B * (size_t)s.H;
    lstm_backward_plan *p = NULL;
    size_t used = 0;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    dx.accumulate = CM_ADDS(call, lstm_backward, dx);
    p->dgate = cm_product_alloc(&used, (size_t)s.T * units * CM_LSTM_GATES);
    p->arrives_h = cm_product_alloc(&used, units);
    p->arrives_c = cm_product_alloc(&used, units);
    p->entering = cm_product_alloc(&used, (size_t)s.T * units);
    CM_TRY(cm_product_of_rows(stream, CM_ARG(call, lstm_backward, weight_ih), s.inputs, CM_PACK_BACKWARD, &dx, &used,
                              &p->dx, &p->plan.packs[0]));
    CM_TRY(cm_product_of_rows(stream, CM_ARG(call, lstm_backward, weight_hh), s.H, CM_PACK_BACKWARD, &dh, &used, &p->dh,
                              &p->plan.packs[1]));
    p->dweight_ih = cm_product_across(&of_ih, &used);
    p->dweight_hh = cm_product_across(&of_hh, &used);
    return cm_cpu_reserve(stream, used);
}

/* The gates' gradients of row b of step t; dh[H] has arrived at h, and dc[H] at c, which becomes what arrives at c of
 * the step before. */
static void row_slopes(const cm_call *call, int t, int b, float *dgate, const float *dh, float *dc) {
    const sizes s = backward_sizes(call);
    const size_t H = (size_t)s.H, row = (size_t)t * (size_t)s.B + (size_t)b;
    const cm_tensor *c0 = CM_ARG(call, lstm_backward, c0);
    const float *saved = (const float *)CM_ARG(call, lstm_backward, saved)->data + row * CM_LSTM_SAVED * H;
    const float *dy = (const float *)CM_ARG(call, lstm_backward, dy)->data + row * H;
    const float *c = t > 0 ? saved - (size_t)s.B * CM_LSTM_SAVED * H + 4 * H
                           : (const float *)c0->data + (size_t)b * (size_t)c0->stride;
    const bool reset = cm_lstm_is_reset(call->attr.horizon, t);
    for (size_t j = 0; j < H; j++) {
        const cm_lstm_unit_f u = {
            {saved[j], saved[H + j], saved[2 * H + j], saved[3 * H + j]}, saved[4 * H + j], saved[5 * H + j]};
        const float arrives[2] = {dh[j] + dy[j], dc[j]};
        float slope[CM_LSTM_GATES];
        dc[j] = cm_lstm_unit_slope_f(&u, c[j], reset, arrives, slope);
        for (size_t k = 0; k < CM_LSTM_GATES; k++) dgate[k * H + j] = slope[k];
    }
}

/* The gates' gradients of a step, and what arrives at h of the one before. */
static void step_backward(cm_stream *stream, const cm_call *call, int t) {
    const lstm_backward_plan *p = call->plan;
    const sizes s = backward_sizes(call);
    const size_t H = (size_t)s.H, units = (size_t)s.B * H;
    float *dgate = scratch_at(stream, p->dgate) + (size_t)t * units * CM_LSTM_GATES;
    float *dh = scratch_at(stream, p->arrives_h), *dc = scratch_at(stream, p->arrives_c);
    for (int b = 0; b < s.B; b++) {
        const size_t first = (size_t)b * H;
        row_slopes(call, t, b, dgate + first * CM_LSTM_GATES, dh + first, dc + first);
    }
    if (cm_lstm_is_reset(call->attr.horizon, t)) {
        memset(dh, 0, units * sizeof *dh);
        return;
    }
    cm_gemm g = p->dh.gemm;
    g.a = dgate;
    g.c = dh;
    cm_product_run_rows(stream, &p->dh, &g);
}

/* h on entering each step. */
static void enter_all(const cm_call *call, float *to) {
    const sizes s = backward_sizes(call);
    const size_t units = (size_t)s.B * (size_t)s.H;
    const float *y = CM_ARG(call, lstm_backward, y)->data;
    copy_rows(to, CM_ARG(call, lstm_backward, h0));
    memcpy(to + units, y, (size_t)(s.T - 1) * units * sizeof *to);
    for (int t = 1; t < s.T; t++)
        if (cm_lstm_is_reset(call->attr.horizon, t)) memset(to + (size_t)t * units, 0, units * sizeof *to);
}

/* What needs the gradients at the gates of all steps. */
static void whole_gradients(cm_stream *stream, const cm_call *call) {
    const lstm_backward_plan *p = call->plan;
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const sizes s = backward_sizes(call);
    const float *dgate = scratch_at(stream, p->dgate);
    float *h = scratch_at(stream, p->entering);
    cm_gemm dx = p->dx.gemm, of_ih = p->dweight_ih.gemm, of_hh = p->dweight_hh.gemm;
    enter_all(call, h);
    dx.a = of_ih.a = of_hh.a = dgate;
    of_ih.b = CM_ARG(call, lstm_backward, x)->data, of_hh.b = h;
    dx.c = CM_ARG(call, lstm_backward, dx)->data;
    of_ih.c = CM_ARG(call, lstm_backward, dweight_ih)->data;
    of_hh.c = CM_ARG(call, lstm_backward, dweight_hh)->data;
    cm_product_run_rows(stream, &p->dx, &dx);
    cm_product_run_across(stream, &p->dweight_ih, &of_ih);
    cm_product_run_across(stream, &p->dweight_hh, &of_hh);
    kernels->column_sums(CM_ARG(call, lstm_backward, dbias_ih)->data, dgate, s.gates, s.T * s.B, s.gates,
                         CM_ADDS(call, lstm_backward, dbias_ih));
    kernels->column_sums(CM_ARG(call, lstm_backward, dbias_hh)->data, dgate, s.gates, s.T * s.B, s.gates,
                         CM_ADDS(call, lstm_backward, dbias_hh));
}

/* dh0 or dc0, where it is wanted, (+)= what arrives in front of the first step. */
static void initial_gradient(const cm_tensor *to, const float *from, bool add) {
    const size_t n = to->data ? (size_t)to->dim[1] : 0;
    for (size_t r = 0; to->data && r < (size_t)to->dim[0]; r++) {
        float *row = (float *)to->data + r * (size_t)to->stride;
        for (size_t i = 0; i < n; i++) row[i] = add ? row[i] + from[r * n + i] : from[r * n + i];
    }
}

cm_status cm_cpu_lstm_backward(cm_stream *stream, const cm_call *call) {
    const lstm_backward_plan *p = call->plan;
    const sizes s = backward_sizes(call);
    const size_t bytes = (size_t)s.B * (size_t)s.H * sizeof(float);
    float *dh = scratch_at(stream, p->arrives_h), *dc = scratch_at(stream, p->arrives_c);
    memset(dh, 0, bytes);
    memset(dc, 0, bytes);
    for (int t = s.T - 1; t >= 0; t--) step_backward(stream, call, t);
    whole_gradients(stream, call);
    initial_gradient(CM_ARG(call, lstm_backward, dh0), dh, CM_ADDS(call, lstm_backward, dh0));
    initial_gradient(CM_ARG(call, lstm_backward, dc0), dc, CM_ADDS(call, lstm_backward, dc0));
    return CM_OK;
}
