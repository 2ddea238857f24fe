/* The formulas of the operations (ops.def), written once for all backends: cm_act_d and its like in double, for sums
 * and the reference implementation, cm_act_f and its like in float32, for kernels. Both are made of formulas.inc. Those
 * of a categorical value stand in support.h.
 *
 * They work on one element, or on one row whose sums the caller has. Sources: spec networks 0, learning 2, 3, 13. */
#ifndef CM_BACKEND_FORMULAS_H
#define CM_BACKEND_FORMULAS_H

#include <math.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_SQRT_2_PI   0.79788456080286535588
#define CM_GELU_CUBE   0.044715
#define CM_RANGE_GUARD 1e-5 /* minmax: added to a smaller range */
#define CM_NORM_FLOOR  1e-5 /* consistency_loss: the smallest norm of a row */

enum { CM_POOL_AREA = 9, CM_NORM_BLOCK = 4096, CM_LSTM_GATES = 4, CM_LSTM_SAVED = 6 };

/* The structs of both precisions. */
#define CM_FORMULA_STRUCTS(real, end)                                                                                  \
    typedef struct cm_minmax_group##end {                                                                              \
        int low, high; /* positions of the first minimum and maximum */                                                \
        real sum, along, inverse;                                                                                      \
    } cm_minmax_group##end;                                                                                            \
    typedef struct cm_softmax##end {                                                                                   \
        real max, sum, log_sum; /* sum of exp(x - max) over the entries that take part, and its logarithm */           \
    } cm_softmax##end;                                                                                                 \
    typedef struct cm_cosine##end {                                                                                    \
        real value, norm_x, norm_y;                                                                                    \
        bool floored; /* norm_x is */                                                                                  \
    } cm_cosine##end;                                                                                                  \
    typedef struct cm_lstm_unit##end {                                                                                 \
        real gate[CM_LSTM_GATES]; /* i f g o */                                                                        \
        real c, squashed;         /* the new state, and tanh of it */                                                  \
    } cm_lstm_unit##end;                                                                                               \
    typedef struct cm_rates##end {                                                                                     \
        real rate, beta1, rest1, beta2, rest2, correction1, correction2, epsilon, weight_decay, gradient_scale;        \
        bool decoupled, first;                                                                                         \
    } cm_rates##end;
CM_FORMULA_STRUCTS(double, _d)
CM_FORMULA_STRUCTS(float, _f)
#undef CM_FORMULA_STRUCTS

#define CM_R       double
#define CM_N(name) name##_d
#define CM_M(name) name
#include "backend/formulas.inc"
#undef CM_R
#undef CM_N
#undef CM_M

#define CM_R       float
#define CM_N(name) name##_f
#define CM_M(name) name##f
#include "backend/formulas.inc"
#undef CM_R
#undef CM_N
#undef CM_M

/* What is not zero of an action's encoding: one column (-1: none) and its value. `cell` counts the cells of a sample.
 */
typedef struct cm_encoded {
    int column;
    float value;
} cm_encoded;

static CM_HD inline cm_encoded cm_encoded_of(cm_encoding encoding, int actions, int action, int cell) {
    cm_encoded e;
    e.column = encoding == CM_ENCODE_ONEHOT ? action : encoding == CM_ENCODE_SCALED ? 0 : action == cell ? 0 : -1;
    e.value = encoding == CM_ENCODE_SCALED ? (float)action / (float)actions : 1.0f;
    return e;
}

/* Of bootstrap, rounded once. */
static CM_HD inline float cm_bootstrapped(float partial, float coefficient, float value) {
    return fmaf(coefficient, value, partial);
}

/* factor[2] of clip, or NULL: does what depends on it happen? Not if the norm is not finite. */
static CM_HD inline bool cm_step_counts(const float *factor) { return !factor || isfinite(factor[1]); }

/* What clip writes of the sum of squares of a gradient, where `sound` says that all numbers to check are finite.
 * scaling may be NULL (ops.def). */
typedef struct cm_clip_rule {
    double clip_norm, beta1, beta2;
    int growth;
} cm_clip_rule;

static inline cm_clip_rule cm_clip_rule_of(const cm_attr *a) {
    cm_clip_rule rule = {a->clip_norm, a->beta1, a->beta2, a->growth};
    return rule;
}

static CM_HD inline void cm_scaling_renew(const cm_clip_rule *rule, bool finite, float *scaling) {
    if (!finite) {
        if (scaling[CM_SCALING_SCALE] <= 1.0f) return;
        scaling[CM_SCALING_SCALE] *= 0.5f;
        scaling[CM_SCALING_GOOD] = 0.0f;
        scaling[CM_SCALING_SKIPPED] += 1.0f;
        return;
    }
    scaling[CM_SCALING_STEPS] += 1.0f;
    scaling[CM_SCALING_GOOD] += 1.0f;
    scaling[CM_SCALING_CORRECTION1] = (float)(1.0 - pow(rule->beta1, (double)scaling[CM_SCALING_STEPS]));
    scaling[CM_SCALING_CORRECTION2] = (float)(1.0 - pow(rule->beta2, (double)scaling[CM_SCALING_STEPS]));
    if (rule->growth == 0 || scaling[CM_SCALING_GOOD] < (float)rule->growth) return;
    scaling[CM_SCALING_GOOD] = 0.0f;
    if (scaling[CM_SCALING_SCALE] < CM_SCALING_MOST) scaling[CM_SCALING_SCALE] *= 2.0f;
}

static CM_HD inline void cm_clip_write(const cm_clip_rule *rule, double squares, bool sound, float factor[2],
                                       float *scaling) {
    const double scale = scaling ? (double)scaling[CM_SCALING_SCALE] : 1.0;
    const double norm = sound ? sqrt(squares) / scale : (double)NAN;
    factor[0] = (float)(cm_clip_factor_d(norm, rule->clip_norm) / scale);
    factor[1] = (float)norm;
    if (scaling && sound) cm_scaling_renew(rule, isfinite(factor[1]), scaling);
}

/* True if h and c of an lstm are zero on entering step t. */
static CM_HD inline bool cm_lstm_is_reset(int horizon, int t) { return t > 0 && horizon > 0 && t % horizon == 0; }

#ifdef __cplusplus
}
#endif
#endif
