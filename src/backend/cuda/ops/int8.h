/* Layers in 8 bits (backend/int8.h): kernels that make whole numbers of x and of weights, and dense layers and
 * convolutions of both. A convolution is a product whose rows are gathered as they are read (an implicit GEMM); a dense
 * layer is one of images of one place. Bias, norm, residual, the action's encoding and the activation are done with the
 * sums. */
#ifndef CM_BACKEND_CUDA_OPS_INT8_H
#define CM_BACKEND_CUDA_OPS_INT8_H

#include "backend/cuda/ops/dense.h"
#include "backend/cuda/ops/fake_quantise.h"
#include "backend/int8.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_INT8_WORD = 4,   /* numbers in 32 bits, the first one in the lowest */
    CM_INT8_PIECE = 16, /* numbers that a lane reads at once: those of a place of an image, or of a weight's window, are
                           a multiple, with zeros after the last channel */
    CM_INT8_CHUNK = 64, /* those of four neighbours in a warp, which share a row */
    CM_INT8_TILE = 32   /* rows, and outputs, of a warp */
};

/* Bytes of a place of n channels. */
static inline int cm_int8_place(int n) { return (n + CM_INT8_PIECE - 1) / CM_INT8_PIECE * CM_INT8_PIECE; }

/* The numbers of x[left], at most four, in a word. */
static CM_HD inline uint32_t cm_int8_word(const float *x, int64_t left, float inverse) {
    uint32_t word = 0;
    for (int i = 0; i < CM_INT8_WORD; i++) {
        const int number = i < left ? (int)rintf(cm_int8_clipped(x[i], inverse)) : 0;
        word |= ((uint32_t)number & 255u) << 8 * i;
    }
    return word;
}

/* ---- x ---- */

typedef struct cm_int8_rows_args {
    cm_rows x; /* rows of n */
    int64_t n, words;
    uint32_t *to; /* rows of `words` */
    float inverse;
} cm_int8_rows_args;

/* Item: a word; 1 lane. */
CM_KERNEL void cm_int8_rows_each(const cm_int8_rows_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, k->words);
    const int64_t first = at.column * CM_INT8_WORD;
    (void)lanes;
    k->to[item] = cm_int8_word(cm_row(&k->x, at.row) + first, k->n - first, k->inverse);
}

/* ---- weights ---- */

typedef struct cm_int8_weight_args {
    cm_rows weight; /* a row of `columns` for each output; its first ones are those of `window` places of `channels` */
    int columns, window, channels, words; /* words: of a place */
    uint32_t *to;                         /* [outputs][window][words] */
    float *steps;                         /* [outputs] */
} cm_int8_weight_args;

/* Item: an output; CM_WARP lanes. */
CM_KERNEL void cm_int8_weight_each(const cm_int8_weight_args *k, int64_t item, const cm_lanes *lanes) {
    const float *row = cm_row(&k->weight, item);
    const float range = cm_fake_range(row, k->columns, lanes), inverse = cm_int8_inverse(range);
    const int words = k->window * k->words;
    CM_EACH(i, lanes, words) {
        const int tap = i / k->words, first = (i - tap * k->words) * CM_INT8_WORD;
        k->to[item * words + i] = cm_int8_word(row + tap * k->channels + first, k->channels - first, inverse);
    }
    if (lanes->index == 0) k->steps[item] = cm_int8_step(range);
}

/* ---- layers ---- */

typedef struct cm_int8_layer_args {
    cm_dense_args end;           /* y, rows of n; bias, the action's encoding, activation */
    const unsigned char *x;      /* images [H, W] of places */
    const unsigned char *weight; /* [n][window * window] places */
    const float *steps;          /* of the weights of each output */
    float step;                  /* of x */
    int64_t rows;                /* of y: images of [P, Q] */
    int n, H, W, P, Q, window, stride;
    int place; /* bytes */
    /* A norm of the sums, and what is added to it. */
    const float *scale, *shift, *mean, *variance; /* [n] or NULL */
    float epsilon;
    cm_rows residual; /* rows of n */
} cm_int8_layer_args;

/* What a lane reads at once, at a multiple of 16. */
typedef struct cm_int8_piece {
    uint32_t word[CM_INT8_PIECE / CM_INT8_WORD];
} __attribute__((aligned(16))) cm_int8_piece;

static CM_HD inline cm_int8_piece cm_int8_piece_at(const unsigned char *numbers) {
    return *(const cm_int8_piece *)(const void *)numbers;
}

/* Where the window of a row begins: in front of the image, too. */
typedef struct cm_int8_corner {
    int64_t image;
    int y, x;
} cm_int8_corner;

/* Rows after the last are the last one. */
static CM_HD inline cm_int8_corner cm_int8_corner_of(const cm_int8_layer_args *k, int64_t row) {
    const cm_place at = cm_place_of(row < k->rows ? row : k->rows - 1, (int64_t)k->P * k->Q);
    const cm_place cell = cm_place_of(at.column, k->Q);
    const int pad = k->window / 2;
    const cm_int8_corner corner = {at.row, (int)cell.row * k->stride - pad, (int)cell.column * k->stride - pad};
    return corner;
}

/* Numbers c .. c + 15 of place `tap` of the window, zeros where there are none. */
static CM_HD inline cm_int8_piece cm_int8_read(const cm_int8_layer_args *k, const cm_int8_corner *corner, int tap,
                                               int c) {
    const cm_int8_piece none = {{0, 0, 0, 0}};
    const int y = corner->y + tap / k->window, x = corner->x + tap % k->window;
    if (c >= k->place || y < 0 || y >= k->H || x < 0 || x >= k->W) return none;
    return cm_int8_piece_at(k->x + ((corner->image * k->H + y) * k->W + x) * k->place + c);
}

/* The same of the weight of an output; outputs after the last are the last one. */
static CM_HD inline cm_int8_piece cm_int8_weight(const cm_int8_layer_args *k, int64_t output, int tap, int c) {
    const cm_int8_piece none = {{0, 0, 0, 0}};
    const int64_t known = output < k->n ? output : k->n - 1;
    return c < k->place ? cm_int8_piece_at(k->weight + (known * k->window * k->window + tap) * k->place + c) : none;
}

enum { CM_INT8_HIGH = CM_INT8_TILE / 16, CM_INT8_WIDE = CM_INT8_TILE / 8, CM_INT8_OWN = CM_INT8_TILE / 8 };

/* What the lanes bring to products is said in lanes.h: of a chunk lane 4 g + q has a piece from 16 q on, of rows and of
 * outputs g, g + 8, g + 16 and g + 24. */
CM_KERNEL void cm_int8_sums(const cm_int8_layer_args *k, int64_t row, int64_t output, const cm_lanes *lanes,
                            int32_t sum[CM_INT8_HIGH][CM_INT8_WIDE][4]) {
    const int g = lanes->index / 4, from = lanes->index % 4 * CM_INT8_PIECE, taps = k->window * k->window;
    cm_int8_corner corner[CM_INT8_OWN];
    CM_UNROLL(i, CM_INT8_OWN) corner[i] = cm_int8_corner_of(k, row + g + 8 * i);
    for (int tap = 0; tap < taps; tap++) {
        for (int c = from; c < k->place + from; c += CM_INT8_CHUNK) {
            cm_int8_piece x[CM_INT8_OWN], weight[CM_INT8_OWN];
            CM_UNROLL(i, CM_INT8_OWN) x[i] = cm_int8_read(k, &corner[i], tap, c);
            CM_UNROLL(i, CM_INT8_OWN) weight[i] = cm_int8_weight(k, output + g + 8 * i, tap, c);
            CM_UNROLL(half, 2) {
                CM_UNROLL(i, CM_INT8_HIGH) {
                    const uint32_t *low = x[2 * i].word + 2 * half, *high = x[2 * i + 1].word + 2 * half;
                    const uint32_t a[4] = {low[0], high[0], low[1], high[1]};
                    CM_UNROLL(j, CM_INT8_WIDE) cm_lanes_product_8(lanes, a, weight[j].word + 2 * half, sum[i][j]);
                }
            }
        }
    }
}

/* What a sum of an output is times, and what is added. */
typedef struct cm_int8_affine {
    float scale, shift;
} cm_int8_affine;

static CM_HD inline cm_int8_affine cm_int8_affine_of(const cm_int8_layer_args *k, int64_t output) {
    cm_int8_affine a = {k->steps[output] * k->step, 0.0f};
    if (!k->scale) return a;
    const float factor = k->scale[output] / sqrtf(k->variance[output] + k->epsilon);
    a.scale *= factor;
    a.shift = k->shift[output] - k->mean[output] * factor;
    return a;
}

/* y of a place, of its sum. */
static CM_HD inline void cm_int8_finish(const cm_int8_layer_args *k, const cm_int8_affine *a, cm_place at,
                                        int32_t sum) {
    const cm_encoded e = cm_dense_encoded(&k->end, cm_dense_action(&k->end, at.row));
    float x = (float)sum * a->scale + a->shift;
    if (k->residual.data) x += *cm_at(&k->residual, at);
    cm_dense_end(&k->end, &e, at, x);
}

/* Item: CM_INT8_TILE rows and as many outputs; CM_WARP lanes. */
CM_KERNEL void cm_int8_layer_each(const cm_int8_layer_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place tile = cm_place_of(item, (k->n + CM_INT8_TILE - 1) / CM_INT8_TILE);
    const int64_t row = tile.row * CM_INT8_TILE, output = tile.column * CM_INT8_TILE;
    int32_t sum[CM_INT8_HIGH][CM_INT8_WIDE][4];
    CM_UNROLL(i, CM_INT8_HIGH * CM_INT8_WIDE * 4) sum[i / (CM_INT8_WIDE * 4)][i / 4 % CM_INT8_WIDE][i % 4] = 0;
    cm_int8_sums(k, row, output, lanes, sum);
    CM_UNROLL(c, 2 * CM_INT8_WIDE) {
        cm_place at = {0, output + c / 2 * 8 + lanes->index % 4 * 2 + c % 2};
        if (at.column >= k->n) continue;
        const cm_int8_affine a = cm_int8_affine_of(k, at.column);
        CM_UNROLL(i, CM_INT8_OWN) {
            at.row = row + lanes->index / 4 + 8 * i;
            if (at.row < k->rows) cm_int8_finish(k, &a, at, sum[i / 2][c / 2][i % 2 * 2 + c % 2]);
        }
    }
}

#define CM_INT8_KERNELS(X)                                                                                             \
    X(cm_int8_rows_each, cm_int8_rows_args)                                                                            \
    X(cm_int8_weight_each, cm_int8_weight_args)                                                                        \
    X(cm_int8_layer_each, cm_int8_layer_args)
CM_INT8_KERNELS(CM_KERNEL_ENTRY)

/* ---- hosts ---- */

/* Calls of dense, conv2d and conv2d_norm with attr.compute CM_I8 (ops.h: prepare, workspace, run). */
cm_status cm_cuda_int8_prepare(cm_stream *stream, cm_call *call) CM_MUST_USE;
size_t cm_cuda_int8_workspace(const cm_call *call);
cm_status cm_cuda_int8_run(cm_stream *stream, const cm_call *call) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
