/* Acrobot: two links, a motor at the joint between them (Sutton 1996; Gymnasium's Acrobot-v1, "book" dynamics). */
#ifndef CM_ENV_ACROBOT_H
#define CM_ENV_ACROBOT_H

#include "env/maths.h"
#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_acrobot {
    double theta1, theta2; /* rad in [-pi, pi]; 0, 0 hangs down; theta2 is relative to the first link */
    double omega1, omega2; /* rad/s, |omega1| <= 4 pi, |omega2| <= 9 pi                               */
} cm_acrobot;

static CM_HD inline void cm_acrobot_reset(cm_acrobot *s, double low, double high, cm_pcg64 *random) {
    s->theta1 = (double)(float)cm_pcg64_uniform(random, low, high);
    s->theta2 = (double)(float)cm_pcg64_uniform(random, low, high);
    s->omega1 = (double)(float)cm_pcg64_uniform(random, low, high);
    s->omega2 = (double)(float)cm_pcg64_uniform(random, low, high);
}

/* d/dt of the four fields under a torque at the joint. */
static CM_HD inline cm_acrobot cm_acrobot_slope(cm_acrobot s, double torque) {
    const double m1 = 1.0, m2 = 1.0, l1 = 1.0, lc1 = 0.5, lc2 = 0.5, i1 = 1.0, i2 = 1.0, g = 9.8;
    cm_sincos_pair t2 = cm_sincos(s.theta2);
    double cos12 = cm_sincos(s.theta1 + s.theta2 - CM_PI / 2.0).cos, cos1 = cm_sincos(s.theta1 - CM_PI / 2.0).cos;
    double d1 = m1 * (lc1 * lc1) + m2 * (l1 * l1 + lc2 * lc2 + 2.0 * l1 * lc2 * t2.cos) + i1 + i2;
    double d2 = m2 * (lc2 * lc2 + l1 * lc2 * t2.cos) + i2;
    double phi2 = m2 * lc2 * g * cos12;
    double phi1 = -m2 * l1 * lc2 * (s.omega2 * s.omega2) * t2.sin - 2.0 * m2 * l1 * lc2 * s.omega2 * s.omega1 * t2.sin +
                  (m1 * lc1 + m2 * l1) * g * cos1 + phi2;
    double acc2 = (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * (s.omega1 * s.omega1) * t2.sin - phi2) /
                  (m2 * (lc2 * lc2) + i2 - d2 * d2 / d1);
    cm_acrobot slope;
    slope.theta1 = s.omega1, slope.theta2 = s.omega2;
    slope.omega1 = -(d2 * acc2 + phi1) / d1, slope.omega2 = acc2;
    return slope;
}

static CM_HD inline cm_acrobot cm_acrobot_along(cm_acrobot s, cm_acrobot slope, double h) {
    s.theta1 += h * slope.theta1, s.theta2 += h * slope.theta2;
    s.omega1 += h * slope.omega1, s.omega2 += h * slope.omega2;
    return s;
}

/* Into [-pi, pi] by turns; a step moves an angle by less than eight of them. */
static CM_HD inline double cm_acrobot_wrap(double x) {
    for (int turn = 0; turn < 8; turn++) x = x > CM_PI ? x - 2.0 * CM_PI : x;
    for (int turn = 0; turn < 8; turn++) x = x < -CM_PI ? x + 2.0 * CM_PI : x;
    return x;
}

/* One classical Runge-Kutta step of 0.2 s; action 0, 1, 2 is a torque of -1, 0, 1. */
static CM_HD inline cm_acrobot cm_acrobot_step(cm_acrobot s, int action) {
    const double dt = 0.2;
    double torque = (double)action - 1.0;
    cm_acrobot k1 = cm_acrobot_slope(s, torque);
    cm_acrobot k2 = cm_acrobot_slope(cm_acrobot_along(s, k1, dt / 2.0), torque);
    cm_acrobot k3 = cm_acrobot_slope(cm_acrobot_along(s, k2, dt / 2.0), torque);
    cm_acrobot k4 = cm_acrobot_slope(cm_acrobot_along(s, k3, dt), torque);
    cm_acrobot sum;
    sum.theta1 = k1.theta1 + 2.0 * k2.theta1 + 2.0 * k3.theta1 + k4.theta1;
    sum.theta2 = k1.theta2 + 2.0 * k2.theta2 + 2.0 * k3.theta2 + k4.theta2;
    sum.omega1 = k1.omega1 + 2.0 * k2.omega1 + 2.0 * k3.omega1 + k4.omega1;
    sum.omega2 = k1.omega2 + 2.0 * k2.omega2 + 2.0 * k3.omega2 + k4.omega2;
    s = cm_acrobot_along(s, sum, dt / 6.0);
    s.theta1 = cm_acrobot_wrap(s.theta1), s.theta2 = cm_acrobot_wrap(s.theta2);
    s.omega1 = cm_clamp(s.omega1, -4.0 * CM_PI, 4.0 * CM_PI), s.omega2 = cm_clamp(s.omega2, -9.0 * CM_PI, 9.0 * CM_PI);
    return s;
}

/* The free end is one link's length above the fixed one. */
static CM_HD inline bool cm_acrobot_is_up(double theta1, double theta2) {
    return -cm_sincos(theta1).cos - cm_sincos(theta1 + theta2).cos > 1.0;
}

#ifdef __cplusplus
}
#endif
#endif
