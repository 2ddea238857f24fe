#include "run/supports.h"

#include <math.h>

#include "backend/support.h"

double cm_support_bound(double reach, bool transform) {
    const double h = transform ? cm_transform(reach, CM_TRANSFORM_EPSILON) : reach;
    const double unit = h < 1000.0 ? 1.0 : pow(10.0, floor(log10(h)) - 2.0);
    return ceil(h / unit) * unit;
}

int cm_support_atoms(double bound) {
    enum { HALF = 300 };
    return bound < HALF ? 2 * (int)bound + 1 : 2 * HALF + 1;
}

double cm_support_steps(const cm_env_spec *spec, double discount) {
    const double steps = spec->max_plies > 0 ? spec->max_plies : HUGE_VAL;
    return discount < 1.0 ? (1.0 - pow(discount, steps)) / (1.0 - discount) : steps;
}

/* The largest reward: as the environment bounds it, or with space for four times the largest that was seen. */
static double reward_reach(const cm_env_spec *spec, const cm_env_tried *seen) {
    const double bound = fmax(-spec->reward_low, spec->reward_high);
    return isfinite(bound) ? bound : 4.0 * fmax(-seen->reward_low, seen->reward_high);
}

/* The largest value: twice what rewards of the size that is usual bring at every step, or a few of the largest; never
 * more than the largest at every step. */
static double value_reach(const cm_env_spec *spec, const cm_env_tried *seen, double discount) {
    enum { UNKNOWN = 1000 }; /* steps of an episode that nothing bounds */
    const double endless = cm_support_steps(spec, discount), steps = isfinite(endless) ? endless : UNKNOWN;
    const double most = reward_reach(spec, seen), usual = seen->steps > 0 ? seen->reward_sum / seen->steps : 0.0;
    return fmin(steps * most, fmax(2.0 * steps * usual, 4.0 * fmax(-seen->reward_low, seen->reward_high)));
}

/* Whether the support had to be widened. */
static bool widen(double reach, bool transform, double *min, double *max, int *size) {
    const double bound = fmin(cm_support_bound(reach, transform), CM_SUPPORT_LARGEST);
    if (bound <= *max) return false;
    *min = -bound, *max = bound;
    *size = cm_support_atoms(bound);
    return true;
}

/* The most rewards that the reward head adds up. */
static double rewards_of_prefix(const cm_network_options *o, int unroll) {
    return o->value_prefix ? fmax(1.0, fmin(unroll, o->value_prefix_horizon)) : 1.0;
}

void cm_supports_fit(const cm_env_spec *spec, const cm_env_tried *seen, double discount, int unroll,
                     cm_network_options *o) {
    if (o->fits_value_support)
        o->fits_value_support = widen(value_reach(spec, seen, discount), o->value_transform, &o->value_support_min,
                                      &o->value_support_max, &o->value_support_size);
    if (o->fits_reward_support)
        o->fits_reward_support = widen(rewards_of_prefix(o, unroll) * reward_reach(spec, seen), o->value_transform,
                                       &o->reward_support_min, &o->reward_support_max, &o->reward_support_size);
}
