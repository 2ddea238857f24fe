#include "backend/cuda/fused/row_shared.h"

static uint32_t bytes_of(const cm_row_step *s) { return s->type == CM_F32 ? 4 : 2; } /* an element's */

/* Elements from row to row, zeros after k: rows so far apart that lanes which read neighbours at once read different
 * banks. Eight lanes read 64 bytes of each of two rows, in float32 every second 16 of 128. */
static uint32_t row_of(const cm_row_step *s) {
    const uint32_t k = (uint32_t)s->k;
    return s->type == CM_F32 ? ((k + 3) / 4 | 1) * 4 : ((k + 31) / 32 | 1) * 32;
}

/* Rows of a weight that have space in so many bytes: all, or what some warps make in one go. */
static int rows_in(const cm_row_step *s, uint32_t bytes) {
    const uint32_t rows = bytes / (row_of(s) * bytes_of(s));
    return rows >= (uint32_t)s->n ? s->n : (int)(rows / CM_ROW_OUTPUTS * CM_ROW_OUTPUTS);
}

/* A place from byte `first` on for the first rows of a weight; returns where it ends. */
static uint32_t put(cm_row_step *s, int rows, uint32_t first) {
    s->of.dense.shared = (int32_t)(first / sizeof(float));
    s->of.dense.shared_row = (int32_t)row_of(s);
    s->of.dense.shared_rows = rows;
    return first + ((uint32_t)rows * row_of(s) * bytes_of(s) + 15) / 16 * 16;
}

uint32_t cm_row_shared(cm_row_kernel_args *args, uint32_t first, uint32_t end) {
    for (int part = 0; part < 2; part++) /* first those that have space as a whole */
        for (int i = 0; i < args->steps; i++) {
            cm_row_step *s = &args->step[i];
            if (s->op != CM_OP_dense || s->of.dense.shared_rows > 0) continue;
            const int rows = rows_in(s, (end - first) / 16 * 16);
            if (rows == s->n || (part && rows > 0)) first = put(s, rows, first);
        }
    return first;
}
