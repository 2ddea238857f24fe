/* Kernels of a step of lstm and of its gradient. Gates of a step: i f g o. Everything is contiguous. */
#ifndef CM_BACKEND_CUDA_OPS_LSTM_H
#define CM_BACKEND_CUDA_OPS_LSTM_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

typedef struct cm_lstm_args {
    int B, H, horizon;
    bool reset; /* h and c are zero on entering the step */
    /* forward: pre[B, 4H] sums at the gates without bias; c[B, H] the state, renewed; saved[B, 6H] may be NULL */
    float *pre, *y, *c, *saved;
    const float *bias_ih, *bias_hh; /* [4H] */
    /* backward: what arrives at h and c [B, H], c renewed; c_before [B, H], rows c_stride apart; dgate [B, 4H] */
    const float *dy, *dh, *c_before;
    int64_t c_stride;
    float *dc, *dgate;
} cm_lstm_args;

/* Item: a unit of a sample; 1 lane. */
CM_KERNEL void cm_lstm_step_each(const cm_lstm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->H);
    int64_t H = k->H, j = at.column;
    float pre[CM_LSTM_GATES];
    (void)lanes;
    for (int g = 0; g < CM_LSTM_GATES; g++)
        pre[g] = k->pre[at.row * CM_LSTM_GATES * H + g * H + j] + (k->bias_ih[g * H + j] + k->bias_hh[g * H + j]);
    cm_lstm_unit_f u = cm_lstm_unit_of_f(pre, k->reset ? 0.0f : k->c[item]);
    k->c[item] = u.c;
    k->y[item] = u.gate[3] * u.squashed;
    if (!k->saved) return;
    float *saved = k->saved + at.row * CM_LSTM_SAVED * H + j;
    for (int g = 0; g < CM_LSTM_GATES; g++) saved[g * H] = u.gate[g];
    saved[4 * H] = u.c;
    saved[5 * H] = u.squashed;
}

/* Item: a unit of a sample; 1 lane. The gates' gradients, and what arrives at the state of the step before. */
CM_KERNEL void cm_lstm_slope_each(const cm_lstm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->H);
    int64_t H = k->H, j = at.column;
    const float *saved = k->saved + at.row * CM_LSTM_SAVED * H + j;
    (void)lanes;
    cm_lstm_unit_f u = {{saved[0], saved[H], saved[2 * H], saved[3 * H]}, saved[4 * H], saved[5 * H]};
    float arrives[2] = {k->dh[item] + k->dy[item], k->dc[item]}, dgate[CM_LSTM_GATES];
    k->dc[item] = cm_lstm_unit_slope_f(&u, k->c_before[at.row * k->c_stride + j], k->reset, arrives, dgate);
    for (int g = 0; g < CM_LSTM_GATES; g++) k->dgate[at.row * CM_LSTM_GATES * H + g * H + j] = dgate[g];
}

/* Item: an element of dgate, which becomes 0; 1 lane. */
CM_KERNEL void cm_lstm_clear_each(const cm_lstm_args *k, int64_t item, const cm_lanes *lanes) {
    (void)lanes;
    k->dgate[item] = 0.0f;
}

/* Item: an element of dgate[T, B, H], which becomes h on entering step t: c_before (h0) at first, then y of the step
 * before, or 0; 1 lane. */
CM_KERNEL void cm_lstm_enter_each(const cm_lstm_args *k, int64_t item, const cm_lanes *lanes) {
    int64_t size = (int64_t)k->B * k->H;
    cm_place step = cm_place_of(item, size), at = cm_place_of(step.column, k->H);
    float h = step.row > 0 ? k->y[item - size] : k->c_before[at.row * k->c_stride + at.column];
    (void)lanes;
    k->dgate[item] = cm_lstm_is_reset(k->horizon, (int)step.row) ? 0.0f : h;
}

#define CM_LSTM_KERNELS(X)                                                                                             \
    X(cm_lstm_clear_each, cm_lstm_args)                                                                                \
    X(cm_lstm_enter_each, cm_lstm_args)                                                                                \
    X(cm_lstm_step_each, cm_lstm_args)                                                                                 \
    X(cm_lstm_slope_each, cm_lstm_args)
CM_LSTM_KERNELS(CM_KERNEL_ENTRY)

#endif
