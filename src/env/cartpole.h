/* CartPole: a pole on a cart that is pushed left or right (Barto, Sutton, Anderson 1983; Gymnasium's CartPole-v1). */
#ifndef CM_ENV_CARTPOLE_H
#define CM_ENV_CARTPOLE_H

#include <math.h>

#include "env/maths.h"
#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_cartpole {
    double x, x_dot;         /* m, m/s; the track ends at +-2.4            */
    double theta, theta_dot; /* rad, rad/s; 0 is upright, the end is 12 degrees */
} cm_cartpole;

#define CM_CARTPOLE_X_LIMIT     2.4
#define CM_CARTPOLE_THETA_LIMIT (12.0 * 2.0 * CM_PI / 360.0)

static CM_HD inline void cm_cartpole_reset(cm_cartpole *s, double low, double high, cm_pcg64 *random) {
    s->x = cm_pcg64_uniform(random, low, high);
    s->x_dot = cm_pcg64_uniform(random, low, high);
    s->theta = cm_pcg64_uniform(random, low, high);
    s->theta_dot = cm_pcg64_uniform(random, low, high);
}

/* Explicit Euler over 20 ms with the old velocities; action 1 pushes right with 10 N, 0 left. */
static CM_HD inline cm_cartpole cm_cartpole_step(cm_cartpole s, int action) {
    const double gravity = 9.8, pole_mass = 0.1, half_length = 0.5, pole_moment = 0.1 * 0.5, tau = 0.02;
    const double per_mass = 1.0 / (1.0 + 0.1); /* a product costs a tenth of a quotient */
    double force = action == 1 ? 10.0 : -10.0;
    cm_sincos_pair a = cm_sincos(s.theta);
    double temp = (force + pole_moment * (s.theta_dot * s.theta_dot) * a.sin) * per_mass;
    double theta_acc =
        (gravity * a.sin - a.cos * temp) / (half_length * (4.0 / 3.0 - pole_mass * (a.cos * a.cos) * per_mass));
    double x_acc = temp - pole_moment * theta_acc * a.cos * per_mass;
    cm_cartpole next;
    next.x = s.x + tau * s.x_dot;
    next.x_dot = s.x_dot + tau * x_acc;
    next.theta = s.theta + tau * s.theta_dot;
    next.theta_dot = s.theta_dot + tau * theta_acc;
    return next;
}

/* Strict, so NaN does not end an episode. */
static CM_HD inline bool cm_cartpole_fallen(double x, double theta) {
    return (fabs(x) > CM_CARTPOLE_X_LIMIT) | (fabs(theta) > CM_CARTPOLE_THETA_LIMIT);
}

#ifdef __cplusplus
}
#endif
#endif
