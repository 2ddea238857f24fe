/* Value prefixes: what a search computes of them step by step is what the unroll is trained on; workers and chunks. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "network/inference.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"
#include "trainer/trainer.h"

enum { B = 24, K = 8, DEEP = 2 * K, A = 3, O = 4, CODES = 3, HORIZON = 3, NUMBERS = B * (K + 1) * O };

static cm_network_config plain(void) {
    cm_network_config c = cm_test_mlp(O, A, 12, 8, (cm_support){-10, 10, 21, true});
    c.prefix_horizon = HORIZON, c.lstm = 31;
    return c;
}

static cm_network_config residual(void) {
    cm_network_config c = plain();
    c.minmax = false, c.residual_dynamics = true, c.trunk_layers = 1;
    c.reward_support = (cm_support){0, 0, 1, false};
    return c;
}

static cm_network_config chance(void) {
    cm_network_config c = plain();
    c.model = CM_NETWORK_CHANCE, c.codes = CODES;
    return c;
}

/* Its norms take statistics of the rows while it trains: compared with itself alone. */
static cm_network_config resnet(void) {
    cm_network_config c = plain();
    c.family = CM_FAMILY_RESNET, c.norm = CM_NORM_BATCH, c.minmax = false;
    c.observation_ndim = 3, c.observation[0] = c.observation[1] = 2, c.observation[2] = 1;
    c.blocks = 1, c.channels = 4, c.head_channels = 3;
    return c;
}

/* Never begins again. */
static cm_network_config whole(void) {
    cm_network_config c = plain();
    c.prefix_horizon = CM_PREFIX_WHOLE;
    return c;
}

typedef struct fixture {
    cm_test_trainer base;
    cm_train_batch batch;
    float observation[B * O], numbers[NUMBERS], policy[B * (K + 1) * A], ones[B * (K + 1)];
    int32_t actions[B * K], codes[B * K];
} fixture;

static void fill_batch(fixture *f) {
    cm_rng rng = cm_rng_init(cm_key_make(9, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < B * O; i++) f->observation[i] = cm_rng_normal(&rng);
    for (int i = 0; i < NUMBERS; i++) f->numbers[i] = 2.0f * cm_rng_normal(&rng);
    for (int i = 0; i < B * (K + 1); i++) f->ones[i] = 1.0f;
    for (int i = 0; i < B * (K + 1) * A; i++) f->policy[i] = 1.0f / A;
    for (int i = 0; i < B * K; i++) {
        f->actions[i] = (int32_t)cm_rng_below(&rng, A);
        f->codes[i] = (int32_t)cm_rng_below(&rng, CODES);
    }
    f->batch = (cm_train_batch){.observation = f->observation,
                                .actions = f->actions,
                                .codes = f->codes,
                                .target_value = f->numbers,
                                .target_reward = f->numbers + 1,
                                .target_policy = f->policy,
                                .value_mask = f->ones,
                                .reward_mask = f->ones,
                                .policy_mask = f->ones,
                                .consistency_mask = f->ones,
                                .target_observations = f->numbers};
}

static void open_fixture(fixture *f, cm_network_config network, const cm_trainer_options *o, const char *backend,
                         int workers) {
    memset(f, 0, sizeof *f);
    fill_batch(f);
    cm_trainer_config config = {.options = o, .batch = B, .unroll = K, .total_updates = 1000};
    cm_test_trainer_open(&f->base, &network, backend, workers, config);
}

static void close_fixture(fixture *f) { cm_test_trainer_close(&f->base); }

static void train(fixture *f, int updates) {
    cm_train_report r;
    for (int i = 0; i < updates; i++)
        ck_assert_msg(cm_trainer_update(f->base.trainer, &f->batch, &r) == CM_OK, "%s", cm_error_message());
}

/* ---- step by step ---- */

/* Walks down the batch's actions, over and over, row i from slot i on, each step to slots after the last:
 * rewards[B, depth]. */
static void walk(const fixture *f, cm_inference *inference, int depth, float *rewards) {
    const cm_inference_arrays *a = cm_inference_get(inference);
    memcpy(a->observation, f->observation, sizeof f->observation);
    for (int i = 0; i < B; i++) a->root_slots[i] = i;
    ck_assert_int_eq(cm_inference_root(inference), CM_OK);
    for (int k = 0; k < depth; k++) {
        for (int i = 0; i < B; i++) {
            const int parent = k * B + i, child = parent + B, after = (depth + 1) * B + i, move = i * K + k % K;
            a->parent_slots[i] = a->codes ? after : parent, a->child_slots[i] = child;
            if (a->actions) a->actions[i] = f->actions[move];
            for (int c = 0; a->codes && c < CODES; c++) a->codes[i * CODES + c] = c == f->codes[move];
            if (!a->after_actions) continue;
            a->after_parent_slots[i] = parent, a->after_child_slots[i] = after;
            a->after_actions[i] = f->actions[move];
        }
        if (a->after_actions) ck_assert_int_eq(cm_inference_afterstate(inference), CM_OK);
        ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
        for (int i = 0; i < B; i++) rewards[i * depth + k] = a->reward[i];
    }
}

/* With the trainer's weights; twice, so that roots begin where another search has left its numbers. */
static void search_rewards(const fixture *f, int depth, float *rewards) {
    cm_inference *inference;
    cm_stream *stream;
    float before[B * DEEP];
    ck_assert_int_le(depth, DEEP);
    ck_assert_int_eq(cm_stream_open(f->base.backend, &stream), CM_OK);
    cm_network_use use = {.network = f->base.network,
                          .stream = stream,
                          .rows = B,
                          .parameters = cm_trainer_parameters(f->base.trainer, CM_WEIGHTS_ONLINE),
                          .state = cm_trainer_state(f->base.trainer, CM_WEIGHTS_ONLINE)};
    ck_assert_msg(cm_inference_create(&use, (depth + 2) * B, &inference) == CM_OK, "%s", cm_error_message());
    walk(f, inference, depth, before);
    walk(f, inference, depth, rewards);
    ck_assert_mem_eq(before, rewards, (size_t)(B * depth) * sizeof(float));
    cm_inference_destroy(inference);
    cm_stream_close(stream);
}

START_TEST(rewards_of_a_search_are_differences_of_the_prefixes_that_are_trained) {
    const cm_network_config networks[] = {plain(), residual(), chance(), whole()};
    static const char *const backends[] = {"ref", "cpu"};
    cm_trainer_options o = cm_test_trainer_options(B);
    float prefixes[B * K], rewards[B * K], most = 0.0f;
    fixture f;
    open_fixture(&f, networks[_i / 2], &o, backends[_i % 2], 1);
    train(&f, 20); /* so that prefixes differ */
    o.learning_rate = 0.0;
    fixture still;
    open_fixture(&still, networks[_i / 2], &o, backends[_i % 2], 1);
    const size_t count = cm_network_parameters(f.base.network)->parameters;
    memcpy(cm_trainer_parameters(still.base.trainer, CM_WEIGHTS_ONLINE),
           cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_ONLINE), count * sizeof(float));
    ck_assert_int_eq(cm_trainer_changed(still.base.trainer), CM_OK);
    train(&still, 1);
    ck_assert_int_eq(cm_trainer_predictions(still.base.trainer, NULL, prefixes, NULL), CM_OK);
    search_rewards(&still, K, rewards);
    for (int i = 0; i < B; i++) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) {
            sum = (k % networks[_i / 2].prefix_horizon == 0 ? 0.0f : sum) + rewards[i * K + k];
            ck_assert_float_eq_tol(sum, prefixes[i * K + k], 2e-4f);
            if (fabsf(rewards[i * K + k]) > most) most = fabsf(rewards[i * K + k]);
        }
    }
    ck_assert_float_gt(most, 0.1f);
    close_fixture(&f);
    close_fixture(&still);
}
END_TEST

/* ---- learning ---- */

/* Every step of a row pays 1, or costs it, as its observation says: the prefix is how many steps it is since the
 * horizon. */
START_TEST(sums_since_the_horizon_are_learnt) {
    cm_network_config c = _i == 0 ? plain() : resnet();
    cm_trainer_options o = cm_test_trainer_options(B);
    float prefixes[B * K], wrong = 0.0f;
    fixture f;
    open_fixture(&f, c, &o, "cpu", 1);
    for (int i = 0; i < B * K; i++) {
        const float reward = f.observation[i / K * O] > 0.0f ? 1.0f : -1.0f;
        f.numbers[1 + i] = (float)(i % K % HORIZON + 1) * reward;
    }
    train(&f, 400);
    ck_assert_int_eq(cm_trainer_predictions(f.base.trainer, NULL, prefixes, NULL), CM_OK);
    for (int i = 0; i < B * K; i++) wrong += fabsf(prefixes[i] - f.numbers[1 + i]) / (B * K);
    ck_assert_float_lt(wrong, 0.2f);
    close_fixture(&f);
}
END_TEST

/* The first step pays 2, no other does; a search that goes deeper than the unroll finds no more. */
START_TEST(nothing_is_paid_after_the_unroll) {
    cm_trainer_options o = cm_test_trainer_options(B);
    float rewards[B * DEEP], deep = 0.0f;
    fixture f;
    open_fixture(&f, whole(), &o, "cpu", 1);
    for (int i = 0; i < B * K; i++) f.numbers[1 + i] = 2.0f;
    train(&f, 300);
    search_rewards(&f, DEEP, rewards);
    for (int i = 0; i < B; i++) {
        ck_assert_float_eq_tol(rewards[i * DEEP], 2.0f, 0.2f);
        for (int k = 1; k < DEEP; k++) deep += fabsf(rewards[i * DEEP + k]) / B;
    }
    ck_assert_float_lt(deep, 0.5f);
    close_fixture(&f);
}
END_TEST

START_TEST(workers_change_no_bit_and_backends_little) {
    const cm_network_config c = _i == 0 ? plain() : resnet();
    cm_trainer_options o = cm_test_trainer_options(B);
    fixture one, three, ref;
    o.chunk_rows = 10;
    o.optimizer = CM_OPTIMIZER_SGD; /* Adam makes steps of roundings */
    open_fixture(&one, c, &o, "cpu", 1);
    open_fixture(&three, c, &o, "cpu", 3);
    open_fixture(&ref, c, &o, "ref", 1);
    train(&one, 4), train(&three, 4), train(&ref, 4);
    const size_t n = cm_network_parameters(one.base.network)->parameters;
    const float *x = cm_trainer_parameters(one.base.trainer, CM_WEIGHTS_ONLINE);
    const float *y = cm_trainer_parameters(ref.base.trainer, CM_WEIGHTS_ONLINE);
    ck_assert_mem_eq(x, cm_trainer_parameters(three.base.trainer, CM_WEIGHTS_ONLINE), n * sizeof(float));
    for (size_t i = 0; i < n; i++) ck_assert_float_eq_tol(x[i], y[i], 5e-3f);
    close_fixture(&one);
    close_fixture(&three);
    close_fixture(&ref);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/prefix");
    TCase *tests = tcase_create("value prefixes");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, rewards_of_a_search_are_differences_of_the_prefixes_that_are_trained, 0, 8);
    tcase_add_loop_test(tests, sums_since_the_horizon_are_learnt, 0, 2);
    tcase_add_test(tests, nothing_is_paid_after_the_unroll);
    tcase_add_loop_test(tests, workers_change_no_bit_and_backends_little, 0, 2);
    return cm_test_main(suite);
}
