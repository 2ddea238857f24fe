#include "replay/augment.h"

#include <math.h>
#include <string.h>

cm_augment_draw cm_augment_next(const cm_augmentation *a, cm_rng *rng) {
    const uint32_t offsets = 2 * (uint32_t)a->shift + 1;
    const int down = (int)cm_rng_below(rng, offsets) - a->shift, right = (int)cm_rng_below(rng, offsets) - a->shift;
    const double normal = fmin(fmax((double)cm_rng_normal(rng), -2.0), 2.0);
    return (cm_augment_draw){down, right, (float)(1.0 + a->intensity * normal)};
}

static int clamp(int value, int most) { return value < 0 ? 0 : value > most ? most : value; }

/* to[count] <- the pixel `from`, which may be one of them. */
static void repeat(float *to, const float *from, int count, size_t channels) {
    for (int i = 0; i < count; i++) memmove(to + (size_t)i * channels, from, channels * sizeof *to);
}

/* Row `to` <- row `from`, which may be the same one: pixel x is that of x + right. */
static void shift_row(const cm_augmentation *a, int right, const float *from, float *to) {
    const size_t channels = (size_t)a->channels, last = (size_t)(a->width - 1) * channels;
    const int left = right < 0 ? -right : 0, behind = right > 0 ? right : 0, inside = a->width - left - behind;
    memmove(to + (size_t)left * channels, from + (size_t)behind * channels, (size_t)inside * channels * sizeof *to);
    if (left > 0) repeat(to, from, left, channels);
    if (behind > 0) repeat(to + (size_t)(left + inside) * channels, from + last, behind, channels);
}

/* Rows go in the order in which each is read before it is written. */
void cm_augment_picture(const cm_augmentation *a, cm_augment_draw draw, float *picture) {
    const size_t row = (size_t)a->width * (size_t)a->channels;
    const int right = clamp(draw.right + a->width - 1, 2 * (a->width - 1)) - (a->width - 1);
    for (int i = 0; i < a->height; i++) {
        const int y = draw.down < 0 ? a->height - 1 - i : i;
        float *to = picture + (size_t)y * row;
        shift_row(a, right, picture + (size_t)clamp(y + draw.down, a->height - 1) * row, to);
        for (size_t x = 0; x < row; x++) to[x] *= draw.factor;
    }
}

void cm_batch_augment(const cm_augmentation *a, cm_batch *batch) {
    const size_t size = (size_t)batch->observation_size, unroll = (size_t)batch->unroll;
    for (size_t row = 0; row < (size_t)batch->config.rows; row++) {
        const cm_key key = cm_key_make(batch->config.seed, CM_RNG_PICTURE, batch->config.first_row + row);
        cm_rng rng = cm_rng_init(key, batch->update);
        cm_augment_picture(a, cm_augment_next(a, &rng), batch->observation + row * size);
        const cm_augment_draw later = cm_augment_next(a, &rng);
        for (size_t k = 0; batch->target_observations && k < unroll; k++)
            cm_augment_picture(a, later, batch->target_observations + (row * unroll + k) * size);
    }
}
