#include "backend/cuda/row_near.h"

/* Elements from row to row, zeros behind k: rows so far apart that lanes which read neighbours at once read different
 * banks. In 16 bits eight lanes read 64 bytes of each of two rows, in float32 each 16 bytes of a row of its own. */
static uint32_t row_of(const cm_row_step *s) {
    const uint32_t k = (uint32_t)s->k;
    return s->type == CM_F32 ? ((k + 3) / 4 | 1) * 4 : ((k + 31) / 32 | 1) * 32;
}

uint32_t cm_row_near(cm_row_pass_args *args, uint32_t first, uint32_t end) {
    for (int i = 0; i < args->steps; i++) {
        cm_row_step *s = &args->step[i];
        if (s->op != CM_OP_dense) continue;
        const uint32_t row = row_of(s), bytes = (uint32_t)s->n * row * (s->type == CM_F32 ? 4 : 2),
                       place = (bytes + 15) / 16 * 16;
        if (place > end - first) continue;
        s->of.dense.near = (int32_t)(first / sizeof(float));
        s->of.dense.near_row = (int32_t)row;
        first += place;
    }
    return first;
}
