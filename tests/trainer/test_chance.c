/* Training with chance: codes, their encoder, afterstates. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"
#include "trainer/trainer.h"

enum { B = 64, K = 2, A = 2, O = 4, CODES = 4 };

static cm_network_config mlp(void) {
    cm_network_config c = cm_test_mlp(O, A, 24, 12, (cm_support){-2, 2, 5, false});
    c.model = CM_NETWORK_CHANCE, c.codes = CODES, c.encoder = true;
    c.reward_support = (cm_support){-1, 1, 3, false}, c.zero_init = true;
    return c;
}

static cm_network_config resnet(void) {
    cm_network_config c = mlp();
    c.family = CM_FAMILY_RESNET, c.norm = CM_NORM_BATCH;
    c.observation_ndim = 3, c.observation[0] = c.observation[1] = 2, c.observation[2] = 1;
    c.blocks = 1, c.channels = 8, c.head_channels = 4;
    return c;
}

static cm_trainer_options standard(void) {
    cm_trainer_options o = cm_test_trainer_options(B);
    o.learning_rate = 0.005, o.clip_norm = 5;
    o.chance_weight = 1, o.commitment_weight = 1;
    return o;
}

/* A coin is thrown after every move: heads with probability 3/4. It pays 1; observations count
 * heads and tails, so that only what was before and what is after tell together how it fell. */
typedef struct fixture {
    cm_test_trainer base;
    cm_train_batch batch;
    float observation[B * O], next[B * K * O], value[B * (K + 1)], reward[B * K], policy[B * (K + 1) * A];
    float ones[B * (K + 1)];
    int32_t actions[B * K], codes[B * K];
} fixture;

static void throw_coins(fixture *f, uint64_t number) {
    cm_rng rng = cm_rng_init(cm_key_make(8, CM_RNG_TEST, 0), number);
    for (int i = 0; i < B; i++) {
        float *o = f->observation + i * O;
        o[0] = 1.0f, o[1] = cm_rng_uniform(&rng), o[2] = o[3] = 0.0f;
        for (int k = 0; k < K; k++) {
            bool heads = cm_rng_uniform(&rng) < 0.75f;
            float *after = f->next + (i * K + k) * O;
            memcpy(after, k == 0 ? o : after - O, O * sizeof(float));
            after[heads ? 2 : 3] += 1.0f;
            f->actions[i * K + k] = (int32_t)cm_rng_below(&rng, A);
            f->reward[i * K + k] = heads ? 1.0f : 0.0f;
            f->codes[i * K + k] = i % 8 == 0 ? -1 : heads ? 2 : 1; /* not known in every eighth row */
        }
    }
}

static void open_fixture(fixture *f, const cm_network_config *network, const cm_trainer_options *o, const char *backend,
                         int workers) {
    memset(f, 0, sizeof *f);
    for (int i = 0; i < B * (K + 1); i++) f->ones[i] = 1.0f;
    for (int i = 0; i < B * (K + 1) * A; i++) f->policy[i] = 0.5f;
    f->batch = (cm_train_batch){.observation = f->observation,
                                .actions = f->actions,
                                .target_value = f->value,
                                .target_reward = f->reward,
                                .target_policy = f->policy,
                                .value_mask = f->ones,
                                .reward_mask = f->ones,
                                .policy_mask = f->ones,
                                .consistency_mask = f->ones,
                                .target_observations = f->next};
    cm_trainer_config config = {.options = o, .batch = B, .unroll = K, .total_updates = 1000};
    cm_test_trainer_open(&f->base, network, backend, workers, config);
    throw_coins(f, 0);
}

static void close_fixture(fixture *f) { cm_test_trainer_close(&f->base); }

static cm_train_report train(fixture *f, int updates) {
    cm_train_report r = {0};
    for (int i = 0; i < updates; i++) {
        throw_coins(f, (uint64_t)i);
        ck_assert_msg(cm_trainer_update(f->base.trainer, &f->batch, &r) == CM_OK, "%s", cm_error_message());
    }
    return r;
}

/* The largest absolute gradient of the parameters whose names begin with `prefix`. */
static float steepest(const fixture *f, const char *prefix) {
    const cm_param_table *table = cm_network_parameters(f->base.network);
    float most = 0.0f;
    int found = 0;
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (strncmp(p->name, prefix, strlen(prefix)) != 0) continue;
        found++;
        for (size_t j = 0; j < p->count; j++) {
            most = fmaxf(most, fabsf(cm_trainer_gradients(f->base.trainer)[p->offset + j]));
        }
    }
    ck_assert_msg(found > 0, "no parameter %s", prefix);
    return most;
}

START_TEST(codes_come_to_mean_the_coin) {
    cm_trainer_options o = standard();
    cm_network_config c = _i == 0 ? mlp() : resnet();
    fixture f;
    open_fixture(&f, &c, &o, "cpu", 1);
    cm_train_report first = train(&f, 1), r = train(&f, 600);
    double coin = -(0.75 * log(0.75) + 0.25 * log(0.25)); /* what cannot be predicted */
    ck_assert_double_eq_tol(first.loss[CM_LOSS_code][0], log(CODES), 1e-5);
    ck_assert_double_eq_tol(first.loss[CM_LOSS_reward][0], log(3.0), 1e-5);
    for (int k = 0; k < K; k++) {
        ck_assert_msg(r.loss[CM_LOSS_reward][k] < 0.1, "reward loss %g: the code does not tell the coin",
                      r.loss[CM_LOSS_reward][k]);
        ck_assert_msg(fabs(r.loss[CM_LOSS_code][k] - coin) < 0.4, "code loss %g, entropy of the coin %g",
                      r.loss[CM_LOSS_code][k], coin);
        ck_assert_double_lt(r.loss[CM_LOSS_afterstate][k], 0.1);
    }
    close_fixture(&f);
}
END_TEST

/* Nothing but the coin is left to be uncertain of, and codes that are not known cost nothing. */
START_TEST(given_codes_are_predicted_as_often_as_they_come) {
    cm_trainer_options o = standard();
    cm_network_config c = _i == 0 ? mlp() : resnet();
    fixture f;
    c.encoder = false;
    open_fixture(&f, &c, &o, "cpu", 1);
    ck_assert_ptr_null(cm_param_table_find(cm_network_parameters(f.base.network), "encoder.0.weight"));
    f.batch.codes = f.codes, f.batch.target_observations = NULL;
    cm_train_report first = train(&f, 1), r = train(&f, 400);
    double coin = -(0.75 * log(0.75) + 0.25 * log(0.25));
    ck_assert_double_eq_tol(first.loss[CM_LOSS_code][0], log(CODES) * 7 / 8, 1e-5);
    for (int k = 0; k < K; k++) {
        ck_assert_msg(r.loss[CM_LOSS_reward][k] < 0.2, "step %d: reward loss %g", k, r.loss[CM_LOSS_reward][k]);
        ck_assert_msg(fabs(r.loss[CM_LOSS_code][k] - coin * 7 / 8) < 0.1, "step %d: code loss %g", k,
                      r.loss[CM_LOSS_code][k]);
        ck_assert_double_eq(r.loss[CM_LOSS_commitment][k], 0.0);
    }
    close_fixture(&f);
}
END_TEST

/* With the commitment left out all that reaches the encoder comes through the dynamics, straight through the codes. */
START_TEST(gradients_reach_the_encoder_through_the_codes_and_by_the_commitment) {
    cm_network_config c = mlp();
    cm_trainer_options o = standard();
    fixture f;
    o.commitment_weight = 0.0;
    open_fixture(&f, &c, &o, "ref", 1);
    train(&f, 2); /* at first the heads are 0 */
    ck_assert_float_gt(steepest(&f, "encoder.2"), 1e-6f);
    close_fixture(&f);
    o.commitment_weight = 1.0, o.chance_weight = 0.0, o.reward_weight = 0.0, o.value_weight = 0.0,
    o.policy_weight = 0.0;
    open_fixture(&f, &c, &o, "ref", 1);
    train(&f, 1);
    ck_assert_float_gt(steepest(&f, "encoder.2"), 1e-6f);
    ck_assert_float_eq(steepest(&f, "afterstate"), 0.0f);
    ck_assert_float_eq(steepest(&f, "dynamics"), 0.0f);
    close_fixture(&f);
}
END_TEST

/* Where all rows look the same the normalised numbers are 0, and their distance from the code is 1 / C. Only o_{t+1}
 * differs here: both steps see it. */
START_TEST(the_encoder_sees_the_observations_before_and_after_each_step) {
    cm_network_config c = mlp();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    for (int differing = 0; differing < 2; differing++) {
        open_fixture(&f, &c, &o, "ref", 1);
        for (int i = 0; i < B * O; i++) f.observation[i] = 0.5f;
        for (int i = 0; i < B * K * O; i++) f.next[i] = i / O % K == 0 && differing ? (float)(i % 7) : 0.5f;
        ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_OK);
        for (int k = 0; k < K; k++) {
            bool same = fabs(r.loss[CM_LOSS_commitment][k] - 1.0 / CODES) < 1e-3;
            ck_assert_msg(same == !differing, "step %d: %g", k, r.loss[CM_LOSS_commitment][k]);
        }
        close_fixture(&f);
    }
}
END_TEST

START_TEST(the_encoder_takes_statistics_of_one_step) {
    cm_trainer_options o = standard();
    cm_network_config c = _i == 0 ? mlp() : resnet();
    cm_train_report one, other;
    fixture f;
    o.learning_rate = 0;
    open_fixture(&f, &c, &o, "ref", 1);
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &one), CM_OK);
    for (int i = 0; i < B; i++) f.next[(i * K + K - 1) * O + i % O] += 5.0f; /* after the last step */
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &other), CM_OK);
    for (int k = 0; k + 1 < K; k++)
        ck_assert_double_eq(other.loss[CM_LOSS_commitment][k], one.loss[CM_LOSS_commitment][k]);
    ck_assert_double_ne(other.loss[CM_LOSS_commitment][K - 1], one.loss[CM_LOSS_commitment][K - 1]);
    close_fixture(&f);
}
END_TEST

START_TEST(past_an_end_there_is_no_chance_to_learn) {
    cm_network_config c = mlp();
    cm_trainer_options o = standard();
    cm_train_report r;
    float inside[B * K];
    fixture f;
    open_fixture(&f, &c, &o, "cpu", 1);
    for (int i = 0; i < B * K; i++) inside[i] = i % K == 0 ? 1.0f : 0.0f;
    f.batch.consistency_mask = inside;
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_OK);
    ck_assert(r.loss[CM_LOSS_code][0] > 0.0 && r.loss[CM_LOSS_commitment][0] > 0.0 &&
              r.loss[CM_LOSS_afterstate][0] > 0.0);
    ck_assert(r.loss[CM_LOSS_code][1] == 0.0 && r.loss[CM_LOSS_commitment][1] == 0.0 &&
              r.loss[CM_LOSS_afterstate][1] == 0.0);
    double total = 0.0;
    for (int k = 0; k <= K; k++)
        total += (k == 0 ? 1.0 : 1.0 / K) * (r.loss[CM_LOSS_value][k] + r.loss[CM_LOSS_policy][k]);
    for (int k = 0; k < K; k++) total += r.loss[CM_LOSS_reward][k] / K;
    total += (r.loss[CM_LOSS_code][0] + r.loss[CM_LOSS_commitment][0] + r.loss[CM_LOSS_afterstate][0]) / K;
    ck_assert_double_eq_tol(r.total_loss, total, 1e-6);
    close_fixture(&f);
}
END_TEST

START_TEST(workers_change_no_bit_and_backends_little) {
    cm_trainer_options o = standard();
    cm_network_config c = _i == 0 ? mlp() : resnet();
    fixture one, three, ref;
    o.chunk_rows = 10;
    o.optimizer = CM_OPTIMIZER_SGD; /* Adam makes steps of roundings */
    open_fixture(&one, &c, &o, "cpu", 1);
    open_fixture(&three, &c, &o, "cpu", 3);
    open_fixture(&ref, &c, &o, "ref", 1);
    train(&one, 4), train(&three, 4), train(&ref, 4);
    size_t n = cm_network_parameters(one.base.network)->parameters;
    const float *x = cm_trainer_parameters(one.base.trainer, CM_WEIGHTS_ONLINE);
    const float *y = cm_trainer_parameters(ref.base.trainer, CM_WEIGHTS_ONLINE);
    ck_assert_mem_eq(x, cm_trainer_parameters(three.base.trainer, CM_WEIGHTS_ONLINE), n * sizeof(float));
    for (size_t i = 0; i < n; i++) ck_assert_float_eq_tol(x[i], y[i], 5e-3f);
    close_fixture(&one);
    close_fixture(&three);
    close_fixture(&ref);
}
END_TEST

START_TEST(networks_with_chance_have_codes_and_are_not_of_family_cumind) {
    cm_network_config c = mlp();
    cm_network *network = NULL;
    c.codes = 0;
    ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "codes"));
    c = mlp(), c.family = CM_FAMILY_CUMIND;
    ck_assert_int_eq(cm_network_create(&c, &network), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "mlp"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/chance");
    TCase *tests = tcase_create("chance");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, codes_come_to_mean_the_coin, 0, 2);
    tcase_add_loop_test(tests, given_codes_are_predicted_as_often_as_they_come, 0, 2);
    tcase_add_test(tests, gradients_reach_the_encoder_through_the_codes_and_by_the_commitment);
    tcase_add_test(tests, the_encoder_sees_the_observations_before_and_after_each_step);
    tcase_add_loop_test(tests, the_encoder_takes_statistics_of_one_step, 0, 2);
    tcase_add_test(tests, past_an_end_there_is_no_chance_to_learn);
    tcase_add_loop_test(tests, workers_change_no_bit_and_backends_little, 0, 2);
    tcase_add_test(tests, networks_with_chance_have_codes_and_are_not_of_family_cumind);
    return cm_test_main(suite);
}
