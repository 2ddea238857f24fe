/* Pooling, action encodings, embeddings, gathering of rows, and their gradients. */
#include <string.h>

#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

/* ---- pooling ---- */

/* Channel vector of cell (h, w) of sample b. */
static float *cell(const cm_tensor *t, int b, int h, int w) {
    return ref_row(t, b) + ((size_t)h * t->dim[2] + w) * t->dim[3];
}

cm_status cm_ref_avg_pool(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, avg_pool, y), *x = CM_ARG(call, avg_pool, x);
    for (int b = 0; b < y->dim[0]; b++)
        for (int p = 0; p < y->dim[1]; p++)
            for (int q = 0; q < y->dim[2]; q++)
                for (int c = 0; c < y->dim[3]; c++) {
                    double sum = 0.0;
                    for (int h = 2 * p - 1; h <= 2 * p + 1; h++)
                        for (int w = 2 * q - 1; w <= 2 * q + 1; w++)
                            if (h >= 0 && h < x->dim[1] && w >= 0 && w < x->dim[2]) sum += (double)cell(x, b, h, w)[c];
                    cell(y, b, p, q)[c] = (float)(sum / CM_POOL_AREA);
                }
    return CM_OK;
}

cm_status cm_ref_avg_pool_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, avg_pool_backward, dx), *dy = CM_ARG(call, avg_pool_backward, dy);
    for (int b = 0; b < dx->dim[0]; b++)
        for (int h = 0; h < dx->dim[1]; h++)
            for (int w = 0; w < dx->dim[2]; w++)
                for (int c = 0; c < dx->dim[3]; c++) {
                    double sum = 0.0; /* windows p with 2 p - 1 <= h <= 2 p + 1 */
                    for (int p = h / 2; p <= (h + 1) / 2 && p < dy->dim[1]; p++)
                        for (int q = w / 2; q <= (w + 1) / 2 && q < dy->dim[2]; q++)
                            sum += (double)cell(dy, b, p, q)[c];
                    ref_put(cell(dx, b, h, w) + c, sum / CM_POOL_AREA, CM_ADDS(call, avg_pool_backward, dx));
                }
    return CM_OK;
}

cm_status cm_ref_global_mean(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, global_mean, y), *x = CM_ARG(call, global_mean, x);
    int cells = x->dim[1] * x->dim[2], channels = x->dim[3];
    for (int b = 0; b < x->dim[0]; b++)
        for (int first = 0; first < channels; first += REF_BLOCK) {
            double sums[REF_BLOCK] = {0};
            int n = ref_min(REF_BLOCK, channels - first);
            for (int i = 0; i < cells; i++)
                ref_add_scaled(sums, 1.0 / cells, ref_row(x, b) + i * channels + first, n, CM_F32);
            ref_put_all(ref_row(y, b) + first, sums, n, false);
        }
    return CM_OK;
}

cm_status cm_ref_global_mean_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, global_mean_backward, dx), *dy = CM_ARG(call, global_mean_backward, dy);
    int cells = dx->dim[1] * dx->dim[2], channels = dx->dim[3];
    for (int b = 0; b < dx->dim[0]; b++)
        for (int i = 0; i < cells; i++)
            for (int c = 0; c < channels; c++)
                ref_put(ref_row(dx, b) + i * channels + c, (double)ref_row(dy, b)[c] / cells,
                        CM_ADDS(call, global_mean_backward, dx));
    return CM_OK;
}

/* ---- actions ---- */

cm_status cm_ref_action_encoding(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, action_encoding, y), *x = CM_ARG(call, action_encoding, x);
    const cm_tensor *action = CM_ARG(call, action_encoding, action);
    bool board = call->attr.encoding == CM_ENCODE_BOARD;
    CM_TRY(ref_check_range(call, "action", action, board ? INT32_MAX : call->attr.actions));
    int channels = cm_tensor_last(x), width = cm_tensor_last(y), cells = ref_vectors(x) / x->dim[0];
    for (int r = 0; r < ref_vectors(x); r++) {
        float *to = ref_vector(y, r);
        memcpy(to, ref_vector(x, r), (size_t)channels * sizeof *to);
        memset(to + channels, 0, (size_t)(width - channels) * sizeof *to);
        cm_encoded e = cm_encoded_of(call->attr.encoding, call->attr.actions, ref_int(action, r / cells), r % cells);
        if (e.column >= 0) to[channels + e.column] = e.value;
    }
    return CM_OK;
}

cm_status cm_ref_action_encoding_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, action_encoding_backward, dx), *dy = CM_ARG(call, action_encoding_backward, dy);
    const int channels = cm_tensor_last(dx), vectors = ref_vectors(dx);
    const bool add = CM_ADDS(call, action_encoding_backward, dx);
    for (int r = 0; r < vectors; r++) {
        float *to = ref_vector(dx, r);
        const float *from = ref_vector(dy, r);
        for (int c = 0; c < channels; c++) to[c] = add ? to[c] + from[c] : from[c];
    }
    return CM_OK;
}

cm_status cm_ref_embedding_add(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, embedding_add, y), *x = CM_ARG(call, embedding_add, x);
    const cm_tensor *table = CM_ARG(call, embedding_add, table), *action = CM_ARG(call, embedding_add, action);
    CM_TRY(ref_check_range(call, "action", action, table->dim[0]));
    for (int b = 0; b < x->dim[0]; b++) {
        const float *from = ref_row(x, b), *embedding = ref_row(table, ref_int(action, b));
        for (int i = 0; i < x->dim[1]; i++) ref_row(y, b)[i] = from[i] + embedding[i];
    }
    return CM_OK;
}

/* dtable[a] = sum of dy over the rows with action a */
static void table_gradient(const cm_call *call, const cm_tensor *dtable) {
    const cm_tensor *dy = CM_ARG(call, embedding_add_backward, dy);
    const cm_tensor *action = CM_ARG(call, embedding_add_backward, action);
    for (int a = 0; a < dtable->dim[0]; a++)
        for (int first = 0; first < dtable->dim[1]; first += REF_BLOCK) {
            double sums[REF_BLOCK] = {0};
            int n = ref_min(REF_BLOCK, dtable->dim[1] - first);
            for (int b = 0; b < dy->dim[0]; b++)
                if (ref_int(action, b) == a) ref_add_scaled(sums, 1.0, ref_row(dy, b) + first, n, CM_F32);
            ref_put_all(ref_row(dtable, a) + first, sums, n, CM_ADDS(call, embedding_add_backward, dtable));
        }
}

cm_status cm_ref_embedding_add_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, embedding_add_backward, dx), *dy = CM_ARG(call, embedding_add_backward, dy);
    const cm_tensor *dtable = CM_ARG(call, embedding_add_backward, dtable);
    if (dtable->data) {
        CM_TRY(ref_check_range(call, "action", CM_ARG(call, embedding_add_backward, action), dtable->dim[0]));
        table_gradient(call, dtable);
    }
    for (int b = 0; dx->data && b < dx->dim[0]; b++)
        for (int i = 0; i < dx->dim[1]; i++)
            ref_put(ref_row(dx, b) + i, (double)ref_row(dy, b)[i], CM_ADDS(call, embedding_add_backward, dx));
    return CM_OK;
}

/* ---- rows ---- */

cm_status cm_ref_gather_rows(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, gather_rows, y), *x = CM_ARG(call, gather_rows, x);
    const cm_tensor *rows = CM_ARG(call, gather_rows, rows);
    CM_TRY(ref_check_range(call, "rows", rows, x->dim[0]));
    size_t bytes = (size_t)cm_tensor_row_size(x) * sizeof(float);
    for (int i = 0; i < rows->dim[0]; i++) memcpy(ref_row(y, i), ref_row(x, ref_int(rows, i)), bytes);
    return CM_OK;
}

cm_status cm_ref_scatter_rows(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, scatter_rows, y), *x = CM_ARG(call, scatter_rows, x);
    const cm_tensor *rows = CM_ARG(call, scatter_rows, rows);
    CM_TRY(ref_check_range(call, "rows", rows, y->dim[0]));
    size_t bytes = (size_t)cm_tensor_row_size(x) * sizeof(float);
    for (int i = 0; i < rows->dim[0]; i++) memcpy(ref_row(y, ref_int(rows, i)), ref_row(x, i), bytes);
    return CM_OK;
}

cm_status cm_ref_bootstrap(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *target = CM_ARG(call, bootstrap, target), *partial = CM_ARG(call, bootstrap, partial);
    const cm_tensor *coefficient = CM_ARG(call, bootstrap, coefficient), *value = CM_ARG(call, bootstrap, value);
    const cm_tensor *rows = CM_ARG(call, bootstrap, rows);
    for (int i = 0; i < target->dim[0]; i++) {
        const float times = ref_at(coefficient, i);
        const int row = times == 0.0f ? 0 : ref_int(rows, i);
        if (row < 0 || row >= value->dim[0])
            return cm_fail(CM_ERR_INPUT, "bootstrap: rows[%d] is %d, must be in [0, %d)", i, row, value->dim[0]);
        const float v = times == 0.0f ? 0.0f : *ref_row(value, row);
        ((float *)target->data)[i] = cm_bootstrapped(ref_at(partial, i), times, v);
    }
    return CM_OK;
}
