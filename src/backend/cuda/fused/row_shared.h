/* Weights of a fused row-wise kernel that a block keeps in shared memory: worth it where it takes its rows through the
 * pass many times (agent/cuda/simulations.h), or where several steps read one, as those of an unroll do. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_SHARED_H
#define CM_BACKEND_CUDA_FUSED_ROW_SHARED_H

#include "backend/cuda/fused/row_step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A weight as a layer reads it. */
typedef struct cm_row_weight {
    const void *data;
    int row; /* elements from row to row */
} cm_row_weight;

/* For the outputs that a warp makes from `output` on. */
static CM_HD inline cm_row_weight cm_row_weight_of(const cm_row_step *s, const float *memory, int output) {
    cm_row_weight weight = {s->of.dense.weight, s->of.dense.weight_row};
    if (output >= s->of.dense.shared_rows) return weight;
    weight.data = memory + s->of.dense.shared;
    weight.row = s->of.dense.shared_row;
    return weight;
}

/* Words of 32 bits in a row of a layer's weight, where it is kept and where it comes from. */
typedef struct cm_row_words {
    int kept, apart, used; /* from row to row here and there; of the weight, zeros after them */
} cm_row_words;

static CM_HD inline cm_row_words cm_row_words_of(const cm_row_step *s) {
    const bool wide = s->type == CM_F32;
    const int there = s->of.dense.weight_row, here = s->of.dense.shared_row;
    const int columns = s->op == CM_OP_dense ? s->k : s->n;
    const cm_row_words words = {wide ? here : here / 2, wide ? there : there / 2, wide ? columns : there / 2};
    return words;
}

/* Copies a weight: a warp has every eighth row, of which it reads many before it writes them. */
CM_KERNEL void cm_row_keep(const cm_row_step *s, float *memory, const cm_lanes *lanes) {
    enum { AT_ONCE = 8 };
    const cm_row_words words = cm_row_words_of(s);
    const uint32_t *from = (const uint32_t *)s->of.dense.weight;
    uint32_t *to = (uint32_t *)(void *)(memory + s->of.dense.shared), own[AT_ONCE];
    const int rows = s->op == CM_OP_dense ? s->of.dense.shared_rows : s->k;
    for (int first = lanes->index / CM_WARP; first < rows; first += CM_ROW_WARPS * AT_ONCE)
        for (int at = lanes->index % CM_WARP; at < words.kept; at += CM_WARP) {
            for (int i = 0; i < AT_ONCE; i++) {
                const int row = first + i * CM_ROW_WARPS;
                own[i] = row < rows && at < words.used ? from[(int64_t)row * words.apart + at] : 0;
            }
            for (int i = 0; i < AT_ONCE; i++)
                if (first + i * CM_ROW_WARPS < rows) to[(first + i * CM_ROW_WARPS) * words.kept + at] = own[i];
        }
}

/* Copies all that have a place; a barrier is to follow. */
CM_KERNEL void cm_row_keep_all(const cm_row_kernel_args *a, float *memory, const cm_lanes *lanes) {
    for (int i = 0; i < a->steps; i++)
        if (cm_row_is_layer(&a->step[i]) && a->step[i].of.dense.keeps) cm_row_keep(&a->step[i], memory, lanes);
}

/* Gives weights of layers places, one after the other from byte `first` of shared memory on: those that end before
 * `end`, and then, of those that do not, as many of the first rows as there is still space for. Returns where the last
 * one ends, or `first`: multiples of 16, as `first` is one. */
uint32_t cm_row_shared(cm_row_kernel_args *args, uint32_t first, uint32_t end);

/* Gives the weights that several steps of cm_row_training read places after the rows of a tile, as far as a block has
 * `bytes` for them and the arguments; false if none has one. */
bool cm_row_share_repeated(cm_row_kernel_args *args, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
