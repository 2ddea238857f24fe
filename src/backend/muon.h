/* What the backends' Muon steps share. A step of a matrix W[m,n] with gradient G and momentum M:
 *
 *     M <- M + (1 - mu) (G - M);  X = G + mu (M - G), divided by its Frobenius norm
 *     five times: S = X X^T;  X <- a X + (b S + c S S) X          on the side that has fewer rows
 *     W <- (1 - rate wd) W - rate 0.2 sqrt(max(m, n)) X
 *
 * X, S and b S + c S S are rounded to attr.compute as they are made. The iteration brings the singular values of X near
 * 1. Sources: Jordan et al. 2024 (Muon), with its coefficients; the scale, by which a learning rate means what it does
 * for AdamW: Liu et al. 2025 (Muon is Scalable for LLM Training) 2.2; torch.optim.Muon, adjust_lr_fn match_rms_adamw.
 */
#ifndef CM_BACKEND_MUON_H
#define CM_BACKEND_MUON_H

#include <math.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_MUON_A     3.4445
#define CM_MUON_B     (-4.7750)
#define CM_MUON_C     2.0315
#define CM_MUON_FLOOR 1e-7f /* the smallest norm that is divided by */

enum { CM_MUON_ITERATIONS = 5 };

typedef struct cm_muon_shape {
    int rows, columns; /* of X: rows <= columns              */
    bool is_turned;    /* X is the transpose of the gradient */
    double scale;      /* of the learning rate               */
} cm_muon_shape;

static inline cm_muon_shape cm_muon_shape_of(const cm_tensor *parameter) {
    const int m = parameter->dim[0], n = parameter->dim[1];
    cm_muon_shape shape;
    shape.is_turned = m > n;
    shape.rows = m > n ? n : m;
    shape.columns = m > n ? m : n;
    shape.scale = 0.2 * sqrt((double)shape.columns);
    return shape;
}

/* Momentum, renewed, and what is made orthogonal of it, in Nesterov's manner. */
static CM_HD inline float cm_muon_momentum(float *momentum, float gradient, float mu) {
    *momentum += (1.0f - mu) * (gradient - *momentum);
    return gradient + mu * (*momentum - gradient);
}

#ifdef __cplusplus
}
#endif
#endif
