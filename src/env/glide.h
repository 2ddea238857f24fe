/* A point is pushed to the middle of a space of several axes, with one force along each. A task of our own whose
 * actions are several numbers. The point glides: it loses its speed slowly. */
#ifndef CM_ENV_GLIDE_H
#define CM_ENV_GLIDE_H

#include <math.h>

#include "env/maths.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_GLIDE_AXES = 6 }; /* at most */

typedef struct cm_glide {
    double x[CM_GLIDE_AXES]; /* in [-2, 2]; 0 is the middle; unused axes stay there */
    double v[CM_GLIDE_AXES]; /* per step, in [-1, 1]; a wall at 2 or -2 stops the point, but not its speed */
} cm_glide;

/* One step with force[axes], each clipped to [-1, 1]. Returns the reward of where it ends: minus the distance from the
 * middle, minus 0.02 times the sum of the squared forces. */
static CM_HD inline double cm_glide_step(cm_glide *s, int axes, const float *force) {
    double distance = 0.0, effort = 0.0; /* both squared */
    for (int i = 0; i < axes; i++) {
        double f = cm_clamp((double)force[i], -1.0, 1.0);
        s->v[i] = 0.9 * s->v[i] + 0.1 * f;
        s->x[i] = cm_clamp(s->x[i] + s->v[i], -2.0, 2.0);
        distance += s->x[i] * s->x[i];
        effort += f * f;
    }
    return -sqrt(distance) - 0.02 * effort;
}

/* The lowest reward: in a corner, under full force. */
static CM_HD inline double cm_glide_worst(int axes) { return -sqrt(4.0 * axes) - 0.02 * axes; }

#ifdef __cplusplus
}
#endif
#endif
