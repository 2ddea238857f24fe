/* Kernels next to the matrix products of dense, conv2d and lstm: 16-bit copies, action encodings, sums that a
 * product's epilogue cannot make. */
#ifndef CM_BACKEND_CUDA_OPS_DENSE_H
#define CM_BACKEND_CUDA_OPS_DENSE_H

#include "backend/cuda/ops/columns.h"
#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

typedef struct cm_dense_args {
    cm_rows y, x;         /* rows of n */
    const uint16_t *from; /* in place of x: of 16 bits, rows `half_stride` apart */
    uint16_t *to;         /* of 16 bits, rows `half_stride` apart */
    int64_t half_stride, n;
    int64_t columns;       /* of `to` that are written: n of x, and zeros after them */
    const float *bias;     /* [n] or NULL */
    cm_rows weight;        /* the columns of the encoding; data NULL: no action */
    const int32_t *action; /* [B] */
    cm_encoding encoding;
    int actions;
    cm_chunks chunks; /* of the samples: column e n + o is that of output o and column e of the encoding */
    cm_activation activation;
    cm_dtype type; /* of products, and of from, to */
    bool add;      /* y += */
    bool fours;    /* of x: cm_are_fours */
} cm_dense_args;

/* Elements from one row of n to the next in 16 bits: rows begin at multiples of 16 bytes. */
static inline int cm_half_row(int n) { return (n + 7) / 8 * 8; }

/* Item: an element of a row's first `columns`; 1 lane. to = x in 16 bits, and zeros after it */
CM_KERNEL void cm_half_each(const cm_dense_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->columns);
    (void)lanes;
    k->to[at.row * k->half_stride + at.column] = at.column < k->n ? cm_to_half(*cm_at(&k->x, at), k->type) : 0;
}

/* Item: eight of those elements, else as above; rows of `to` are eights. If x has fours they are read as such. */
CM_KERNEL void cm_half_eights(const cm_dense_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, k->columns / CM_EIGHT);
    const int64_t first = at.column * CM_EIGHT;
    const float *x = cm_row(&k->x, at.row) + first;
    cm_eight out;
    (void)lanes;
    if (k->fours && first + CM_EIGHT <= k->n) {
        const cm_four low = cm_four_at(x), high = cm_four_at(x + CM_FOUR);
        for (int i = 0; i < CM_EIGHT; i++) out.v[i] = cm_to_half(i < CM_FOUR ? low.v[i] : high.v[i - CM_FOUR], k->type);
    } else {
        for (int i = 0; i < CM_EIGHT; i++) out.v[i] = first + i < k->n ? cm_to_half(x[i], k->type) : 0;
    }
    *(cm_eight *)(void *)(k->to + at.row * k->half_stride + first) = out;
}

/* The action of a row; -1: there is none. */
static CM_HD inline int cm_dense_action(const cm_dense_args *k, int64_t row) {
    return k->weight.data ? k->action[row] : -1;
}

/* The encoding of an action as products read it. One that is out of range makes NaN (see shape.h). */
static CM_HD inline cm_encoded cm_dense_encoded(const cm_dense_args *k, int action) {
    cm_encoded e = {0, NAN};
    if (action < 0 || action >= k->actions) return e;
    e = cm_encoded_of(k->encoding, k->actions, action, 0);
    e.value = cm_rounded(e.value, k->type);
    return e;
}

/* What is read to be added to an output: its bias, its weight for what the action is encoded as. */
typedef struct cm_dense_terms {
    float bias, weight;
} cm_dense_terms;

static CM_HD inline cm_dense_terms cm_dense_read(const cm_dense_args *k, const cm_encoded *e, int64_t column) {
    cm_dense_terms terms = {0.0f, 0.0f};
    if (k->bias) terms.bias = k->bias[column];
    if (k->weight.data) terms.weight = cm_row(&k->weight, column)[e->column];
    return terms;
}

/* What they add to it. */
static CM_HD inline float cm_dense_offset(const cm_dense_args *k, const cm_encoded *e, const cm_dense_terms *terms) {
    return k->weight.data ? terms->bias + e->value * cm_rounded(terms->weight, k->type) : terms->bias;
}

/* y (+)= act(x) at a place. */
static CM_HD inline void cm_dense_put(const cm_dense_args *k, cm_place at, float x) {
    cm_put(cm_at(&k->y, at), cm_act_f(k->activation, x), k->add);
}

/* y (+)= act(x + bias + encoding) at a place, x a finished product, which may stand in y. */
static CM_HD inline void cm_dense_end(const cm_dense_args *k, const cm_encoded *e, cm_place at, float x) {
    const cm_dense_terms terms = cm_dense_read(k, e, at.column);
    cm_dense_put(k, at, x + cm_dense_offset(k, e, &terms));
}

/* Item: an element; 1 lane. */
CM_KERNEL void cm_dense_end_each(const cm_dense_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    (void)lanes;
    cm_encoded e = cm_dense_encoded(k, cm_dense_action(k, at.row));
    float x = k->from ? cm_widen(k->from[at.row * k->half_stride + at.column], k->type) : *cm_at(&k->x, at);
    cm_dense_end(k, &e, at, x);
}

/* Item: a column of a chunk; 1 lane. partial = the sum over its samples of x[b, o] times what stands in e for the
 * sample's action. Samples are read a few at a time, those alone that have something there. */
CM_KERNEL void cm_dense_action_partial(const cm_dense_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_chunk chunk = cm_chunk_of(&k->chunks, item);
    const cm_place at = cm_place_of(chunk.column, k->n); /* row: e, column: o */
    float sum = 0.0f;
    (void)lanes;
    for (int64_t b = chunk.first; b < chunk.end; b += CM_FEW) {
        int action[CM_FEW];
        float term[CM_FEW];
        for (int j = 0; j < CM_FEW; j++) action[j] = k->action[b + j < chunk.end ? b + j : b];
        for (int j = 0; j < CM_FEW; j++) {
            const cm_encoded e = cm_encoded_of(k->encoding, k->actions, action[j], 0);
            const bool is_there = b + j < chunk.end && e.column == at.row;
            term[j] =
                is_there ? cm_rounded(cm_row(&k->x, b + j)[at.column], k->type) * cm_rounded(e.value, k->type) : 0.0f;
        }
        for (int j = 0; j < CM_FEW; j++) sum += term[j];
    }
    *chunk.partial = sum;
}

/* Item: a column of all chunks; CM_WARP lanes. weight[o, e] (+)= its sum. */
CM_KERNEL void cm_dense_action_finish(const cm_dense_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, k->n);
    const double sum = cm_chunks_sum(&k->chunks, 0, item, lanes);
    if (lanes->index == 0) cm_put(cm_row(&k->weight, at.column) + at.row, (float)sum, k->add);
}

/* ---- hosts ---- */

/* `rows` rows of args->columns in 16 bits, by whichever of the two kernels can. */
cm_status cm_half_run(cm_stream *stream, const cm_call *call, cm_dense_args *args, int64_t rows) CM_MUST_USE;

/* What dense_backward sums over its rows, without a place for the parts: its bias's gradient, and that of the columns
 * of an action's encoding. False: the call makes none. */
bool cm_dense_bias_sum(const cm_call *call, cm_columns_args *out);
bool cm_dense_action_sum(const cm_call *call, cm_dense_args *out);

/* What kernels need to know of the action's encoding, whose columns come after `inputs`; `weight` is the whole one, or
 * its gradient. */
static inline void cm_dense_set_encoding(cm_dense_args *args, const cm_call *call, const cm_tensor *weight,
                                         const cm_tensor *action, int inputs) {
    if (!action->data) return;
    args->weight = cm_rows_of(weight);
    args->weight.data += inputs;
    args->action = (const int32_t *)action->data;
    args->encoding = call->attr.encoding;
    args->actions = call->attr.actions;
    args->type = call->attr.compute;
}

/* What frees a plan of products. */
struct cm_cuda_plan;
void cm_cuda_free_products(struct cm_cuda_plan *plan);

#define CM_DENSE_KERNELS(X)                                                                                            \
    X(cm_half_each, cm_dense_args)                                                                                     \
    X(cm_half_eights, cm_dense_args)                                                                                   \
    X(cm_dense_end_each, cm_dense_args)                                                                                \
    X(cm_dense_action_partial, cm_dense_args)                                                                          \
    X(cm_dense_action_finish, cm_dense_args)
CM_DENSE_KERNELS(CM_KERNEL_ENTRY)

#endif
