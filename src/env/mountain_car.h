/* A car in a valley, too weak to climb out straight (Moore 1990; Gymnasium's MountainCar-v0 and
 * MountainCarContinuous-v0). */
#ifndef CM_ENV_MOUNTAIN_CAR_H
#define CM_ENV_MOUNTAIN_CAR_H

#include "env/maths.h"
#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_mountain_car {
    double position; /* in [-1.2, 0.6] */
    double velocity; /* in [-0.07, 0.07] */
} cm_mountain_car;

/* The continuous task keeps float32 numbers, but for the first step after a reset (Gymnasium's own arithmetic). */
typedef struct cm_mountain_car_continuous {
    double position, velocity;
    double fresh; /* 1 before the first step, then 0 */
} cm_mountain_car_continuous;

/* The left wall takes away a velocity towards it. */
static CM_HD inline double cm_mountain_car_wall(double position, double wall, double velocity) {
    double lowest = position == wall ? 0.0 : -1.0;
    return velocity < lowest ? lowest : velocity;
}

static CM_HD inline cm_mountain_car cm_mountain_car_step(cm_mountain_car s, int action) {
    double v = s.velocity + ((double)(action - 1) * 0.001 + cm_sincos(3.0 * s.position).cos * -0.0025);
    v = cm_clamp(v, -0.07, 0.07);
    double p = cm_clamp(s.position + v, -1.2, 0.6);
    cm_mountain_car next;
    next.position = p;
    next.velocity = cm_mountain_car_wall(p, -1.2, v);
    return next;
}

/* x as float32 unless `exact` is 1. */
static CM_HD inline double cm_mountain_car_store(double x, double exact) { return exact == 1.0 ? x : (double)(float)x; }

/* One step with the force `action`, not clipped; docs/spec/environments.md 2.4 says which parts are float32. */
static CM_HD inline cm_mountain_car_continuous cm_mountain_car_continuous_step(cm_mountain_car_continuous s,
                                                                               float action) {
    const double fresh = s.fresh;
    double cosine = 0.0025 * cm_sincos(cm_mountain_car_store(3.0 * s.position, fresh)).cos;
    bool inside = (action >= -1.0f) & (action <= 1.0f);
    float soft = action * 0.0015f - (float)cosine;
    double hard = cm_mountain_car_store((action > 0.0f ? 0.0015 : -0.0015) - cosine, fresh);
    const double v_limit = (double)0.07f, p_low = (double)-1.2f, p_high = (double)0.6f;
    double v = cm_mountain_car_store(s.velocity + (inside ? (double)soft : hard), fresh);
    v = cm_clamp(v, -v_limit, v_limit);
    double p = cm_clamp(cm_mountain_car_store(s.position + v, fresh), p_low, p_high);
    cm_mountain_car_continuous next;
    next.position = (double)(float)p;
    next.velocity = (double)(float)cm_mountain_car_wall(p, p_low, v);
    next.fresh = 0.0;
    return next;
}

#ifdef __cplusplus
}
#endif
#endif
