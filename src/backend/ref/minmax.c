/* minmax and its gradient. A group is a whole sample, or one channel of it: elements `step` apart. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

typedef struct layout {
    int groups, n, step;
} layout;

static layout layout_of(const cm_call *call, const cm_tensor *x) {
    int channels = call->attr.per_channel ? cm_tensor_last(x) : 1;
    return (layout){channels, cm_tensor_row_size(x) / channels, channels};
}

static void normalise(const float *x, float *y, const layout *l, float saved[3]) {
    int low = 0, high = 0;
    for (int i = 1; i < l->n; i++) {
        if (x[i * l->step] < x[low * l->step]) low = i;
        if (x[i * l->step] > x[high * l->step]) high = i;
    }
    double least = (double)x[low * l->step], range = cm_minmax_range_d((double)x[high * l->step] - least);
    for (int i = 0; i < l->n; i++) y[i * l->step] = (float)(((double)x[i * l->step] - least) / range);
    saved[0] = (float)low, saved[1] = (float)high, saved[2] = (float)(1.0 / range);
}

cm_status cm_ref_minmax(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, minmax, y), *saved = CM_ARG(call, minmax, saved), *x = CM_ARG(call, minmax, x);
    layout l = layout_of(call, x);
    for (int b = 0; b < x->dim[0]; b++)
        for (int g = 0; g < l.groups; g++) {
            float unused[3];
            normalise(ref_row(x, b) + g, ref_row(y, b) + g, &l, saved->data ? ref_row(saved, b) + 3 * g : unused);
        }
    return CM_OK;
}

cm_status cm_ref_minmax_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, minmax_backward, dx), *dy = CM_ARG(call, minmax_backward, dy);
    const cm_tensor *y = CM_ARG(call, minmax_backward, y), *saved = CM_ARG(call, minmax_backward, saved);
    bool add = CM_ADDS(call, minmax_backward, dx);
    layout l = layout_of(call, y);
    for (int b = 0; b < y->dim[0]; b++)
        for (int g = 0; g < l.groups; g++) {
            const float *from = ref_row(dy, b) + g, *at = ref_row(y, b) + g, *s = ref_row(saved, b) + 3 * g;
            cm_minmax_group_d group = {.low = (int)s[0], .high = (int)s[1], .inverse = (double)s[2]};
            for (int i = 0; i < l.n; i++) {
                group.sum += (double)from[i * l.step];
                group.along += (double)from[i * l.step] * (double)at[i * l.step];
            }
            for (int i = 0; i < l.n; i++) {
                double value = cm_minmax_slope_d((double)from[i * l.step], i, &group);
                ref_put(ref_row(dx, b) + g + i * l.step, value, add);
            }
        }
    return CM_OK;
}
