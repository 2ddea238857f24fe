/* one_hot; softmax, log_softmax, simnorm and their gradients. */
#include "backend/ref/softmax.h"

#include "backend/ref/ref.h"

cm_softmax_d ref_softmax_of(const float *x, const float *legal, int n) {
    cm_softmax_d s = {.max = -INFINITY};
    for (int i = 0; i < n; i++)
        if ((!legal || legal[i] != 0.0f) && !((double)x[i] <= s.max)) s.max = (double)x[i];
    for (int i = 0; i < n; i++)
        if (!legal || legal[i] != 0.0f) s.sum += exp((double)x[i] - s.max);
    s.log_sum = log(s.sum);
    return s;
}

static void softmax_run(float *y, const float *x, const float *legal, int n) {
    cm_softmax_d s = ref_softmax_of(x, legal, n);
    for (int i = 0; i < n; i++)
        y[i] = legal && legal[i] == 0.0f ? 0.0f : (float)cm_softmax_probability_d(&s, (double)x[i]);
}

static void softmax_run_backward(float *dx, const float *dy, const float *y, int n, bool add) {
    double along = 0.0;
    for (int i = 0; i < n; i++) along += (double)dy[i] * (double)y[i];
    for (int i = 0; i < n; i++) ref_put(dx + i, (double)y[i] * ((double)dy[i] - along), add);
}

cm_status cm_ref_one_hot(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, one_hot, y), *x = CM_ARG(call, one_hot, x);
    int n = cm_tensor_last(x);
    for (int r = 0; r < ref_vectors(x); r++) {
        const float *from = ref_vector(x, r);
        float *to = ref_vector(y, r);
        int best = 0;
        for (int i = 1; i < n; i++) best = from[i] > from[best] ? i : best;
        for (int i = 0; i < n; i++) to[i] = i == best ? 1.0f : 0.0f;
    }
    return CM_OK;
}

cm_status cm_ref_softmax(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, softmax, y), *x = CM_ARG(call, softmax, x);
    const cm_tensor *legal = CM_ARG(call, softmax, legal);
    for (int r = 0; r < ref_vectors(x); r++)
        softmax_run(ref_vector(y, r), ref_vector(x, r), legal->data ? ref_vector(legal, r) : NULL, cm_tensor_last(x));
    return CM_OK;
}

cm_status cm_ref_softmax_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, softmax_backward, dx), *dy = CM_ARG(call, softmax_backward, dy);
    const cm_tensor *y = CM_ARG(call, softmax_backward, y);
    for (int r = 0; r < ref_vectors(y); r++)
        softmax_run_backward(ref_vector(dx, r), ref_vector(dy, r), ref_vector(y, r), cm_tensor_last(y),
                             CM_ADDS(call, softmax_backward, dx));
    return CM_OK;
}

cm_status cm_ref_simnorm(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, simnorm, y), *x = CM_ARG(call, simnorm, x);
    int group = call->attr.group;
    for (int r = 0; r < ref_vectors(x); r++)
        for (int i = 0; i < cm_tensor_last(x); i += group)
            softmax_run(ref_vector(y, r) + i, ref_vector(x, r) + i, NULL, group);
    return CM_OK;
}

cm_status cm_ref_simnorm_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, simnorm_backward, dx), *dy = CM_ARG(call, simnorm_backward, dy);
    const cm_tensor *y = CM_ARG(call, simnorm_backward, y);
    int group = call->attr.group;
    for (int r = 0; r < ref_vectors(y); r++)
        for (int i = 0; i < cm_tensor_last(y); i += group)
            softmax_run_backward(ref_vector(dx, r) + i, ref_vector(dy, r) + i, ref_vector(y, r) + i, group,
                                 CM_ADDS(call, simnorm_backward, dx));
    return CM_OK;
}

cm_status cm_ref_log_softmax(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, log_softmax, y), *x = CM_ARG(call, log_softmax, x);
    for (int r = 0; r < ref_vectors(x); r++) {
        const float *from = ref_vector(x, r);
        cm_softmax_d s = ref_softmax_of(from, NULL, cm_tensor_last(x));
        for (int i = 0; i < cm_tensor_last(x); i++) ref_vector(y, r)[i] = (float)cm_softmax_log_d(&s, (double)from[i]);
    }
    return CM_OK;
}

cm_status cm_ref_log_softmax_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, log_softmax_backward, dx), *dy = CM_ARG(call, log_softmax_backward, dy);
    const cm_tensor *y = CM_ARG(call, log_softmax_backward, y);
    for (int r = 0; r < ref_vectors(y); r++) {
        const float *from = ref_vector(dy, r), *at = ref_vector(y, r);
        double sum = 0.0;
        for (int i = 0; i < cm_tensor_last(y); i++) sum += (double)from[i];
        for (int i = 0; i < cm_tensor_last(y); i++)
            ref_put(ref_vector(dx, r) + i, (double)from[i] - exp((double)at[i]) * sum,
                    CM_ADDS(call, log_softmax_backward, dx));
    }
    return CM_OK;
}
