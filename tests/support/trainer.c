#include "support/trainer.h"

#include <check.h>

#include "core/rng.h"

cm_trainer_options cm_test_trainer_options(int batch) {
    return (cm_trainer_options){.batch_size = batch,
                                .learning_rate = 0.01,
                                .chunk_rows = 64,
                                .optimizer = CM_OPTIMIZER_ADAMW,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .adam_epsilon = 1e-8,
                                .gradient_accumulation = 1,
                                .loss_scale = 1024,
                                .schedule_steps = 100,
                                .decay_steps = 1,
                                .value_weight = 1,
                                .policy_weight = 1,
                                .reward_weight = 1,
                                .hidden_gradient_scale = 1};
}

void cm_test_batch_fill(cm_test_batch *b, uint64_t stream) {
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, stream), 0);
    for (int i = 0; i < CM_TEST_NUMBERS; i++) {
        b->numbers[i] = cm_rng_normal(&rng);
        b->ones[i] = 1.0f;
        b->policy[i] = i % 2 ? 0.25f : 0.75f;
    }
    for (int i = 0; i < CM_TEST_ROWS * CM_TEST_UNROLL; i++) b->actions[i] = i % CM_TEST_ACTIONS;
    b->rows = (cm_train_batch){.observation = b->numbers,
                               .actions = b->actions,
                               .target_value = b->numbers,
                               .target_reward = b->numbers,
                               .target_policy = b->policy,
                               .value_mask = b->ones,
                               .reward_mask = b->ones,
                               .policy_mask = b->ones,
                               .consistency_mask = b->ones};
}

void cm_test_trainer_open(cm_test_trainer *t, const cm_network_config *network, const char *backend, int workers,
                          cm_trainer_config config) {
    ck_assert_msg(cm_network_create(network, &t->network) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_backend_open(backend, &t->backend) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_pool_create(workers, &t->pool) == CM_OK, "%s", cm_error_message());
    config.network = t->network, config.backend = t->backend, config.pool = t->pool;
    config.seed = 1;
    ck_assert_msg(cm_trainer_create(&config, &t->trainer) == CM_OK, "%s", cm_error_message());
}

void cm_test_trainer_close(cm_test_trainer *t) {
    cm_trainer_destroy(t->trainer);
    cm_pool_destroy(t->pool);
    cm_backend_close(t->backend);
    cm_network_destroy(t->network);
}

double cm_test_trainer_loss(cm_test_trainer *t, const cm_train_batch *batch) {
    cm_train_report r;
    ck_assert_msg(cm_trainer_update(t->trainer, batch, &r) == CM_OK, "%s", cm_error_message());
    return r.total_loss;
}

double cm_test_trainer_slope(cm_test_trainer *t, const cm_train_batch *batch, float *parameter, float step) {
    const float at = *parameter;
    *parameter = at + step;
    const double above = cm_test_trainer_loss(t, batch);
    *parameter = at - step;
    const double below = cm_test_trainer_loss(t, batch);
    *parameter = at;
    return (above - below) / (2.0 * (double)step);
}
