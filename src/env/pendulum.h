/* A pendulum to be swung up and held with a weak motor (Gymnasium's Pendulum-v1). */
#ifndef CM_ENV_PENDULUM_H
#define CM_ENV_PENDULUM_H

#include "env/maths.h"
#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_pendulum {
    double theta; /* rad, not wrapped; 0 is upright */
    double omega; /* rad/s in [-8, 8]               */
} cm_pendulum;

/* Into [-pi, pi). */
static CM_HD inline double cm_pendulum_wrap(double x) {
    double y = x - 2.0 * CM_PI * cm_round(x * (0.5 / CM_PI));
    y = y >= CM_PI ? y - 2.0 * CM_PI : y;
    return y < -CM_PI ? y + 2.0 * CM_PI : y;
}

/* The torque is float32 and clipped to [-2, 2]. */
static CM_HD inline float cm_pendulum_torque(float action) {
    action = action < -2.0f ? -2.0f : action;
    return action > 2.0f ? 2.0f : action;
}

/* Cost of acting in a state, taken before the step. */
static CM_HD inline double cm_pendulum_cost(cm_pendulum s, float torque) {
    double angle = cm_pendulum_wrap(s.theta);
    return angle * angle + 0.1 * (s.omega * s.omega) + (double)(0.001f * (torque * torque));
}

static CM_HD inline cm_pendulum cm_pendulum_step(cm_pendulum s, float torque) {
    double omega = s.omega + (15.0 * cm_sincos(s.theta).sin + (double)(3.0f * torque)) * 0.05;
    cm_pendulum next;
    next.omega = cm_clamp(omega, -8.0, 8.0);
    next.theta = s.theta + next.omega * 0.05;
    return next;
}

#ifdef __cplusplus
}
#endif
#endif
