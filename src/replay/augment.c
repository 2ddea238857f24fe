#include "replay/augment.h"

#include <math.h>

cm_augment_draw cm_augment_next(const cm_augmentation *a, cm_rng *rng) {
    const uint32_t offsets = 2 * (uint32_t)a->shift + 1;
    const int down = (int)cm_rng_below(rng, offsets) - a->shift, right = (int)cm_rng_below(rng, offsets) - a->shift;
    const double normal = fmin(fmax((double)cm_rng_normal(rng), -2.0), 2.0);
    return (cm_augment_draw){down, right, (float)(1.0 + a->intensity * normal)};
}
