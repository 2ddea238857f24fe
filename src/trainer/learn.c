#include "trainer/learn.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

struct cm_learner {
    cm_trainer *trainer; /* borrowed */
    bool bootstrap;
    int capacity; /* bootstraps of a batch: rows * (K + 1) */
    int O;
    cm_arena arena;
    float *observations; /* [capacity, O] those that are needed, without gaps */
    float *values;       /* [capacity] of them */
    float *spread;       /* [capacity] in the batch's places */
};

cm_status cm_learner_create(cm_trainer *trainer, int rows, int unroll, int observation_size, bool bootstrap,
                            cm_learner **out) {
    *out = NULL;
    cm_learner *l;
    CM_TRY(cm_alloc(&l, 1, sizeof *l, "the learner"));
    *l = (cm_learner){
        .trainer = trainer, .bootstrap = bootstrap, .capacity = rows * (unroll + 1), .O = observation_size};
    size_t n = (size_t)l->capacity, row = (size_t)observation_size * sizeof(float);
    cm_status status = bootstrap ? cm_arena_create(&l->arena, cm_align(n * row) + 2 * cm_align(n * sizeof(float)),
                                                   "bootstrap observations")
                                 : CM_OK;
    if (status != CM_OK) {
        cm_learner_destroy(l);
        return status;
    }
    if (bootstrap) {
        l->observations = cm_arena_take(&l->arena, n * row);
        l->values = cm_arena_take(&l->arena, n * sizeof(float));
        l->spread = cm_arena_take(&l->arena, n * sizeof(float));
    }
    *out = l;
    return CM_OK;
}

void cm_learner_destroy(cm_learner *learner) {
    if (!learner) return;
    cm_arena_destroy(&learner->arena);
    free(learner);
}

/* Values of the positions whose coefficient is not 0. */
static cm_status bootstrap(cm_learner *l, cm_batch *batch) {
    int n = batch->config.rows * (batch->unroll + 1), used = 0;
    if (n > l->capacity)
        return cm_fail(CM_ERR_INPUT, "a batch of %d bootstraps, the learner has room for %d", n, l->capacity);
    size_t O = (size_t)l->O;
    for (int i = 0; i < n; i++) {
        if (batch->value_coefficient[i] == 0.0f) continue;
        memcpy(l->observations + (size_t)used * O, batch->bootstrap_observations + (size_t)i * O, O * sizeof(float));
        used++;
    }
    if (used > 0) CM_TRY(cm_trainer_values(l->trainer, used, l->observations, l->values));
    for (int i = n - 1; i >= 0; i--) l->spread[i] = batch->value_coefficient[i] == 0.0f ? 0.0f : l->values[--used];
    cm_batch_set_bootstrap(batch, l->spread);
    return CM_OK;
}

cm_status cm_learner_update(cm_learner *learner, cm_batch *batch, cm_train_report *report) {
    if (learner->bootstrap) CM_TRY(bootstrap(learner, batch));
    cm_train_batch train = {.observation = batch->observation,
                            .actions = batch->action,
                            .target_value = batch->target_value,
                            .target_reward = batch->target_reward,
                            .target_policy = batch->target_policy,
                            .value_mask = batch->value_mask,
                            .reward_mask = batch->reward_mask,
                            .policy_mask = batch->policy_mask,
                            .consistency_mask = batch->consistency_mask,
                            .target_observations = batch->target_observations,
                            .legal = batch->legal,
                            .weights = batch->weights};
    return cm_trainer_update(learner->trainer, &train, report);
}
