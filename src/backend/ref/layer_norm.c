/* layer_norm and its gradient: each run of n elements of a row has its own mean and variance. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

typedef struct moments {
    double mean, inverse; /* of the standard deviation */
} moments;

static moments measure(const float *x, int n, double epsilon) {
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++) sum += (double)x[i];
    double mean = sum / n;
    for (int i = 0; i < n; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    return (moments){mean, 1.0 / sqrt(squares / n + epsilon)};
}

cm_status cm_ref_layer_norm(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, layer_norm, y), *saved = CM_ARG(call, layer_norm, saved);
    const cm_tensor *x = CM_ARG(call, layer_norm, x);
    const cm_tensor *scale = CM_ARG(call, layer_norm, scale), *shift = CM_ARG(call, layer_norm, shift);
    int groups = call->attr.groups ? call->attr.groups : 1, n = cm_tensor_row_size(x) / groups;
    for (int r = 0; r < x->dim[0]; r++)
        for (int g = 0; g < groups; g++) {
            const float *from = ref_row(x, r) + g * n;
            moments m = measure(from, n, (double)call->attr.epsilon);
            for (int i = 0; i < n; i++) {
                double normal = ((double)from[i] - m.mean) * m.inverse;
                double value = normal * (double)ref_at(scale, g * n + i) + (double)ref_at(shift, g * n + i);
                ref_row(y, r)[g * n + i] = (float)cm_act_d(call->attr.activation, value);
            }
            if (!saved->data) continue;
            ref_row(saved, r)[2 * g] = (float)m.mean;
            ref_row(saved, r)[2 * g + 1] = (float)m.inverse;
        }
    return CM_OK;
}

/* One element in the backward pass. */
typedef struct element {
    double normal;   /* (x - mean) / std */
    double gradient; /* at normal * scale + shift */
} element;

static element element_at(const cm_call *call, int r, int i, int n) {
    const float *saved = ref_row(CM_ARG(call, layer_norm_backward, saved), r) + 2 * (i / n);
    double scale = (double)ref_at(CM_ARG(call, layer_norm_backward, scale), i);
    double shift = (double)ref_at(CM_ARG(call, layer_norm_backward, shift), i);
    double x = (double)ref_row(CM_ARG(call, layer_norm_backward, x), r)[i];
    double y = (double)ref_row(CM_ARG(call, layer_norm_backward, y), r)[i];
    double dy = (double)ref_row(CM_ARG(call, layer_norm_backward, dy), r)[i];
    double normal = (x - (double)saved[0]) * (double)saved[1];
    return (element){normal, dy * cm_slope_d(call->attr.activation, normal * scale + shift, y)};
}

static void parameter_gradients(const cm_call *call, int n, int size) {
    const cm_tensor *dscale = CM_ARG(call, layer_norm_backward, dscale);
    const cm_tensor *dshift = CM_ARG(call, layer_norm_backward, dshift);
    int rows = CM_ARG(call, layer_norm_backward, x)->dim[0];
    for (int first = 0; first < size; first += REF_BLOCK) {
        double of_scale[REF_BLOCK] = {0}, of_shift[REF_BLOCK] = {0};
        int columns = ref_min(REF_BLOCK, size - first);
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < columns; i++) {
                element e = element_at(call, r, first + i, n);
                of_scale[i] += e.gradient * e.normal;
                of_shift[i] += e.gradient;
            }
        if (dscale->data)
            ref_put_all((float *)dscale->data + first, of_scale, columns, CM_ADDS(call, layer_norm_backward, dscale));
        if (dshift->data)
            ref_put_all((float *)dshift->data + first, of_shift, columns, CM_ADDS(call, layer_norm_backward, dshift));
    }
}

/* dx of one run: inverse (g - mean(g) - normal mean(g normal)), g = gradient * scale */
static void input_gradient(const cm_call *call, int r, int group, int n) {
    const cm_tensor *dx = CM_ARG(call, layer_norm_backward, dx), *scale = CM_ARG(call, layer_norm_backward, scale);
    double inverse = (double)ref_row(CM_ARG(call, layer_norm_backward, saved), r)[2 * group + 1];
    double sum = 0.0, along = 0.0;
    for (int i = group * n; i < (group + 1) * n; i++) {
        element e = element_at(call, r, i, n);
        double g = e.gradient * (double)ref_at(scale, i);
        sum += g;
        along += g * e.normal;
    }
    for (int i = group * n; i < (group + 1) * n; i++) {
        element e = element_at(call, r, i, n);
        double g = e.gradient * (double)ref_at(scale, i);
        ref_put(ref_row(dx, r) + i, cm_norm_slope_d(inverse, g, e.normal, sum / n, along / n),
                CM_ADDS(call, layer_norm_backward, dx));
    }
}

cm_status cm_ref_layer_norm_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *x = CM_ARG(call, layer_norm_backward, x);
    int groups = call->attr.groups ? call->attr.groups : 1, size = cm_tensor_row_size(x), n = size / groups;
    if (CM_ARG(call, layer_norm_backward, dscale)->data || CM_ARG(call, layer_norm_backward, dshift)->data)
        parameter_gradients(call, n, size);
    if (!CM_ARG(call, layer_norm_backward, dx)->data) return CM_OK;
    for (int r = 0; r < x->dim[0]; r++)
        for (int group = 0; group < groups; group++) input_gradient(call, r, group, n);
    return CM_OK;
}
