#include "support/updates.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "support/network.h"
#include "support/trainer.h"

enum { B = CM_TEST_UPDATE_ROWS, K = 3, A = 4, O = 5, CODES = 3, SIDE = 5, PICTURE = 18, MOST = 2 * PICTURE * PICTURE };

static const cm_support categories = {-10, 10, 21, true}, scalar = {0, 0, 1, false};

static float numbers[B * (K + 1) * MOST], ones[B * (K + 1)], policy[B * (K + 1) * A];
static int32_t actions[B * K];

static cm_train_batch make_batch(void) {
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < B * (K + 1) * MOST; i++) numbers[i] = cm_rng_normal(&rng);
    for (int i = 0; i < B * (K + 1); i++) ones[i] = 1.0f;
    for (int i = 0; i < B * (K + 1) * A; i++) policy[i] = i % A == i / A % A ? 0.5f : 0.25f;
    for (int i = 0; i < B * K; i++) actions[i] = i % A;
    return (cm_train_batch){.observation = numbers,
                            .actions = actions,
                            .target_value = numbers,
                            .target_reward = numbers + 7,
                            .target_policy = policy,
                            .value_mask = ones,
                            .reward_mask = ones,
                            .policy_mask = ones,
                            .consistency_mask = ones,
                            .target_observations = numbers};
}

void cm_test_update_kind(int kind, cm_network_config *c, cm_trainer_options *o) {
    *c = cm_test_mlp(O, A, 16, 8, categories);
    *o = cm_test_trainer_options(B);
    o->hidden_gradient_scale = 0.5;
    switch (kind) {
    case 0: break;
    case 1: /* nothing normalised, heads that are no whole eights, one number each */
        c->norm = CM_NORM_NONE, c->minmax = false, c->hidden = 12, c->head_hidden = 5;
        c->value_support = c->reward_support = scalar;
        o->hidden_gradient_form = CM_HIDDEN_HOOK;
        break;
    case 2:
        c->body = CM_BODY_GELU_LAYERNORM, c->residual_dynamics = true, c->trunk_layers = 1;
        c->consistency = true, c->projection_hidden = c->projection_output = 8, c->predictor_hidden = 4;
        o->consistency_weight = 1.0;
        break;
    case 3: c->model = CM_NETWORK_CHANCE, c->codes = CODES, c->encoder = true; break;
    case 4: c->norm = CM_NORM_BATCH, c->encoding = CM_ENCODE_SCALED; break;
    case 5: c->family = CM_FAMILY_CUMIND, c->blocks = 2, c->value_support = c->reward_support = scalar; break;
    case 6:
        c->family = CM_FAMILY_RESNET, c->observation_ndim = 3, c->observation[0] = 1, c->observation[1] = 1;
        c->observation[2] = O, c->blocks = 1, c->channels = 4, c->head_channels = 2, c->norm = CM_NORM_BATCH;
        break;
    case 7: c->hidden = 136, c->head_hidden = 150; break;
    case 8: c->prefix_horizon = 2, c->lstm = 8; break; /* the LSTM begins again within the three steps */
    case 9: c->fake_quantised = true; break;
    }
}

/* Observations [height, height, 2]. */
static cm_network_config residual(int height) {
    cm_network_config c = cm_test_mlp(O, A, 16, 8, categories);
    c.family = CM_FAMILY_RESNET, c.norm = CM_NORM_BATCH;
    c.observation_ndim = 3, c.observation[0] = c.observation[1] = height, c.observation[2] = 2;
    c.blocks = 2, c.channels = 8, c.head_channels = 2;
    return c;
}

void cm_test_update_planes(int kind, cm_network_config *c, cm_trainer_options *o) {
    *c = residual(SIDE);
    *o = cm_test_trainer_options(B);
    o->hidden_gradient_scale = 0.5;
    switch (kind) {
    case 0: break;
    case 1: c->action_embedding = 3, o->hidden_gradient_form = CM_HIDDEN_HOOK; break;
    case 2: c->form = cm_policy_form_of(c->actions, 2), c->per_number = true, c->minmax = false; break;
    case 3: c->model = CM_NETWORK_CHANCE, c->codes = CODES, c->encoder = true; break;
    case 4: c->prefix_horizon = 2, c->lstm = 8; break;
    case 5:
        c->consistency = true, c->projection_hidden = c->projection_output = 8, c->predictor_hidden = 4;
        o->consistency_weight = 1.0;
        break;
    case 6: c->family = CM_FAMILY_MLP, c->norm = CM_NORM_LAYER, c->stem = 4; break;
    case 7: c->family = CM_FAMILY_CUMIND, c->norm = CM_NORM_NONE, c->value_support = c->reward_support = scalar; break;
    case 8: c->fake_quantised = true; break;
    case 9: *c = residual(PICTURE), c->downsample = true, c->blocks = 1; break;
    }
}

float *cm_test_updates(cm_backend *backend, int kind, cm_dtype compute, int updates, size_t *count) {
    cm_network_config c;
    cm_trainer_options o;
    cm_test_update_kind(kind, &c, &o);
    return cm_test_updates_of(backend, &c, &o, compute, updates, count);
}

/* What the updates have left, on the host. */
static float *results_of(cm_trainer *trainer, const cm_param_table *table, double loss, size_t *count) {
    const size_t n = table->parameters, s = table->states;
    *count = n + s + 1;
    float *results = malloc(*count * sizeof *results);
    ck_assert_ptr_nonnull(results);
    ck_assert_int_eq(cm_trainer_fetch(trainer, CM_TRAINER_ALL), CM_OK);
    memcpy(results, cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE), n * sizeof *results);
    memcpy(results + n, cm_trainer_state(trainer, CM_WEIGHTS_ONLINE), s * sizeof *results);
    results[n + s] = (float)loss;
    return results;
}

float *cm_test_updates_of(cm_backend *backend, const cm_network_config *c, const cm_trainer_options *o,
                          cm_dtype compute, int updates, size_t *count) {
    cm_network *network;
    cm_trainer *trainer;
    cm_pool *pool;
    cm_train_report report = {0};
    const cm_train_batch batch = make_batch();
    ck_assert_msg(cm_network_create(c, &network) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_pool_create(1, &pool), CM_OK);
    cm_trainer_config config = {.network = network, .backend = backend, .pool = pool, .options = o, .batch = B};
    config.unroll = K, config.compute = compute, config.seed = 1, config.total_updates = 100;
    ck_assert_msg(cm_trainer_create(&config, &trainer) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < updates; i++)
        ck_assert_msg(cm_trainer_update(trainer, &batch, &report) == CM_OK, "%s", cm_error_message());
    float *results = results_of(trainer, cm_network_parameters(network), report.total_loss, count);
    cm_trainer_destroy(trainer);
    cm_pool_destroy(pool);
    cm_network_destroy(network);
    return results;
}
