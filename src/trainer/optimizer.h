/* From chunk gradients to new parameters: sum in a fixed tree, norm, clip, one step of Adam, AdamW, SGD or Muon, moving
 * average. Work is cut at fixed places (4096 elements, a parameter's end, or a whole matrix), so the number of workers
 * changes no bit. Spec learning 3.3; Muon: backend/muon.h. */
#ifndef CM_TRAINER_OPTIMIZER_H
#define CM_TRAINER_OPTIMIZER_H

#include "device/mirror.h"
#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_optimizer cm_optimizer;

typedef struct cm_optimizer_config {
    const cm_param_table *table;
    const cm_trainer_options *options;
    cm_pool *pool;
    cm_stream *const *streams; /* one per worker; where the device is not the host, one */
    int64_t total_updates;
    float *parameters, *average; /* [n] on the device, as all gradients; average NULL: none is kept */
    cm_dtype compute;            /* of the products of a step */
    float *scaling;              /* [CM_SCALING_NUMBERS] on the device: state of loss scaling; NULL: there is none */
} cm_optimizer_config;

int cm_optimizer_moment_count(const cm_trainer_options *options); /* per parameter, 1 or 2 */

cm_status cm_optimizer_create(const cm_optimizer_config *config, cm_optimizer **out) CM_MUST_USE;
void cm_optimizer_destroy(cm_optimizer *optimizer); /* NULL is allowed */

/* Elements [first, first + n) of gradient[0] <- sums over gradient[count] in the tree of their numbers, on `stream`. */
cm_status cm_gradient_sum(cm_stream *stream, float *const *gradient, int count, size_t first, size_t n) CM_MUST_USE;

/* gradient[0] <- sum of gradient[count] buffers [n] in that tree, by all workers. */
cm_status cm_optimizer_sum(cm_optimizer *optimizer, float *const *gradient, int count) CM_MUST_USE;

/* factor[2] on the device <- what clips gradient[n], and its L2 norm: NAN if a number of check[count] is not finite.
 * With loss scaling the norm is that of the true gradient, the factor undoes the scale, and the scale is renewed. In
 * the order of the first stream; nothing is waited for. */
typedef struct cm_optimizer_check {
    float *number; /* on the device */
    size_t count;
} cm_optimizer_check;
cm_status cm_optimizer_clip(cm_optimizer *optimizer, const float *gradient, const cm_optimizer_check *check,
                            float *factor) CM_MUST_USE;

/* The learning rate of an update and one step with gradients gradient[n] and that factor[2]: nothing changes if the
 * norm is not finite. Corrections of moments count updates, with loss scaling those that were not left out. */
double cm_optimizer_rate(const cm_optimizer *optimizer, int64_t update);
void cm_optimizer_plan(cm_optimizer *optimizer, int64_t total_updates); /* as of cm_optimizer_config, at least 1 */
cm_status cm_optimizer_step(cm_optimizer *optimizer, const float *gradient, float *factor, int64_t update) CM_MUST_USE;

cm_mirror *cm_optimizer_moments(cm_optimizer *optimizer, int order); /* [n]; host NULL if there is none */

#ifdef __cplusplus
}
#endif
#endif
