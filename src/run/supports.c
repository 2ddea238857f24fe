#include "run/supports.h"

#include <math.h>

#include "backend/support.h"

double cm_support_bound(double reach, bool transform) {
    const double h = transform ? cm_transform(reach, CM_TRANSFORM_EPSILON) : reach;
    const double unit = h < 1000.0 ? 1.0 : pow(10.0, floor(log10(h)) - 2.0);
    return ceil(h / unit) * unit;
}

int cm_support_atoms(double bound) {
    enum { MOST = 601 };
    return bound < (MOST - 1) / 2 ? 2 * (int)bound + 1 : MOST;
}

double cm_support_steps(const cm_env_spec *spec, double discount) {
    const double steps = spec->max_plies > 0 ? spec->max_plies : HUGE_VAL;
    return discount < 1.0 ? (1.0 - pow(discount, steps)) / (1.0 - discount) : steps;
}
