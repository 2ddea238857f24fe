#include "backend/cuda/fused/row_shared.h"

static uint32_t bytes_of(const cm_row_step *s) { return s->type == CM_F32 ? 4 : 2; } /* an element's */

/* Elements from row to row, zeros after k: rows so far apart that lanes which read neighbours at once read different
 * banks. Eight lanes read 64 bytes of each of two rows, in float32 every second 16 of 128. Across they read words of
 * rows that are eight apart. */
static uint32_t row_of(const cm_row_step *s) {
    const uint32_t k = (uint32_t)s->k, n = (uint32_t)s->n;
    if (s->op == CM_OP_dense_backward) return s->type == CM_F32 ? n | 1 : ((n + 1) / 2 | 1) * 2;
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
    s->of.dense.keeps = true;
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

/* Of one weight another layer may be a part, with fewer rows. */
static bool reads_same(const cm_row_step *a, const cm_row_step *b) {
    return a->op == b->op && cm_row_is_layer(b) && a->type == b->type && a->n == b->n && a->k == b->k &&
           a->of.dense.weight == b->of.dense.weight && a->of.dense.weight_row == b->of.dense.weight_row;
}

/* Bytes of a whole weight. */
static size_t kept_bytes(const cm_row_step *s) {
    const size_t rows = (size_t)(s->op == CM_OP_dense ? s->n : s->k);
    return (rows * row_of(s) * bytes_of(s) + 15) / 16 * 16;
}

/* The steps after `first` that read its weight read its copy, too. */
static void share_copy(cm_row_kernel_args *args, int first) {
    const cm_row_step *from = &args->step[first];
    for (int i = first + 1; i < args->steps; i++) {
        cm_row_step *s = &args->step[i];
        if (!reads_same(from, s)) continue;
        s->of.dense.shared = from->of.dense.shared;
        s->of.dense.shared_row = from->of.dense.shared_row;
        s->of.dense.shared_rows = s->n;
    }
}

static bool is_repeated(const cm_row_kernel_args *args, int first) {
    for (int i = first + 1; i < args->steps; i++)
        if (reads_same(&args->step[first], &args->step[i])) return true;
    return false;
}

bool cm_row_share_repeated(cm_row_kernel_args *args, size_t bytes) {
    for (int i = 0; i < args->steps; i++) {
        cm_row_step *s = &args->step[i];
        if (!cm_row_is_layer(s) || s->of.dense.shared_rows > 0 || !is_repeated(args, i)) continue;
        if (args->used + args->memory + kept_bytes(s) > bytes) continue;
        const uint32_t end = args->memory + (uint32_t)kept_bytes(s);
        (void)put(s, s->n, args->memory);
        args->memory = end;
        args->keeps = true;
        share_copy(args, i);
    }
    return args->keeps;
}
