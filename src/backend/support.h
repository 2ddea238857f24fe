/* The scalar transform h, its inverse, and atoms of a categorical value (learning 2). Written once, for every backend.
 *
 * All in double: the forms below do not cancel, and what is rounded to float32 is the result alone. */
#ifndef CM_BACKEND_SUPPORT_H
#define CM_BACKEND_SUPPORT_H

#include <math.h>

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_TRANSFORM_EPSILON 0.001

/* h(x) = sgn(x) (sqrt(|x| + 1) - 1) + epsilon x; -0.0 stays -0.0. */
static CM_HD inline double cm_transform(double x, double epsilon) {
    return x / (sqrt(fabs(x) + 1.0) + 1.0) + epsilon * x;
}

/* The inverse of h. */
static CM_HD inline double cm_transform_inverse(double y, double epsilon) {
    double a = fabs(y) + 1.0 + epsilon;
    double q = 2.0 * a / (1.0 + sqrt(1.0 + 4.0 * epsilon * a));
    return copysign((q - 1.0) * (q + 1.0), y);
}

/* Distance of two atoms; 0 for a scalar output. */
static CM_HD inline double cm_support_step(const cm_support *s) {
    return s->size > 1 ? ((double)s->max - (double)s->min) / (s->size - 1) : 0.0;
}

/* Where value stands between the atoms: weight 1 - *fraction on atom *index, *fraction (0 <= *fraction < 1) on the
 * next. False if it is NaN. */
static CM_HD inline bool cm_support_project(const cm_support *s, double value, int *index, double *fraction) {
    if (isnan(value)) return false;
    double x = s->transform ? cm_transform(value, CM_TRANSFORM_EPSILON) : value;
    x = fmin(fmax(x, (double)s->min), (double)s->max);
    double position = (x - (double)s->min) / cm_support_step(s);
    int last = s->size - 1, below = position < last ? (int)position : last;
    *index = below;
    *fraction = below < last ? position - below : 0.0;
    return true;
}

/* The value that the mean over the atoms stands for. */
static CM_HD inline double cm_support_value(const cm_support *s, double mean) {
    return s->transform ? cm_transform_inverse(mean, CM_TRANSFORM_EPSILON) : mean;
}

#ifdef __cplusplus
}
#endif
#endif
