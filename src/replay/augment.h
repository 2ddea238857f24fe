/* Augmentation of pictures: what learning alone sees of them (EfficientZero, Ye et al. 2021;
 * docs/spec/learning.md 3.2).
 *
 * A picture is shifted: it is padded by `shift` pixels, which repeat its borders, and cut out again at an offset that
 * is drawn uniformly. Then all of it is multiplied by 1 + intensity clip(N, -2, 2). A sample has two draws of both: one
 * for o_t with all of its stacked frames, and one for o_{t+1} .. o_{t+K}, with which predicted states are compared.
 * Searches, and the network's bootstrap values, see the pictures as they are.
 *
 * What is drawn goes with a batch's frames (batch.h), and the operation that makes pictures of them does the rest. */
#ifndef CM_REPLAY_AUGMENT_H
#define CM_REPLAY_AUGMENT_H

#include "core/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_augmentation {
    int shift;        /* pixels to each side at most, >= 0 */
    double intensity; /* 0 .. 0.5                          */
} cm_augmentation;

/* What is done to a picture. */
typedef struct cm_augment_draw {
    int down, right; /* the pixel at (y, x) is taken from (y + down, x + right), within the borders; -shift .. shift */
    float factor;    /* on all of its numbers; exactly 1 without intensity */
} cm_augment_draw;

/* From `rng`: the offset down, the one to the right, the factor. */
cm_augment_draw cm_augment_next(const cm_augmentation *augmentation, cm_rng *rng);

#ifdef __cplusplus
}
#endif
#endif
