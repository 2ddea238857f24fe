/* conv2d and its gradient: NHWC, weight [O, k, k, C], padding k / 2. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

typedef struct geometry {
    int B, H, W, C, O, P, Q, k, stride;
    cm_dtype type; /* of products */
    float range;   /* of x, in 8 bits */
} geometry;

static geometry measure(const cm_call *call, const cm_tensor *x, const cm_tensor *weight, const cm_tensor *y) {
    return (geometry){.B = x->dim[0],
                      .H = x->dim[1],
                      .W = x->dim[2],
                      .C = x->dim[3],
                      .O = weight->dim[0],
                      .P = y->dim[1],
                      .Q = y->dim[2],
                      .k = weight->dim[1],
                      .stride = call->attr.stride,
                      .type = call->attr.compute,
                      .range = call->attr.range};
}

static const float *input_at(const geometry *g, const cm_tensor *x, int b, int h, int w) {
    return ref_row(x, b) + ((size_t)h * g->W + w) * g->C;
}

static float *output_at(const geometry *g, const cm_tensor *y, int b, int p, int q) {
    return ref_row(y, b) + ((size_t)p * g->Q + q) * g->O;
}

static float *tap_at(const geometry *g, const cm_tensor *weight, int o, int row, int column) {
    return ref_row(weight, o) + ((size_t)row * g->k + column) * g->C;
}

/* The sum over all taps of one output; the taps of a row of the kernel lie side by side, like their inputs. */
static double window_sum(const geometry *g, const cm_call *call, int b, int p, int q, int o) {
    const cm_tensor *x = CM_ARG(call, conv2d, x), *weight = CM_ARG(call, conv2d, weight);
    int top = p * g->stride - g->k / 2, left = q * g->stride - g->k / 2;
    int first = left < 0 ? -left : 0, last = ref_min(g->k, g->W - left);
    const bool in_bits = g->type == CM_I8;
    const float range = in_bits ? cm_int8_range(ref_row(weight, o), (size_t)cm_tensor_row_size(weight)) : 0.0f;
    double sum = 0.0;
    for (int row = 0; row < g->k; row++) {
        if (top + row < 0 || top + row >= g->H) continue;
        const float *in = input_at(g, x, b, top + row, left + first), *tap = tap_at(g, weight, o, row, first);
        const int n = (last - first) * g->C;
        sum += in_bits ? ref_dot_int8(in, cm_int8_inverse(g->range), tap, cm_int8_inverse(range), n)
                       : ref_dot(in, tap, n, g->type);
    }
    return in_bits ? sum * (double)cm_int8_step(g->range) * (double)cm_int8_step(range) : sum;
}

cm_status cm_ref_conv2d(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, conv2d, y), *bias = CM_ARG(call, conv2d, bias);
    geometry g = measure(call, CM_ARG(call, conv2d, x), CM_ARG(call, conv2d, weight), y);
    bool add = CM_ADDS(call, conv2d, y);
    for (int b = 0; b < g.B; b++)
        for (int p = 0; p < g.P; p++)
            for (int q = 0; q < g.Q; q++)
                for (int o = 0; o < g.O; o++) {
                    double sum = window_sum(&g, call, b, p, q, o) + (bias->data ? (double)ref_at(bias, o) : 0.0);
                    ref_put(output_at(&g, y, b, p, q) + o, cm_act_d(call->attr.activation, sum), add);
                }
    return CM_OK;
}

/* One after the other, in y. The row ends as that of the norm. */
cm_status cm_ref_conv2d_norm(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, conv2d_norm, y), *scale = CM_ARG(call, conv2d_norm, scale);
    cm_call conv = {.op = CM_OP_conv2d,
                    .t = {*y, *CM_ARG(call, conv2d_norm, x), *CM_ARG(call, conv2d_norm, weight)},
                    .attr = {.compute = call->attr.compute, .range = call->attr.range, .stride = call->attr.stride}};
    cm_call norm = {.op = CM_OP_batch_norm_inference,
                    .t = {*y, *y, scale[0], scale[1], scale[2], scale[3], scale[4]},
                    .attr = call->attr};
    CM_TRY(cm_ref_conv2d(stream, &conv));
    return cm_ref_batch_norm_inference(stream, &norm);
}

/* The output whose window has input `at` under tap `tap`, or -1. */
static int output_of(const geometry *g, int at, int tap, int outputs) {
    int from = at + g->k / 2 - tap;
    return from >= 0 && from % g->stride == 0 && from / g->stride < outputs ? from / g->stride : -1;
}

/* sums[n] += gradient of input (b, h, w), channels first .. first + n */
static void input_gradient(const geometry *g, const cm_call *call, const int at[3], int first, int n, double *sums) {
    const cm_tensor *dy = CM_ARG(call, conv2d_backward, dy), *weight = CM_ARG(call, conv2d_backward, weight);
    for (int row = 0; row < g->k; row++) {
        int p = output_of(g, at[1], row, g->P);
        for (int column = 0; p >= 0 && column < g->k; column++) {
            int q = output_of(g, at[2], column, g->Q);
            if (q < 0) continue;
            const float *grad = output_at(g, dy, at[0], p, q);
            for (int o = 0; o < g->O; o++)
                ref_add_scaled(sums, ref_input(grad[o], g->type), tap_at(g, weight, o, row, column) + first, n,
                               g->type);
        }
    }
}

static void conv2d_dx(const geometry *g, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, conv2d_backward, dx);
    bool add = CM_ADDS(call, conv2d_backward, dx);
    for (int b = 0; b < g->B; b++)
        for (int h = 0; h < g->H; h++)
            for (int w = 0; w < g->W; w++)
                for (int first = 0; first < g->C; first += REF_BLOCK) {
                    double sums[REF_BLOCK] = {0};
                    int n = ref_min(REF_BLOCK, g->C - first);
                    input_gradient(g, call, (int[]){b, h, w}, first, n, sums);
                    ref_put_all(ref_row(dx, b) + ((size_t)h * g->W + w) * g->C + first, sums, n, add);
                }
}

/* sums[n] += gradient of tap (o, row, column), channels first .. first + n */
static void tap_gradient(const geometry *g, const cm_call *call, const int tap[3], int first, int n, double *sums) {
    const cm_tensor *dy = CM_ARG(call, conv2d_backward, dy), *x = CM_ARG(call, conv2d_backward, x);
    for (int b = 0; b < g->B; b++)
        for (int p = 0; p < g->P; p++) {
            int h = p * g->stride + tap[1] - g->k / 2;
            if (h < 0 || h >= g->H) continue;
            for (int q = 0; q < g->Q; q++) {
                int w = q * g->stride + tap[2] - g->k / 2;
                if (w < 0 || w >= g->W) continue;
                double grad = ref_input(output_at(g, dy, b, p, q)[tap[0]], g->type);
                ref_add_scaled(sums, grad, input_at(g, x, b, h, w) + first, n, g->type);
            }
        }
}

static void conv2d_dweight(const geometry *g, const cm_call *call) {
    const cm_tensor *dweight = CM_ARG(call, conv2d_backward, dweight);
    bool add = CM_ADDS(call, conv2d_backward, dweight);
    for (int o = 0; o < g->O; o++)
        for (int row = 0; row < g->k; row++)
            for (int column = 0; column < g->k; column++)
                for (int first = 0; first < g->C; first += REF_BLOCK) {
                    double sums[REF_BLOCK] = {0};
                    int n = ref_min(REF_BLOCK, g->C - first);
                    tap_gradient(g, call, (int[]){o, row, column}, first, n, sums);
                    ref_put_all(tap_at(g, dweight, o, row, column) + first, sums, n, add);
                }
}

cm_status cm_ref_conv2d_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dy = CM_ARG(call, conv2d_backward, dy), *dbias = CM_ARG(call, conv2d_backward, dbias);
    geometry g = measure(call, CM_ARG(call, conv2d_backward, x), CM_ARG(call, conv2d_backward, weight), dy);
    if (CM_ARG(call, conv2d_backward, dweight)->data) conv2d_dweight(&g, call);
    if (dbias->data) ref_sum_vectors(dy, dbias->data, CM_ADDS(call, conv2d_backward, dbias));
    if (CM_ARG(call, conv2d_backward, dx)->data) conv2d_dx(&g, call);
    return CM_OK;
}
