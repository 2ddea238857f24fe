/* prefix_step. */
#include <string.h>

#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

static void keep_memory(const cm_call *call, int b, float steps) {
    const cm_tensor *memory = CM_ARG(call, prefix_step, memory), *h = CM_ARG(call, prefix_step, h);
    float *to = ref_row(memory, b);
    const size_t H = (size_t)h->dim[1], bytes = H * sizeof(float);
    if (!(steps < (float)call->attr.horizon)) {
        memset(to, 0, (2 * H + 2) * sizeof(float));
        return;
    }
    memcpy(to, ref_row(h, b), bytes);
    memcpy(to + H, ref_row(CM_ARG(call, prefix_step, c), b), bytes);
    to[2 * H] = ref_at(CM_ARG(call, prefix_step, prefix), b);
    to[2 * H + 1] = steps;
}

cm_status cm_ref_prefix_step(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *before = CM_ARG(call, prefix_step, before), *reward = CM_ARG(call, prefix_step, reward);
    for (int b = 0; b < before->dim[0]; b++) {
        ((float *)reward->data)[b] = ref_at(CM_ARG(call, prefix_step, prefix), b) - ref_row(before, b)[0];
        keep_memory(call, b, ref_row(before, b)[1] + 1.0f);
    }
    return CM_OK;
}
