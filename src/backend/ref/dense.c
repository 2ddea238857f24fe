/* dense and its gradient. The encoding of an action is a row of E more inputs after x: onehot (a one in column action)
 * or scaled (one column, action / actions). */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

/* The one column of the encoding that is not zero, and what stands in it. */
typedef struct encoded {
    int column; /* after the columns of x; -1 without an action */
    double value;
} encoded;

/* The type of what is float32 in products in 8 bits. */
static cm_dtype in_floats(cm_dtype compute) { return compute == CM_I8 ? CM_F32 : compute; }

static encoded encode(const cm_call *call, const cm_tensor *action, int b) {
    const cm_attr *a = &call->attr;
    if (!action->data) return (encoded){-1, 0.0};
    cm_encoded e = cm_encoded_of(a->encoding, a->actions, ref_int(action, b), 0);
    return (encoded){e.column, ref_input(e.value, in_floats(a->compute))};
}

static cm_status check_action(const cm_call *call, const cm_tensor *action) {
    return action->data ? ref_check_range(call, "action", action, call->attr.actions) : CM_OK;
}

/* Sum of the products of a row of x and one of the weight. */
static double dot_rows(const cm_call *call, const float *x, const float *w) {
    const cm_attr *a = &call->attr;
    const int in = CM_ARG(call, dense, x)->dim[1];
    if (a->compute != CM_I8) return ref_dot(x, w, in, a->compute);
    const float range = cm_int8_range(w, (size_t)CM_ARG(call, dense, weight)->dim[1]);
    const double step = (double)cm_int8_step(a->range) * (double)cm_int8_step(range);
    return step * ref_dot_int8(x, cm_int8_inverse(a->range), w, cm_int8_inverse(range), in);
}

cm_status cm_ref_dense(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, dense, y), *x = CM_ARG(call, dense, x), *weight = CM_ARG(call, dense, weight);
    const cm_tensor *bias = CM_ARG(call, dense, bias), *action = CM_ARG(call, dense, action);
    CM_TRY(check_action(call, action));
    const cm_dtype type = in_floats(call->attr.compute);
    const bool add = CM_ADDS(call, dense, y);
    int in = x->dim[1];
    for (int b = 0; b < y->dim[0]; b++) {
        encoded e = encode(call, action, b);
        for (int o = 0; o < y->dim[1]; o++) {
            const float *w = ref_row(weight, o);
            double sum = dot_rows(call, ref_row(x, b), w);
            if (e.column >= 0) sum += e.value * ref_input(w[in + e.column], type);
            if (bias->data) sum += (double)ref_at(bias, o);
            ref_put(ref_row(y, b) + o, cm_act_d(call->attr.activation, sum), add);
        }
    }
    return CM_OK;
}

/* dx[b, i] = sum over o of dy[b, o] weight[o, i] */
static void dense_dx(const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *weight = CM_ARG(call, dense_backward, weight);
    const cm_dtype type = call->attr.compute;
    const bool add = CM_ADDS(call, dense_backward, dx);
    for (int b = 0; b < dx->dim[0]; b++) {
        const float *g = ref_row(dy, b);
        for (int first = 0; first < dx->dim[1]; first += REF_BLOCK) {
            double sums[REF_BLOCK] = {0};
            int n = ref_min(REF_BLOCK, dx->dim[1] - first);
            for (int o = 0; o < dy->dim[1]; o++)
                ref_add_scaled(sums, ref_input(g[o], type), ref_row(weight, o) + first, n, type);
            ref_put_all(ref_row(dx, b) + first, sums, n, add);
        }
    }
}

/* dweight[o, i] = sum over b of dy[b, o] input[b, i]; the columns after x are the encoding's. */
static void dense_dweight(const cm_call *call) {
    const cm_tensor *dweight = CM_ARG(call, dense_backward, dweight), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *action = CM_ARG(call, dense_backward, action);
    const cm_dtype type = call->attr.compute;
    const bool add = CM_ADDS(call, dense_backward, dweight);
    int in = x->dim[1], columns = dweight->dim[1];
    for (int o = 0; o < dweight->dim[0]; o++) {
        for (int first = 0; first < columns; first += REF_BLOCK) {
            double sums[REF_BLOCK] = {0};
            int n = ref_min(REF_BLOCK, columns - first), of_x = ref_min(n, in - first);
            for (int b = 0; b < x->dim[0]; b++) {
                double g = ref_input(ref_row(dy, b)[o], type);
                ref_add_scaled(sums, g, ref_row(x, b) + first, of_x, type);
                encoded e = encode(call, action, b);
                int at = in + e.column - first;
                if (e.column >= 0 && at >= 0 && at < n) sums[at] += g * e.value;
            }
            ref_put_all(ref_row(dweight, o) + first, sums, n, add);
        }
    }
}

cm_status cm_ref_dense_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dbias = CM_ARG(call, dense_backward, dbias);
    CM_TRY(check_action(call, CM_ARG(call, dense_backward, action)));
    if (CM_ARG(call, dense_backward, dweight)->data) dense_dweight(call);
    if (dbias->data)
        ref_sum_vectors(CM_ARG(call, dense_backward, dy), dbias->data, CM_ADDS(call, dense_backward, dbias));
    if (CM_ARG(call, dense_backward, dx)->data) dense_dx(call);
    return CM_OK;
}
