/* Augmentation of pictures: what learning alone sees of them (EfficientZero, Ye et al. 2021;
 * docs/spec/learning.md 3.2).
 *
 * A picture is shifted: it is padded by `shift` pixels, which repeat its borders, and cut out again at an offset that
 * is drawn uniformly. Then all of it is multiplied by 1 + intensity clip(N, -2, 2). A sample has two draws of both: one
 * for o_t with all of its stacked frames, and one for o_{t+1} .. o_{t+K}, with which predicted states are compared.
 * Searches, and the network's bootstrap values, see the pictures as they are.
 *
 * Draws depend on (seed, number of the row in the whole batch, update, draw) alone. */
#ifndef CM_REPLAY_AUGMENT_H
#define CM_REPLAY_AUGMENT_H

#include "replay/batch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_augmentation {
    int height, width, channels; /* of an observation [height, width, channels] */
    int shift;                   /* pixels to each side at most, >= 0           */
    double intensity;            /* 0 .. 0.5                                    */
} cm_augmentation;

/* What is done to a picture. */
typedef struct cm_augment_draw {
    int down, right; /* the pixel at (y, x) is taken from (y + down, x + right), within the borders; -shift .. shift */
    float factor;    /* on all of its numbers */
} cm_augment_draw;

/* From `rng`: the offset down, the one to the right, the factor. */
cm_augment_draw cm_augment_next(const cm_augmentation *augmentation, cm_rng *rng);

/* picture[height, width, channels], in place. */
void cm_augment_picture(const cm_augmentation *augmentation, cm_augment_draw draw, float *picture);

/* observation and, where the batch has them, target_observations of all rows, in place; once, when nothing needs the
 * pictures as they are any more. Several threads may do so with batches of their own. */
void cm_batch_augment(const cm_augmentation *augmentation, cm_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
