/* lstm and its gradient, one sample after the other. Gates of a step: i f g o, then c and tanh(c). */
#include <string.h>

#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

/* Vector (t, b) of a tensor [T, B, n]. */
static float *step_at(const cm_tensor *tensor, int t, int b) { return ref_row(tensor, t) + (size_t)b * tensor->dim[2]; }

/* h on entering step t: NULL where it is zero. */
static const float *entering_h(const cm_attr *attr, const cm_tensor *y, const cm_tensor *h0, int t, int b) {
    if (cm_lstm_is_reset(attr->horizon, t)) return NULL;
    return t ? step_at(y, t - 1, b) : ref_row(h0, b);
}

/* ---- forward ---- */

static double gate(const cm_call *call, int row, const float *x, const float *h) {
    const cm_tensor *weight_ih = CM_ARG(call, lstm, weight_ih), *weight_hh = CM_ARG(call, lstm, weight_hh);
    const cm_dtype type = call->attr.compute;
    double sum = (double)ref_at(CM_ARG(call, lstm, bias_ih), row) + (double)ref_at(CM_ARG(call, lstm, bias_hh), row);
    sum += ref_dot(ref_row(weight_ih, row), x, weight_ih->dim[1], type);
    return h ? sum + ref_dot(ref_row(weight_hh, row), h, weight_hh->dim[1], type) : sum;
}

/* One step of one sample; c[H] is carried from step to step. */
static void lstm_step(const cm_call *call, int t, int b, double *c) {
    const cm_tensor *y = CM_ARG(call, lstm, y), *saved = CM_ARG(call, lstm, saved);
    int H = y->dim[2];
    const float *x = step_at(CM_ARG(call, lstm, x), t, b);
    const float *h = entering_h(&call->attr, y, CM_ARG(call, lstm, h0), t, b);
    for (int j = 0; j < H; j++) {
        double pre[CM_LSTM_GATES];
        for (int k = 0; k < CM_LSTM_GATES; k++) pre[k] = gate(call, k * H + j, x, h);
        cm_lstm_unit_d u = cm_lstm_unit_of_d(pre, h ? c[j] : 0.0);
        c[j] = u.c;
        step_at(y, t, b)[j] = (float)(u.gate[3] * u.squashed);
        if (!saved->data) continue;
        float *keep = step_at(saved, t, b) + j;
        for (int k = 0; k < CM_LSTM_GATES; k++) keep[k * H] = (float)u.gate[k];
        keep[4 * H] = (float)u.c;
        keep[5 * H] = (float)u.squashed;
    }
}

cm_status cm_ref_lstm(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, lstm, y), *c0 = CM_ARG(call, lstm, c0);
    double c[CM_LSTM_HIDDEN_MAX];
    for (int b = 0; b < y->dim[1]; b++) {
        for (int j = 0; j < y->dim[2]; j++) c[j] = (double)ref_row(c0, b)[j];
        for (int t = 0; t < y->dim[0]; t++) lstm_step(call, t, b, c);
    }
    return CM_OK;
}

/* ---- backward ---- */

/* Of one sample: gradients that arrive at h and c from the step after, and at the gates of this one. */
typedef struct carried {
    double dh[CM_LSTM_HIDDEN_MAX], dc[CM_LSTM_HIDDEN_MAX];
    float dgate[CM_LSTM_GATES * CM_LSTM_HIDDEN_MAX];
} carried;

static void gate_gradients(const cm_call *call, int t, int b, carried *g) {
    int H = CM_ARG(call, lstm_backward, y)->dim[2];
    const float *s = step_at(CM_ARG(call, lstm_backward, saved), t, b);
    const float *dy = step_at(CM_ARG(call, lstm_backward, dy), t, b);
    const float *c_before =
        t ? step_at(CM_ARG(call, lstm_backward, saved), t - 1, b) + 4 * H : ref_row(CM_ARG(call, lstm_backward, c0), b);
    bool reset = cm_lstm_is_reset(call->attr.horizon, t);
    for (int j = 0; j < H; j++) {
        cm_lstm_unit_d u = {{(double)s[j], (double)s[H + j], (double)s[2 * H + j], (double)s[3 * H + j]},
                            (double)s[4 * H + j],
                            (double)s[5 * H + j]};
        double arrives[2] = {g->dh[j] + (double)dy[j], g->dc[j]}, dgate[CM_LSTM_GATES];
        g->dc[j] = cm_lstm_unit_slope_d(&u, (double)c_before[j], reset, arrives, dgate);
        for (int k = 0; k < CM_LSTM_GATES; k++) g->dgate[k * H + j] = (float)dgate[k];
    }
}

/* out[n] = the gates' gradients through weight[4H, n] */
static void through_weight(const cm_call *call, const cm_tensor *weight, const float *dgate, double *out) {
    const cm_dtype type = call->attr.compute;
    for (int i = 0; i < weight->dim[1]; i++) out[i] = 0.0;
    for (int k = 0; k < weight->dim[0]; k++)
        ref_add_scaled(out, ref_input(dgate[k], type), ref_row(weight, k), weight->dim[1], type);
}

static void input_gradient(const cm_call *call, int t, int b, const float *dgate) {
    const cm_tensor *dx = CM_ARG(call, lstm_backward, dx), *weight = CM_ARG(call, lstm_backward, weight_ih);
    const cm_dtype type = call->attr.compute;
    for (int first = 0; dx->data && first < dx->dim[2]; first += REF_BLOCK) {
        double sums[REF_BLOCK] = {0};
        int n = ref_min(REF_BLOCK, dx->dim[2] - first);
        for (int k = 0; k < weight->dim[0]; k++)
            ref_add_scaled(sums, ref_input(dgate[k], type), ref_row(weight, k) + first, n, type);
        ref_put_all(step_at(dx, t, b) + first, sums, n, CM_ADDS(call, lstm_backward, dx));
    }
}

/* dweight[4H, n] += dgate input^T */
static void add_outer(const cm_call *call, const cm_tensor *dweight, const float *dgate, const float *input) {
    const cm_dtype type = call->attr.compute;
    for (int k = 0; dweight->data && k < dweight->dim[0]; k++)
        for (int i = 0; i < dweight->dim[1]; i++)
            ref_row(dweight, k)[i] += (float)(ref_input(dgate[k], type) * ref_input(input[i], type));
}

static void parameter_gradients(const cm_call *call, int t, int b, const float *dgate) {
    const cm_tensor *dbias[2] = {CM_ARG(call, lstm_backward, dbias_ih), CM_ARG(call, lstm_backward, dbias_hh)};
    add_outer(call, CM_ARG(call, lstm_backward, dweight_ih), dgate, step_at(CM_ARG(call, lstm_backward, x), t, b));
    const float *h = entering_h(&call->attr, CM_ARG(call, lstm_backward, y), CM_ARG(call, lstm_backward, h0), t, b);
    if (h) add_outer(call, CM_ARG(call, lstm_backward, dweight_hh), dgate, h);
    for (int i = 0; i < 2; i++)
        for (int k = 0; dbias[i]->data && k < dbias[i]->dim[0]; k++) ((float *)dbias[i]->data)[k] += dgate[k];
}

/* One step of one sample; leaves in g what arrives at the step before. */
static void step_backward(const cm_call *call, int t, int b, carried *g) {
    gate_gradients(call, t, b, g);
    input_gradient(call, t, b, g->dgate);
    parameter_gradients(call, t, b, g->dgate);
    if (cm_lstm_is_reset(call->attr.horizon, t))
        memset(g->dh, 0, sizeof g->dh);
    else
        through_weight(call, CM_ARG(call, lstm_backward, weight_hh), g->dgate, g->dh);
}

static void clear_unless_adding(const cm_tensor *t, bool add) {
    for (int r = 0; t->data && !add && r < t->dim[0]; r++)
        memset(ref_row(t, r), 0, (size_t)cm_tensor_row_size(t) * sizeof(float));
}

cm_status cm_ref_lstm_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dh0 = CM_ARG(call, lstm_backward, dh0), *dc0 = CM_ARG(call, lstm_backward, dc0);
    const cm_tensor *y = CM_ARG(call, lstm_backward, y);
    for (int i = CM_T_lstm_backward_dweight_ih; i <= CM_T_lstm_backward_dbias_hh; i++)
        clear_unless_adding(&call->t[i], call->attr.accumulate >> i & 1u);
    carried g;
    for (int b = 0; b < y->dim[1]; b++) {
        memset(&g, 0, sizeof g);
        for (int t = y->dim[0] - 1; t >= 0; t--) step_backward(call, t, b, &g);
        if (dh0->data) ref_put_all(ref_row(dh0, b), g.dh, y->dim[2], CM_ADDS(call, lstm_backward, dh0));
        if (dc0->data) ref_put_all(ref_row(dc0, b), g.dc, y->dim[2], CM_ADDS(call, lstm_backward, dc0));
    }
    return CM_OK;
}
