/* What a fused row-wise kernel consists of (row_kernel.h): steps, the places of their rows, and the tile that a block
 * takes through them. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_STEP_H
#define CM_BACKEND_CUDA_FUSED_ROW_STEP_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

enum {
    CM_ROW_TILE = 16, /* rows of a block, which is those of a product by tensor cores; or fewer (cm_row_kernel_args) */
    CM_ROW_OUTPUTS = 16, /* of a layer that a warp makes in one go */
    CM_ROW_STEPS = 36,   /* of a pass, at most */
    CM_ROW_WARPS = CM_BLOCK / CM_WARP,
    CM_ROW_FETCH = 64 << 10 /* bytes of a weight that a pass by itself fetches ahead */
};

/* Rows of a tensor. */
typedef struct cm_row_place {
    float *data;    /* on the device: of row 0 of the pass; NULL: in shared memory */
    int32_t first;  /* there: float at which row 0 of the tile begins, a multiple of 4 in the x of a dense layer */
    int32_t stride; /* floats from row to row; 0: the tensor is absent */
} cm_row_place;

/* Rows of 16 bits, on the device alone. */
typedef struct cm_row_copy {
    uint16_t *data; /* of row 0 of the pass; NULL: absent */
    int64_t stride;
} cm_row_copy;

/* An operation. x and z are its x and nothing; of add a and b; of batch_norm_inference x and residual; of
 * dense_backward dy; of layer_norm_backward and activation_backward dy and x; of minmax_backward dy and y. */
typedef struct cm_row_step {
    cm_row_place y, x, z; /* y: the result */
    const int32_t *index; /* [rows] actions, or numbers of rows */
    union {
        struct {
            const void *weight;              /* [n, k] of `type`; of dense_backward [k, n] */
            const float *bias, *columns;     /* columns: those of the encoding; either may be NULL */
            int32_t weight_row, columns_row; /* elements from row to row; in 16 bits a multiple of 8, zeros after k */
            /* where a block keeps a copy of the weight's first rows (row_shared.h): float of its memory, a multiple of
             * 4; elements from row to row, zeros after the weight's; how many, a multiple of CM_ROW_OUTPUTS or all. Of
             * dense_backward all are kept, and n stands here */
            int32_t shared, shared_row, shared_rows;
            bool keeps; /* it is this step that copies it */
        } dense;
        struct {
            const float *scale, *shift, *mean, *variance; /* the last two of batch_norm_inference */
        } norm;
        cm_rows table; /* of embedding_add */
        cm_support support;
        cm_row_copy from; /* of activation, in place of x; data NULL: none */
    } of;
    int32_t n, k;  /* n: elements of a run, or of a row; k: columns of a layer's x, or runs of a row */
    int32_t limit; /* index must be in [0, limit) */
    float number;  /* epsilon of a norm, scale of scale_add */
    uint8_t op, activation, encoding; /* cm_op, cm_activation, cm_encoding */
    uint8_t type;                     /* cm_dtype of a layer's product, and of copies */
    bool add;                         /* y += */
    /* In segments: */
    cm_row_place w;           /* y of activation_backward */
    cm_row_place also;        /* gets y, too; not in a layer */
    cm_row_place saved;       /* of layer_norm, minmax and their gradients */
    cm_row_copy half, half_x; /* of y, of x; no half in a layer */
} __attribute__((aligned(16))) cm_row_step;

/* Does it multiply by a weight? */
static CM_HD inline bool cm_row_is_layer(const cm_row_step *s) {
    return s->op == CM_OP_dense || s->op == CM_OP_dense_backward;
}

typedef struct cm_row_kernel_args {
    int32_t rows, steps;
    int32_t tile;    /* rows of a block, CM_ROW_TILE or half of that */
    uint32_t memory; /* bytes that a block shares */
    uint32_t used;   /* bytes of these arguments that say something, a multiple of 16 */
    uint32_t ahead;  /* bytes of a weight that are fetched ahead, at most */
    bool keeps;      /* steps of cm_row_training have weights in shared memory */
    cm_row_step step[CM_ROW_STEPS];
} cm_row_kernel_args;

/* Blocks of a launch. */
static inline int cm_row_tiles(const cm_row_kernel_args *args) { return (args->rows + args->tile - 1) / args->tile; }

/* Lanes of a row, where one has some for itself: a compiler sees that they are of a warp. */
static CM_HD inline int cm_row_lanes(bool is_short) { return is_short ? CM_WARP : CM_BLOCK / CM_ROW_TILE; }

/* The rows of a block: `first` counts those of the pass. */
typedef struct cm_row_tile {
    int first, rows;
    bool is_short; /* half of CM_ROW_TILE rows */
    float *memory;
} cm_row_tile;

/* Rows of a place from row `row` of the tile on. */
static CM_HD inline cm_rows cm_row_rows(const cm_row_tile *t, const cm_row_place *p, int row) {
    cm_rows rows = {t->memory + p->first + row * p->stride, p->stride};
    if (p->data) rows.data = p->data + ((int64_t)t->first + row) * p->stride;
    if (p->stride == 0) rows.data = NULL;
    return rows;
}

#endif
