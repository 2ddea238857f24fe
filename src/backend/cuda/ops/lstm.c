/* lstm: one product for the inputs of all steps, one per step for the hidden state, kernels for the gates. Its weights
 * may move from run to run, so their 16-bit copies are made in every run. */
#include "backend/cuda/ops/lstm.h"

#include "backend/cuda/ops/columns.h"
#include "backend/cuda/ops/dense.h"
#include "backend/cuda/ops/elementwise.h"
#include "backend/cuda/ops/plan.h"

typedef struct sizes {
    int T, B, inputs, H, gates;
    cm_dtype type; /* of products */
} sizes;

static sizes sizes_of(const cm_call *call, const cm_tensor *x, const cm_tensor *y) {
    return (sizes){.T = x->dim[0],
                   .B = x->dim[1],
                   .inputs = x->dim[2],
                   .H = y->dim[2],
                   .gates = CM_LSTM_GATES * y->dim[2],
                   .type = call->attr.compute};
}

static size_t floats(int64_t rows, int columns) { return (size_t)rows * (size_t)columns * sizeof(float); }

static bool is_half(const sizes *s) { return s->type != CM_F32; }

/* Space for a matrix [rows, columns] as a product reads it, where that is not as it lies. */
static size_t operand_piece(size_t *used, const sizes *s, int64_t rows, int columns) {
    return cm_ops_piece(used, is_half(s) ? (size_t)rows * (size_t)cm_half_row(columns) * sizeof(uint16_t) : 0);
}

/* Elements from row to row of an operand whose rows are `step` apart in float32. */
static int64_t operand_row(const sizes *s, int columns, int64_t step) {
    return is_half(s) ? cm_half_row(columns) : step;
}

/* Gaps of what a product reads: copies have none; the steps of a tensor have what is common to all. */
static int gap_of(const void *data, const sizes *s) { return is_half(s) ? 0 : cm_alignment_gap(data); }
static int step_gap(const sizes *s, const void *first, int columns) {
    bool whole = cm_alignment_gap(first) == 0 && s->B * columns % 4 == 0;
    return whole ? 0 : (int)sizeof(float);
}

/* The matrix for a product: itself, or its copy at `place`. */
typedef struct matrix {
    const float *data;
    int64_t rows;
    int columns;
    int64_t step;
} matrix;

static cm_status operand(cm_stream *stream, const cm_call *call, const matrix *m, size_t place, const void **out) {
    *out = m->data;
    if (call->attr.compute == CM_F32) return CM_OK;
    void *copy = cm_ops_at(stream, place);
    cm_rows from = {(float *)m->data, m->step};
    cm_dense_args args = {.x = from, .n = m->columns, .to = copy, .type = call->attr.compute};
    args.half_stride = args.columns = cm_half_row(m->columns);
    CM_TRY(cm_half_run(stream, call, &args, m->rows));
    *out = copy;
    return CM_OK;
}

static matrix matrix_of(const cm_tensor *t) { return (matrix){t->data, t->dim[0], t->dim[1], t->stride}; }

/* ---- forward ---- */

enum { INPUT, HIDDEN };

/* Workspace: sums at the gates of all steps; the state c; h0 without gaps; operands of products. */
typedef struct forward_places {
    size_t pre, c, h0, x, h, weight_ih, weight_hh, bytes;
} forward_places;

static forward_places places_of(const sizes *s) {
    forward_places p = {0};
    p.pre = cm_ops_piece(&p.bytes, floats((int64_t)s->T * s->B, s->gates));
    p.c = cm_ops_piece(&p.bytes, floats(s->B, s->H));
    p.h0 = cm_ops_piece(&p.bytes, floats(s->B, s->H));
    p.x = operand_piece(&p.bytes, s, (int64_t)s->T * s->B, s->inputs);
    p.h = operand_piece(&p.bytes, s, s->B, s->H);
    p.weight_ih = operand_piece(&p.bytes, s, s->gates, s->inputs);
    p.weight_hh = operand_piece(&p.bytes, s, s->gates, s->H);
    return p;
}

size_t cm_cuda_lstm_workspace(const cm_call *call) {
    const sizes s = sizes_of(call, CM_ARG(call, lstm, x), CM_ARG(call, lstm, y));
    return places_of(&s).bytes;
}

static cm_status make_lstm(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *weight_ih = CM_ARG(call, lstm, weight_ih), *weight_hh = CM_ARG(call, lstm, weight_hh);
    sizes s = sizes_of(call, CM_ARG(call, lstm, x), CM_ARG(call, lstm, y));
    cm_cuda_product input = {.m = s.T * s.B,
                             .n = s.gates,
                             .k = s.inputs,
                             .b_across = true,
                             .a_row = operand_row(&s, s.inputs, s.inputs),
                             .b_row = operand_row(&s, s.inputs, weight_ih->stride),
                             .c_row = s.gates,
                             .a_gap = gap_of(CM_ARG(call, lstm, x)->data, &s),
                             .b_gap = gap_of(weight_ih->data, &s),
                             .type = s.type};
    cm_cuda_product hidden = {.m = s.B,
                              .n = s.gates,
                              .k = s.H,
                              .b_across = true,
                              .a_row = operand_row(&s, s.H, s.H),
                              .b_row = operand_row(&s, s.H, weight_hh->stride),
                              .c_row = s.gates,
                              .a_gap = step_gap(&s, CM_ARG(call, lstm, y)->data, s.H),
                              .b_gap = gap_of(weight_hh->data, &s),
                              .c_gap = step_gap(&s, NULL, s.gates),
                              .type = s.type,
                              .accumulate = true};
    plan->free = cm_cuda_free_products;
    CM_TRY(cm_product_prepare(stream, &input, &plan->product[INPUT]));
    return cm_product_prepare(stream, &hidden, &plan->product[HIDDEN]);
}

cm_status cm_cuda_lstm_prepare(cm_stream *stream, cm_call *call) {
    return cm_cuda_plan_find(stream, call, 0, make_lstm);
}

/* Copies rows of n floats: contiguous ones after each other from rows `step` apart. */
static cm_status copy_rows(cm_stream *stream, const cm_call *call, float *to, const matrix *from) {
    cm_rows x = {(float *)from->data, from->step}, y = {to, from->columns};
    cm_map_args args = {.out = y, .a = x, .n = from->columns, .scale = 1.0f};
    CM_LAUNCH(stream, call, cm_map_scale, &args, from->rows * from->columns, 1);
    return CM_OK;
}

/* Adds h W_hh^T to the sums of a step. */
static cm_status add_hidden(cm_stream *stream, const cm_call *call, int t, const void *weight, float *pre) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *y = CM_ARG(call, lstm, y);
    sizes s = sizes_of(call, CM_ARG(call, lstm, x), y);
    forward_places p = places_of(&s);
    size_t step = (size_t)s.B * (size_t)s.H;
    matrix h = {cm_ops_at(stream, p.h0), s.B, s.H, s.H};
    if (t > 0) h.data = (float *)y->data + (size_t)(t - 1) * step;
    cm_product_data data = {.b = weight, .c = pre};
    CM_TRY(operand(stream, call, &h, p.h, &data.a));
    return cm_product_run(stream, plan->product[HIDDEN], &data);
}

static cm_status run_step(cm_stream *stream, const cm_call *call, int t, const void *weight_hh) {
    const cm_tensor *y = CM_ARG(call, lstm, y), *saved = CM_ARG(call, lstm, saved);
    sizes s = sizes_of(call, CM_ARG(call, lstm, x), y);
    forward_places p = places_of(&s);
    size_t step = (size_t)s.B * (size_t)s.H;
    bool reset = cm_lstm_is_reset(call->attr.horizon, t);
    float *pre = (float *)cm_ops_at(stream, p.pre) + (size_t)t * step * CM_LSTM_GATES;
    if (!reset) CM_TRY(add_hidden(stream, call, t, weight_hh, pre));
    cm_lstm_args args = {.B = s.B,
                         .H = s.H,
                         .reset = reset,
                         .pre = pre,
                         .y = (float *)y->data + (size_t)t * step,
                         .c = cm_ops_at(stream, p.c),
                         .saved = saved->data ? (float *)saved->data + (size_t)t * step * CM_LSTM_SAVED : NULL,
                         .bias_ih = CM_ARG(call, lstm, bias_ih)->data,
                         .bias_hh = CM_ARG(call, lstm, bias_hh)->data};
    CM_LAUNCH(stream, call, cm_lstm_step_each, &args, (int64_t)step, 1);
    return CM_OK;
}

cm_status cm_cuda_lstm(cm_stream *stream, const cm_call *call) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *x = CM_ARG(call, lstm, x);
    sizes s = sizes_of(call, x, CM_ARG(call, lstm, y));
    forward_places p = places_of(&s);
    matrix inputs = {x->data, (int64_t)s.T * s.B, s.inputs, s.inputs};
    matrix weight_ih = matrix_of(CM_ARG(call, lstm, weight_ih)), weight_hh = matrix_of(CM_ARG(call, lstm, weight_hh));
    matrix h0 = matrix_of(CM_ARG(call, lstm, h0)), c0 = matrix_of(CM_ARG(call, lstm, c0));
    cm_product_data data = {.c = cm_ops_at(stream, p.pre)};
    const void *hidden;
    CM_TRY(copy_rows(stream, call, cm_ops_at(stream, p.c), &c0));
    CM_TRY(copy_rows(stream, call, cm_ops_at(stream, p.h0), &h0));
    CM_TRY(operand(stream, call, &inputs, p.x, &data.a));
    CM_TRY(operand(stream, call, &weight_ih, p.weight_ih, &data.b));
    CM_TRY(operand(stream, call, &weight_hh, p.weight_hh, &hidden));
    CM_TRY(cm_product_run(stream, plan->product[INPUT], &data));
    for (int t = 0; t < s.T; t++) CM_TRY(run_step(stream, call, t, hidden));
    return CM_OK;
}

/* ---- backward ---- */

enum { DX, DH, DWEIGHT_IH, DWEIGHT_HH };

/* Workspace: gradients at the gates of all steps, and of h and c; the state h on entering each step; operands. */
typedef struct backward_places {
    size_t dgate, dh, dc, h, all, step, x, entering, weight_ih, weight_hh, sums, bytes;
} backward_places;

static backward_places backward_places_of(const sizes *s) {
    int64_t rows = (int64_t)s->T * s->B;
    cm_chunks chunks = cm_chunks_of(rows, s->gates, 1);
    backward_places p = {0};
    p.dgate = cm_ops_piece(&p.bytes, floats(rows, s->gates));
    p.dh = cm_ops_piece(&p.bytes, floats(s->B, s->H));
    p.dc = cm_ops_piece(&p.bytes, floats(s->B, s->H));
    p.h = cm_ops_piece(&p.bytes, floats(rows, s->H));
    p.all = operand_piece(&p.bytes, s, rows, s->gates);
    p.step = operand_piece(&p.bytes, s, s->B, s->gates);
    p.x = operand_piece(&p.bytes, s, rows, s->inputs);
    p.entering = operand_piece(&p.bytes, s, rows, s->H);
    p.weight_ih = operand_piece(&p.bytes, s, s->gates, s->inputs);
    p.weight_hh = operand_piece(&p.bytes, s, s->gates, s->H);
    p.sums = cm_ops_piece(&p.bytes, cm_chunks_bytes(&chunks));
    return p;
}

static sizes backward_sizes(const cm_call *call) {
    return sizes_of(call, CM_ARG(call, lstm_backward, x), CM_ARG(call, lstm_backward, y));
}

size_t cm_cuda_lstm_backward_workspace(const cm_call *call) {
    const sizes s = backward_sizes(call);
    return backward_places_of(&s).bytes;
}

/* Gradients at the gates of `rows` samples through a weight of n columns. */
static cm_cuda_product through_weight(const sizes *s, int rows, int n, const cm_tensor *weight) {
    return (cm_cuda_product){.m = rows,
                             .n = n,
                             .k = s->gates,
                             .a_row = operand_row(s, s->gates, s->gates),
                             .b_row = operand_row(s, n, weight->stride),
                             .c_row = n,
                             .a_gap = is_half(s) ? 0 : step_gap(s, NULL, s->gates),
                             .b_gap = gap_of(weight->data, s),
                             .type = s->type};
}

/* The gradient of a weight of n columns: gates across all samples with what the weight met. */
static cm_cuda_product of_weight(const sizes *s, int n, const cm_tensor *dweight, bool add) {
    return (cm_cuda_product){.m = s->gates,
                             .n = n,
                             .k = s->T * s->B,
                             .a_across = true,
                             .a_row = operand_row(s, s->gates, s->gates),
                             .b_row = operand_row(s, n, n),
                             .c_row = dweight->stride,
                             .c_gap = cm_alignment_gap(dweight->data),
                             .type = s->type,
                             .accumulate = add};
}

static cm_status make_lstm_backward(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *dweight_ih = CM_ARG(call, lstm_backward, dweight_ih);
    const cm_tensor *dweight_hh = CM_ARG(call, lstm_backward, dweight_hh);
    sizes s = backward_sizes(call);
    cm_cuda_product products[CM_PLAN_PRODUCTS] = {
        [DX] = through_weight(&s, s.T * s.B, s.inputs, CM_ARG(call, lstm_backward, weight_ih)),
        [DH] = through_weight(&s, s.B, s.H, CM_ARG(call, lstm_backward, weight_hh)),
        [DWEIGHT_IH] = of_weight(&s, s.inputs, dweight_ih, CM_ADDS(call, lstm_backward, dweight_ih)),
        [DWEIGHT_HH] = of_weight(&s, s.H, dweight_hh, CM_ADDS(call, lstm_backward, dweight_hh))};
    products[DX].accumulate = CM_ADDS(call, lstm_backward, dx);
    products[DX].c_gap = cm_alignment_gap(CM_ARG(call, lstm_backward, dx)->data);
    products[DWEIGHT_IH].b_gap = gap_of(CM_ARG(call, lstm_backward, x)->data, &s);
    plan->free = cm_cuda_free_products;
    for (int i = 0; i < CM_PLAN_PRODUCTS; i++) CM_TRY(cm_product_prepare(stream, &products[i], &plan->product[i]));
    return CM_OK;
}

cm_status cm_cuda_lstm_backward_prepare(cm_stream *stream, cm_call *call) {
    return cm_cuda_plan_find(stream, call, 0, make_lstm_backward);
}

/* dh arrives from the step after: dgate W_hh, or nothing. */
static cm_status carry(cm_stream *stream, const cm_call *call, const float *dgate, bool nothing, const void *weight) {
    const cm_cuda_plan *plan = call->plan;
    sizes s = backward_sizes(call);
    backward_places p = backward_places_of(&s);
    float *dh = cm_ops_at(stream, p.dh);
    if (nothing) {
        cm_lstm_args args = {.dgate = dh};
        CM_LAUNCH(stream, call, cm_lstm_clear_each, &args, (int64_t)s.B * s.H, 1);
        return CM_OK;
    }
    matrix gates = {dgate, s.B, s.gates, s.gates};
    cm_product_data data = {.b = weight, .c = dh};
    CM_TRY(operand(stream, call, &gates, p.step, &data.a));
    return cm_product_run(stream, plan->product[DH], &data);
}

static cm_status step_backward(cm_stream *stream, const cm_call *call, int t, const void *weight_hh) {
    const cm_tensor *c0 = CM_ARG(call, lstm_backward, c0);
    float *saved = CM_ARG(call, lstm_backward, saved)->data;
    sizes s = backward_sizes(call);
    backward_places p = backward_places_of(&s);
    size_t step = (size_t)s.B * (size_t)s.H;
    bool reset = cm_lstm_is_reset(call->attr.horizon, t);
    cm_lstm_args args = {.B = s.B,
                         .H = s.H,
                         .reset = reset,
                         .saved = saved + (size_t)t * step * CM_LSTM_SAVED,
                         .dy = (const float *)CM_ARG(call, lstm_backward, dy)->data + (size_t)t * step,
                         .dh = cm_ops_at(stream, p.dh),
                         .dc = cm_ops_at(stream, p.dc),
                         .dgate = (float *)cm_ops_at(stream, p.dgate) + (size_t)t * step * CM_LSTM_GATES,
                         .c_before = c0->data,
                         .c_stride = c0->stride};
    if (t > 0) {
        args.c_before = saved + (size_t)(t - 1) * step * CM_LSTM_SAVED + 4 * (size_t)s.H;
        args.c_stride = CM_LSTM_SAVED * (int64_t)s.H;
    }
    CM_LAUNCH(stream, call, cm_lstm_slope_each, &args, (int64_t)step, 1);
    return carry(stream, call, args.dgate, reset, weight_hh);
}

/* The state h on entering each step, into the workspace. */
static cm_status enter_all(cm_stream *stream, const cm_call *call, const backward_places *p) {
    const cm_tensor *h0 = CM_ARG(call, lstm_backward, h0);
    sizes s = backward_sizes(call);
    cm_lstm_args args = {.B = s.B,
                         .H = s.H,
                         .horizon = call->attr.horizon,
                         .y = CM_ARG(call, lstm_backward, y)->data,
                         .c_before = h0->data,
                         .c_stride = h0->stride,
                         .dgate = cm_ops_at(stream, p->h)};
    CM_LAUNCH(stream, call, cm_lstm_enter_each, &args, (int64_t)s.T * s.B * s.H, 1);
    return CM_OK;
}

static cm_status bias_gradients(cm_stream *stream, const cm_call *call, const backward_places *p) {
    const cm_tensor *ih = CM_ARG(call, lstm_backward, dbias_ih), *hh = CM_ARG(call, lstm_backward, dbias_hh);
    sizes s = backward_sizes(call);
    cm_columns_args args = {.chunks = cm_chunks_of((int64_t)s.T * s.B, s.gates, 1),
                            .x = {cm_ops_at(stream, p->dgate), s.gates},
                            .out = {ih->data},
                            .add = {CM_ADDS(call, lstm_backward, dbias_ih)}};
    args.chunks.partial = cm_ops_at(stream, p->sums);
    CM_LAUNCH(stream, call, cm_columns_partial, &args, cm_chunks_items(&args.chunks), 1);
    CM_LAUNCH(stream, call, cm_columns_finish, &args, s.gates, CM_WARP);
    args.out[0] = hh->data;
    args.add[0] = CM_ADDS(call, lstm_backward, dbias_hh);
    CM_LAUNCH(stream, call, cm_columns_finish, &args, s.gates, CM_WARP);
    return CM_OK;
}

/* What needs the gradients at the gates of all steps. */
static cm_status whole_gradients(cm_stream *stream, const cm_call *call, const void *weight_ih) {
    const cm_cuda_plan *plan = call->plan;
    sizes s = backward_sizes(call);
    backward_places p = backward_places_of(&s);
    int64_t rows = (int64_t)s.T * s.B;
    matrix gates = {cm_ops_at(stream, p.dgate), rows, s.gates, s.gates};
    matrix x = {CM_ARG(call, lstm_backward, x)->data, rows, s.inputs, s.inputs};
    matrix h = {cm_ops_at(stream, p.h), rows, s.H, s.H};
    cm_product_data dx = {.b = weight_ih, .c = CM_ARG(call, lstm_backward, dx)->data};
    cm_product_data of_ih = {.c = CM_ARG(call, lstm_backward, dweight_ih)->data};
    cm_product_data of_hh = {.c = CM_ARG(call, lstm_backward, dweight_hh)->data};
    CM_TRY(enter_all(stream, call, &p));
    CM_TRY(operand(stream, call, &gates, p.all, &dx.a));
    CM_TRY(operand(stream, call, &x, p.x, &of_ih.b));
    CM_TRY(operand(stream, call, &h, p.entering, &of_hh.b));
    of_ih.a = of_hh.a = dx.a;
    CM_TRY(cm_product_run(stream, plan->product[DX], &dx));
    CM_TRY(cm_product_run(stream, plan->product[DWEIGHT_IH], &of_ih));
    CM_TRY(cm_product_run(stream, plan->product[DWEIGHT_HH], &of_hh));
    return bias_gradients(stream, call, &p);
}

/* dh0 or dc0, where it is wanted, (+)= what arrives in front of the first step. */
static cm_status initial_gradient(cm_stream *stream, const cm_call *call, const cm_tensor *to, bool add, float *from) {
    if (!to->data) return CM_OK;
    cm_rows x = {from, to->dim[1]};
    cm_map_args args = {.out = cm_rows_of(to), .a = x, .n = to->dim[1], .scale = 1.0f, .add = add};
    CM_LAUNCH(stream, call, cm_map_scale, &args, (int64_t)cm_tensor_count(to), 1);
    return CM_OK;
}

cm_status cm_cuda_lstm_backward(cm_stream *stream, const cm_call *call) {
    sizes s = backward_sizes(call);
    backward_places p = backward_places_of(&s);
    matrix weight_ih = matrix_of(CM_ARG(call, lstm_backward, weight_ih));
    matrix weight_hh = matrix_of(CM_ARG(call, lstm_backward, weight_hh));
    float *dh = cm_ops_at(stream, p.dh), *dc = cm_ops_at(stream, p.dc);
    const void *ih, *hh;
    CM_TRY(operand(stream, call, &weight_ih, p.weight_ih, &ih));
    CM_TRY(operand(stream, call, &weight_hh, p.weight_hh, &hh));
    CM_TRY(carry(stream, call, NULL, true, NULL));
    cm_lstm_args clear = {.dgate = dc};
    CM_LAUNCH(stream, call, cm_lstm_clear_each, &clear, (int64_t)s.B * s.H, 1);
    for (int t = s.T - 1; t >= 0; t--) CM_TRY(step_backward(stream, call, t, hh));
    CM_TRY(whole_gradients(stream, call, ih));
    CM_TRY(initial_gradient(stream, call, CM_ARG(call, lstm_backward, dh0), CM_ADDS(call, lstm_backward, dh0), dh));
    return initial_gradient(stream, call, CM_ARG(call, lstm_backward, dc0), CM_ADDS(call, lstm_backward, dc0), dc);
}
