#include "core/von_mises_internal.h"

static void draw_words(cm_key key, uint32_t attempt, uint64_t first, const uint32_t *list, int entries,
                       uint32_t word[4][CM_VON_MISES_BLOCK]) {
    for (int k = 0; k < entries; k++) {
        const uint64_t step = first + list[k];
        const uint32_t counter[4] = {attempt, 0, (uint32_t)step, (uint32_t)(step >> 32)};
        uint32_t out[4];
        cm_philox(counter, key, out);
        word[0][k] = out[3], word[1][k] = out[2], word[2][k] = out[1], word[3][k] = out[0];
    }
}

#define LOOPS_TABLE cm_von_mises_base
#define LOOPS_NAME  "any"
#include "core/von_mises_loops.inc"
