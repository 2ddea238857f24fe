#include "backend/cuda/ops/sums.h"

_Static_assert(sizeof(cm_sums) <= CM_LAUNCH_BYTES, "the arguments of a kernel are at most as many bytes");

static void take(cm_tensor *t) { t->data = NULL; }

/* The sums of a call, at most CM_SUMS_OF_CALL. */
static int sums_of(const cm_call *call, cm_sums_part out[CM_SUMS_OF_CALL]) {
    int count = 0;
    if (call->op == CM_OP_layer_norm_backward) {
        out[0].kind = CM_SUM_NORM;
        count += cm_layer_norm_sums(call, &out[0].of.norm, &out[0].columns);
    }
    if (call->op != CM_OP_dense_backward) return count;
    out[count].kind = CM_SUM_ROWS;
    count += cm_dense_bias_sum(call, &out[count].columns);
    if (!cm_dense_action_sum(call, &out[count].of.action)) return count;
    out[count].kind = CM_SUM_ACTION;
    out[count].columns.chunks = out[count].of.action.chunks;
    return count + 1;
}

static bool makes_dx(const cm_call *call) {
    if (call->op == CM_OP_layer_norm_backward) return CM_ARG(call, layer_norm_backward, dx)->data;
    return call->op == CM_OP_dense_backward && CM_ARG(call, dense_backward, dx)->data;
}

bool cm_sums_are_of(const cm_call *call) {
    cm_sums_part sum[CM_SUMS_OF_CALL];
    if (call->branch == 0 || makes_dx(call)) return false;
    const int count = sums_of(call, sum);
    for (int i = 0; i < count; i++)
        if (cm_chunks_bytes(&sum[i].columns.chunks) > CM_SUMS_EACH) return false;
    return count > 0;
}

bool cm_sums_take(cm_sums *sums, cm_call *call) {
    sums->count += sums_of(call, sums->sum + sums->count);
    if (call->op == CM_OP_layer_norm_backward) return false;
    take(CM_ARG(call, dense_backward, dbias));
    take(CM_ARG(call, dense_backward, action));
    return CM_ARG(call, dense_backward, dweight)->data;
}

/* Where the parts of a sum lie. */
static void place(cm_sums_part *sum, float *parts) {
    sum->columns.chunks.partial = parts;
    if (sum->kind == CM_SUM_NORM) sum->of.norm.chunks.partial = parts;
    if (sum->kind == CM_SUM_ACTION) sum->of.action.chunks.partial = parts;
}

cm_status cm_sums_run(cm_stream *stream, cm_sums *sums) {
    static const char what[] = "sums over rows";
    size_t at[CM_SUMS], bytes = 0;
    int64_t items = 0, columns = 0;
    if (sums->count == 0) return CM_OK;
    for (int i = 0; i < sums->count; i++) {
        const cm_chunks *chunks = &sums->sum[i].columns.chunks;
        at[i] = cm_ops_piece(&bytes, cm_chunks_bytes(chunks));
        items += cm_chunks_items(chunks), columns += chunks->columns;
    }
    char *parts = cm_ops_borrow(stream, bytes);
    for (int i = 0; i < sums->count; i++) place(&sums->sum[i], (float *)(void *)(parts + at[i]));
    CM_TRY(cm_ops_launched(stream, cm_sums_partial_launch(sums, items, 1, cm_ops_queue(stream)), what));
    CM_TRY(cm_ops_launched(stream, cm_sums_finish_launch(sums, columns, CM_WARP, cm_ops_queue(stream)), what));
    sums->count = 0;
    return CM_OK;
}
