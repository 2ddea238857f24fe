/* A lane of a warp that makes outputs of a layer, and what it reads of the rows (row_product.h). */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_LANE_H
#define CM_BACKEND_CUDA_FUSED_ROW_LANE_H

#include "backend/cuda/fused/row_shared.h"

enum {
    CM_ROW_CHUNK = 32, /* of the columns of x: what the lanes of a warp read of a weight at once */
    CM_ROW_OWN = 8 /* sums of the outputs of a warp for all rows of a tile that a lane has, the first half for a tile of
                      half as many */
};

/* Lane 4 g + q, which brings rows g and g + 8 of x. */
typedef struct cm_row_lane {
    cm_lanes warp;
    int g, q;
    const float *low, *high; /* the rows; the second one is none in a tile of half as many */
    bool is_short;
    cm_row_weight weight;
    cm_dtype type; /* of the product */
} cm_row_lane;

/* Columns at .. at + 3 of a row of k; zeros after it. CM_ROW_ANY: there are no others, so the compiler need not ask.
 */
enum { CM_ROW_ANY = INT32_MAX };
static CM_HD inline cm_four cm_row_read(const float *row, int at, int k) {
    cm_four four = {{0.0f, 0.0f, 0.0f, 0.0f}};
    if (at + 4 <= k) return cm_four_at(row + at);
    for (int i = 0; i < 4; i++)
        if (at + i < k) four.v[i] = row[at + i];
    return four;
}

static CM_HD inline cm_four cm_row_high(const cm_row_lane *l, int at, int k) {
    const cm_four none = {{0.0f, 0.0f, 0.0f, 0.0f}};
    return l->is_short ? none : cm_row_read(l->high, at, k);
}

/* Outputs after the n-th are the last one, as far as reading is concerned. */
static CM_HD inline int cm_row_known(int output, int n) { return output < n ? output : n - 1; }

#endif
