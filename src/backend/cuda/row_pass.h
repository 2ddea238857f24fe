/* A pass whose operations all work row by row, as one kernel: a block takes a tile of rows through all of them. What
 * they leave for each other lies in the block's memory, weights come from the device's. A step is an operation; its
 * arithmetic is that of the operation's own kernel, on a row of the tile. */
#ifndef CM_BACKEND_CUDA_ROW_PASS_H
#define CM_BACKEND_CUDA_ROW_PASS_H

#include "backend/cuda/batch_norm.h"
#include "backend/cuda/dense.h"
#include "backend/cuda/elementwise.h"
#include "backend/cuda/layer_norm.h"
#include "backend/cuda/shape.h"
#include "backend/cuda/support.h"

enum {
    CM_ROW_TILE = 16,  /* rows of a block, which is those of a product by tensor cores */
    CM_ROW_STEPS = 36, /* of a pass: arguments of a kernel are at most 4 KiB */
    CM_ROW_WARPS = CM_BLOCK / CM_WARP,
    CM_ROW_FETCH = 64 << 10, /* bytes of a weight that are fetched ahead */
    CM_ROW_CHUNK = 32,       /* of the columns of x: what the lanes of a warp read of a weight at once */
    CM_ROW_CHUNKS = 4,       /* read before they are multiplied */
    CM_ROW_OUTPUTS = 16,     /* of a layer that a warp makes in one go, in 16 bits */
    CM_ROW_STAGED = 128,     /* the same of a block, in float32: their weights are staged, a chunk at a time */
    CM_ROW_STAGE_ROW = CM_ROW_CHUNK + 1, /* floats: lanes that read neighbouring rows read different banks */
    CM_ROW_STAGE = CM_ROW_STAGED * CM_ROW_STAGE_ROW
};

/* Rows of a tensor. */
typedef struct cm_row_place {
    float *data;    /* on the device: of row 0 of the pass; NULL: in the block's memory */
    int32_t first;  /* there: float at which row 0 of the tile begins, a multiple of 4 in the x of a dense layer */
    int32_t stride; /* floats from row to row; 0: the tensor is absent */
} cm_row_place;

typedef struct cm_row_step {
    cm_row_place y, x, z; /* z: what is added */
    const int32_t *index; /* [rows] actions, or numbers of rows */
    union {
        struct {
            const void *weight;              /* [n, k] of `type` */
            const float *bias, *columns;     /* columns: those of the encoding; either may be NULL */
            int32_t weight_row, columns_row; /* elements from row to row; in 16 bits a multiple of 8, zeros behind k */
        } dense;
        struct {
            const float *scale, *shift, *mean, *variance; /* the last two of batch_norm_inference */
        } norm;
        cm_rows table; /* of embedding_add */
        cm_support support;
    } of;
    int32_t n, k;  /* n: elements of a run, or of a row; k: columns of a layer's x, or runs of a row */
    int32_t limit; /* index must be in [0, limit) */
    float epsilon;
    uint8_t op, activation, encoding, type; /* cm_op, cm_activation, cm_encoding, cm_dtype of a layer's product */
} cm_row_step;

typedef struct cm_row_pass_args {
    int32_t rows, steps;
    int32_t stage;   /* float of the block's memory at which weights are staged */
    uint32_t memory; /* bytes that a block shares */
    cm_row_step step[CM_ROW_STEPS];
} cm_row_pass_args;

/* The rows of a block: `first` counts those of the pass. */
typedef struct cm_row_tile {
    int first, rows;
    float *memory, *stage;
} cm_row_tile;

/* Rows of a place from row `row` of the tile on. */
static CM_HD inline cm_rows cm_row_rows(const cm_row_tile *t, const cm_row_place *p, int row) {
    cm_rows rows = {t->memory + p->first + row * p->stride, p->stride};
    if (p->data) rows.data = p->data + ((int64_t)t->first + row) * p->stride;
    if (p->stride == 0) rows.data = NULL;
    return rows;
}

/* ---- layers ---- */

typedef struct cm_row_four {
    float v[4];
} __attribute__((aligned(16))) cm_row_four;

/* Columns at .. at + 3 of a row of k; zeros behind it. CM_ROW_ANY: there are no others, so the compiler need not ask.
 */
enum { CM_ROW_ANY = INT32_MAX };
static CM_HD inline cm_row_four cm_row_read(const float *row, int at, int k) {
    cm_row_four four = {{0.0f, 0.0f, 0.0f, 0.0f}};
    if (at + 4 <= k) return *(const cm_row_four *)(const void *)(row + at);
    for (int i = 0; i < 4; i++)
        if (at + i < k) four.v[i] = row[at + i];
    return four;
}

/* Eight neighbours of 16 bits, in pairs. */
typedef struct cm_row_eight {
    uint32_t pair[4];
} __attribute__((aligned(16))) cm_row_eight;

/* Columns at .. at + 7 of a row of a weight, which is `end` long; zeros behind it. */
static CM_HD inline cm_row_eight cm_row_weights(const uint16_t *row, int at, int end) {
    const cm_row_eight none = {{0, 0, 0, 0}};
    return at < end ? *(const cm_row_eight *)(const void *)(row + at) : none;
}

/* A lane of a warp that multiplies by tensor cores: lane 4 g + q, which brings rows g and g + 8 of x. */
typedef struct cm_row_lane {
    cm_lanes warp;
    int g, q;
    const float *low, *high; /* the rows */
    bool bfloat;
} cm_row_lane;

/* Any order of the columns does for a sum, as long as a and b have the same: of a chunk lane 4 g + q takes eight
 * neighbours from 8 q on, in x and in the weight. They are what it brings to two products. */
CM_KERNEL void cm_row_multiply(const cm_row_lane *l, int at, int k, const cm_row_eight b[2], float sum[2][4]) {
    for (int half = 0; half < 2; half++) {
        const cm_row_four x = cm_row_read(l->low, at + 4 * half, k), z = cm_row_read(l->high, at + 4 * half, k);
        const uint32_t a[4] = {cm_lanes_pair(x.v[0], x.v[1], l->bfloat), cm_lanes_pair(z.v[0], z.v[1], l->bfloat),
                               cm_lanes_pair(x.v[2], x.v[3], l->bfloat), cm_lanes_pair(z.v[2], z.v[3], l->bfloat)};
        for (int j = 0; j < 2; j++) cm_lanes_product(&l->warp, l->bfloat, a, b[j].pair + 2 * half, sum[j]);
    }
}

/* Adds up outputs o .. o + 15 of the layer. */
CM_KERNEL void cm_row_sums(const cm_row_step *s, const cm_row_lane *l, int o, float sum[2][4]) {
    const int across = s->of.dense.weight_row, whole = s->k / CM_ROW_CHUNK * CM_ROW_CHUNK;
    const uint16_t *low = (const uint16_t *)s->of.dense.weight + (int64_t)(o + l->g) * across;
    const uint16_t *const row[2] = {low, low + 8 * (int64_t)across};
    const int length[2] = {o + l->g < s->n ? across : 0, o + 8 + l->g < s->n ? across : 0};
    for (int first = 0; first < whole; first += CM_ROW_CHUNKS * CM_ROW_CHUNK) {
        cm_row_eight b[CM_ROW_CHUNKS][2];
        for (int i = 0; i < CM_ROW_CHUNKS; i++)
            for (int j = 0; j < 2; j++)
                b[i][j] = cm_row_weights(row[j], first + i * CM_ROW_CHUNK + 8 * l->q, length[j]);
        for (int i = 0; i < CM_ROW_CHUNKS; i++)
            if (first + i * CM_ROW_CHUNK < whole)
                cm_row_multiply(l, first + i * CM_ROW_CHUNK + 8 * l->q, CM_ROW_ANY, b[i], sum);
    }
    if (whole == s->k) return;
    const int at = whole + 8 * l->q;
    const cm_row_eight b[2] = {cm_row_weights(row[0], at, length[0]), cm_row_weights(row[1], at, length[1])};
    cm_row_multiply(l, at, s->k, b, sum);
}

/* The encoding of the action of a row, if the tile has the row. */
static CM_HD inline cm_encoded cm_row_action(const cm_row_tile *t, const cm_dense_args *end, int row) {
    const cm_encoded none = {0, NAN};
    return row < t->rows ? cm_dense_encoded(end, row) : none;
}

/* Rows behind the tile's take part, with whatever they hold, and are not written. */
CM_KERNEL void cm_row_product(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, bool bfloat,
                              const cm_lanes *lanes) {
    const cm_lanes warp = cm_lanes_part(lanes, CM_WARP);
    const int g = warp.index / 4, q = warp.index % 4;
    const float *low = t->memory + s->x.first + g * s->x.stride;
    const cm_row_lane l = {warp, g, q, low, low + 8 * s->x.stride, bfloat};
    const cm_encoded action[2] = {cm_row_action(t, end, g), cm_row_action(t, end, g + 8)};
    for (int o = lanes->index / CM_WARP * CM_ROW_OUTPUTS; o < s->n; o += CM_ROW_WARPS * CM_ROW_OUTPUTS) {
        float sum[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
        cm_row_sums(s, &l, o, sum);
        for (int i = 0; i < 8; i++) {
            const cm_place at = {g + i / 4 * 8, o + i / 2 % 2 * 8 + 2 * q + i % 2};
            if (at.row < t->rows && at.column < s->n)
                cm_dense_end(end, &action[i / 4], at, sum[i / 2 % 2][i / 4 * 2 + i % 2]);
        }
    }
}

/* Columns first .. of rows o .. of a weight in float32, zeros where there are none. All lanes call it. */
CM_KERNEL void cm_row_stage(const cm_row_step *s, const cm_row_tile *t, int o, int first, const cm_lanes *lanes) {
    const float *weight = (const float *)s->of.dense.weight;
    cm_lanes_meet(lanes);
    CM_EACH(i, lanes, CM_ROW_STAGED * CM_ROW_CHUNK) {
        const int output = i / CM_ROW_CHUNK, column = i % CM_ROW_CHUNK;
        const bool there = o + output < s->n && first + column < s->k;
        const int64_t at = (int64_t)(o + output) * s->of.dense.weight_row + first + column;
        t->stage[output * CM_ROW_STAGE_ROW + column] = there ? weight[at] : 0.0f;
    }
    cm_lanes_meet(lanes);
}

enum { CM_ROW_HALF = CM_ROW_TILE / 2 };

/* What a chunk, of `columns` columns from x on, adds to the sums of half the rows; k as in cm_row_read. */
CM_KERNEL void cm_row_add(const float *x, int stride, const float *weight, int columns, int k, float sum[CM_ROW_HALF]) {
    for (int i = 0; i < columns; i += 4)
        for (int r = 0; r < CM_ROW_HALF; r++) {
            const cm_row_four four = cm_row_read(x + r * stride, i, k);
            for (int j = 0; j < 4; j++) sum[r] = fmaf(four.v[j], weight[i + j], sum[r]);
        }
}

/* The same in float32, without tensor cores: a lane makes an output of half the rows. */
CM_KERNEL void cm_row_product_wide(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end,
                                   const cm_lanes *lanes) {
    const int output = lanes->index % CM_ROW_STAGED, half = lanes->index / CM_ROW_STAGED * CM_ROW_HALF;
    const float *x = t->memory + s->x.first + half * s->x.stride, *weight = t->stage + output * CM_ROW_STAGE_ROW;
    for (int o = 0; o < s->n; o += CM_ROW_STAGED) {
        float sum[CM_ROW_HALF] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (int first = 0; first < s->k; first += CM_ROW_CHUNK) {
            const int rest = s->k - first;
            cm_row_stage(s, t, o, first, lanes);
            if (rest >= CM_ROW_CHUNK) {
                cm_row_add(x + first, s->x.stride, weight, CM_ROW_CHUNK, CM_ROW_ANY, sum);
            } else {
                cm_row_add(x + first, s->x.stride, weight, rest, rest, sum);
            }
        }
        for (int r = 0; r < CM_ROW_HALF; r++) {
            const cm_place at = {half + r, o + output};
            const cm_encoded action = cm_row_action(t, end, half + r);
            if (at.row < t->rows && at.column < s->n) cm_dense_end(end, &action, at, sum[r]);
        }
    }
}

/* Most operations have no other activation: code for the others would be many times theirs. */
static CM_HD inline cm_activation cm_row_relu(const cm_row_step *s) {
    return s->activation == CM_ACT_RELU ? CM_ACT_RELU : CM_ACT_NONE;
}

CM_KERNEL void cm_row_dense(const cm_row_step *s, const cm_row_tile *t, const cm_lanes *lanes) {
    cm_dense_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, 0);
    k.bias = s->of.dense.bias;
    k.weight.data = (float *)s->of.dense.columns;
    k.weight.stride = s->of.dense.columns_row;
    k.action = s->index ? s->index + t->first : NULL;
    k.encoding = (cm_encoding)s->encoding;
    k.actions = s->limit;
    k.activation = cm_row_relu(s);
    if (s->type == CM_BF16) { /* code for each type, which knows it */
        k.type = CM_BF16;
        cm_row_product(s, t, &k, true, lanes);
    } else if (s->type == CM_F16) {
        k.type = CM_F16;
        cm_row_product(s, t, &k, false, lanes);
    } else {
        k.type = CM_F32;
        cm_row_product_wide(s, t, &k, lanes);
    }
}

/* ---- the others: row `row` of the tile, by the lanes that it has for itself ---- */

/* The kernel of an operation on elements, at those of one row of n. */
#define CM_ROW_ELEMENTS(kernel, k, n, lanes)                                                                           \
    for (int element = (lanes)->index; element < (n); element += (lanes)->count) kernel(k, element, lanes)

CM_KERNEL void cm_row_map(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_map_args k = CM_NOTHING;
    k.out = cm_row_rows(t, &s->y, row);
    k.a = cm_row_rows(t, &s->x, row);
    k.b = cm_row_rows(t, &s->z, row);
    k.n = s->n;
    k.activation = s->op == CM_OP_add ? cm_row_relu(s) : (cm_activation)s->activation;
    if (s->op == CM_OP_add) {
        CM_ROW_ELEMENTS(cm_map_add, &k, s->n, lanes);
    } else {
        CM_ROW_ELEMENTS(cm_map_activation, &k, s->n, lanes);
    }
}

CM_KERNEL void cm_row_layer_norm(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_layer_norm_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.scale = s->of.norm.scale;
    k.shift = s->of.norm.shift;
    k.groups = s->k;
    k.n = s->n;
    k.epsilon = s->epsilon;
    k.activation = (cm_activation)s->activation;
    for (int run = 0; run < s->k; run++) cm_layer_norm_runs(&k, run, lanes);
}

CM_KERNEL void cm_row_batch_norm(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_batch_norm_args k = CM_NOTHING;
    k.chunks.columns = s->n;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.residual = cm_row_rows(t, &s->z, row);
    k.scale = s->of.norm.scale;
    k.shift = s->of.norm.shift;
    k.mean = (float *)s->of.norm.mean;
    k.second = (float *)s->of.norm.variance;
    k.constant = true;
    k.epsilon = s->epsilon;
    k.activation = cm_row_relu(s);
    CM_ROW_ELEMENTS(cm_batch_norm_apply, &k, s->n, lanes);
}

CM_KERNEL void cm_row_minmax(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_minmax_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.groups = k.step = s->k;
    k.n = s->n;
    for (int group = 0; group < s->k; group++) cm_minmax_groups(&k, group, lanes);
}

CM_KERNEL void cm_row_one_hot(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_softmax_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.n = s->n;
    cm_one_hot_rows(&k, 0, lanes);
}

/* Of x gathered, and of y scattered to, the index names any row. */
CM_KERNEL void cm_row_move(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    const cm_rows any_y = {s->y.data, s->y.stride}, any_x = {s->x.data, s->x.stride};
    cm_index_args k = CM_NOTHING;
    k.y = s->op == CM_OP_scatter_rows ? any_y : cm_row_rows(t, &s->y, row);
    k.x = s->op == CM_OP_gather_rows ? any_x : cm_row_rows(t, &s->x, row);
    k.index = s->index + t->first + row;
    k.n = s->n;
    k.limit = s->limit;
    if (s->op == CM_OP_gather_rows) {
        CM_ROW_ELEMENTS(cm_gather_each, &k, s->n, lanes);
    } else if (s->op == CM_OP_scatter_rows) {
        CM_ROW_ELEMENTS(cm_scatter_each, &k, s->n, lanes);
    } else {
        k.table = s->of.table;
        CM_ROW_ELEMENTS(cm_embed_each, &k, s->n, lanes);
    }
}

CM_KERNEL void cm_row_decode(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_support_args k = CM_NOTHING;
    k.support = s->of.support;
    k.logits = cm_row_rows(t, &s->x, row);
    k.value = cm_row_rows(t, &s->y, row).data;
    cm_support_decode_rows(&k, 0, lanes);
}

CM_KERNEL void cm_row_other(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    switch ((cm_op)s->op) {
    case CM_OP_activation:
    case CM_OP_add: cm_row_map(s, t, row, lanes); break;
    case CM_OP_layer_norm: cm_row_layer_norm(s, t, row, lanes); break;
    case CM_OP_batch_norm_inference: cm_row_batch_norm(s, t, row, lanes); break;
    case CM_OP_minmax: cm_row_minmax(s, t, row, lanes); break;
    case CM_OP_one_hot: cm_row_one_hot(s, t, row, lanes); break;
    case CM_OP_embedding_add:
    case CM_OP_gather_rows:
    case CM_OP_scatter_rows: cm_row_move(s, t, row, lanes); break;
    case CM_OP_support_decode: cm_row_decode(s, t, row, lanes); break;
    default: break; /* a pass has no others */
    }
}

/* ---- the pass ---- */

/* Says what a step will read besides rows. */
CM_KERNEL void cm_row_fetch(const cm_row_step *s, const cm_lanes *lanes) {
    const size_t vector = (size_t)s->n * sizeof(float);
    if (s->op == CM_OP_dense) {
        const size_t bytes = (size_t)s->n * (size_t)s->of.dense.weight_row * (s->type == CM_F32 ? 4 : 2);
        cm_lanes_fetch(lanes, s->of.dense.weight, bytes < (size_t)CM_ROW_FETCH ? bytes : (size_t)CM_ROW_FETCH);
        if (s->of.dense.bias) cm_lanes_fetch(lanes, s->of.dense.bias, vector);
    } else if (s->op == CM_OP_layer_norm) {
        cm_lanes_fetch(lanes, s->of.norm.scale, vector * (size_t)s->k);
        cm_lanes_fetch(lanes, s->of.norm.shift, vector * (size_t)s->k);
    }
}

CM_KERNEL void cm_row_step_run(const cm_row_step *s, const cm_row_tile *t, const cm_lanes *lanes) {
    if (s->op == CM_OP_dense) {
        cm_row_dense(s, t, lanes);
        return;
    }
    const cm_lanes part = cm_lanes_part(lanes, CM_BLOCK / CM_ROW_TILE);
    const int row = lanes->index / part.count;
    if (row < t->rows) cm_row_other(s, t, row, &part);
}

/* Item: a tile of rows; CM_BLOCK lanes, which share a->memory bytes. */
CM_KERNEL void cm_row_pass(const cm_row_pass_args *a, int64_t item, const cm_lanes *lanes) {
    enum { AHEAD = 2 };
    cm_row_tile t;
    t.first = (int)item * CM_ROW_TILE;
    t.rows = cm_least(a->rows - t.first, CM_ROW_TILE);
    t.memory = lanes->memory;
    t.stage = lanes->memory + a->stage;
    for (int i = -AHEAD; i < a->steps; i++) {
        if (i > 0) cm_lanes_meet(lanes);
        if (i + AHEAD < a->steps) cm_row_fetch(&a->step[i + AHEAD], lanes);
        if (i >= 0) cm_row_step_run(&a->step[i], &t, lanes);
    }
}

CM_KERNEL_ENTRY(cm_row_pass, cm_row_pass_args)

#endif
