/* Updates: chunks, workers, accumulation, EMA and target network, gradient scaling by hand, numbers that are not
 * finite, loss scaling in float16. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "support/counted.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"
#include "trainer/trainer.h"

enum { B = CM_TEST_ROWS, K = CM_TEST_UNROLL, A = CM_TEST_ACTIONS, O = CM_TEST_INPUTS };

static const cm_support s21 = {-10, 10, 21, true}, scalar = {0, 0, 1, false};

static cm_network_config small(void) { return cm_test_mlp(O, A, 16, 8, s21); }

static cm_trainer_options standard(void) {
    cm_trainer_options o = cm_test_trainer_options(B);
    o.weight_decay = 1e-4, o.momentum = 0.9;
    o.hidden_gradient_scale = 0.5;
    return o;
}

/* A batch, and what to train on it with. */
typedef struct fixture {
    cm_test_trainer base;
    cm_test_batch made;
    cm_train_batch batch; /* its rows; tests change them */
} fixture;

static void open_on(fixture *f, const char *backend, cm_dtype compute, const cm_network_config *c,
                    const cm_trainer_options *o, int workers, int rows) {
    memset(f, 0, sizeof *f);
    cm_test_batch_fill(&f->made, 0);
    f->batch = f->made.rows;
    cm_trainer_config config = {.options = o,
                                .batch = rows,
                                .unroll = K,
                                .compute = compute,
                                .total_updates = 100,
                                .priority_epsilon = 1e-6,
                                .bootstrap = o->ema_bootstraps || o->target_update_frequency > 0,
                                .stop = &counted.stop};
    cm_test_trainer_open(&f->base, c, backend, workers, config);
}

static void open_fixture(fixture *f, const cm_network_config *c, const cm_trainer_options *o, int workers, int rows) {
    open_on(f, "cpu", CM_F32, c, o, workers, rows);
}

static void close_fixture(fixture *f) { cm_test_trainer_close(&f->base); }

static void train(fixture *f, int updates, cm_train_report *r) {
    for (int i = 0; i < updates; i++)
        ck_assert_msg(cm_trainer_update(f->base.trainer, &f->batch, r) == CM_OK, "%s", cm_error_message());
}

static float *online(fixture *f) { return cm_trainer_parameters(f->base.trainer, CM_WEIGHTS_ONLINE); }
static size_t count(const fixture *f) { return cm_network_parameters(f->base.network)->parameters; }

START_TEST(workers_never_change_a_bit_with_any_optimizer) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture one, many;
    o.optimizer = _i;
    o.chunk_rows = 3; /* four chunks, the last of one row */
    open_fixture(&one, &c, &o, 1, B);
    train(&one, 5, &r);
    for (int workers = 2; workers <= 8; workers += 3) {
        open_fixture(&many, &c, &o, workers, B);
        train(&many, 5, &r);
        ck_assert_mem_eq(online(&one), online(&many), count(&one) * sizeof(float));
        close_fixture(&many);
    }
    close_fixture(&one);
}
END_TEST

START_TEST(chunks_change_an_update_by_rounding_only) {
    cm_network_config c = small();
    cm_trainer_options whole = standard(), cut = standard();
    cm_train_report a, b;
    fixture f, g;
    cut.chunk_rows = 4;
    open_fixture(&f, &c, &whole, 1, B);
    open_fixture(&g, &c, &cut, 1, B);
    train(&f, 1, &a);
    train(&g, 1, &b);
    ck_assert_double_eq_tol(a.total_loss, b.total_loss, 1e-5);
    ck_assert_double_eq_tol(a.gradient_norm, b.gradient_norm, 1e-4 * a.gradient_norm);
    for (int i = 0; i < B; i++) ck_assert_float_eq_tol(a.priorities[i], b.priorities[i], 1e-4f);
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

START_TEST(two_accumulated_batches_are_one_of_twice_the_size) {
    cm_network_config c = small();
    cm_trainer_options once = standard(), twice = standard();
    cm_train_report a, b;
    fixture f, g;
    twice.gradient_accumulation = 2;
    open_fixture(&f, &c, &once, 1, B);
    open_fixture(&g, &c, &twice, 1, B / 2);
    train(&f, 1, &a);
    ck_assert(cm_trainer_update(g.base.trainer, &g.batch, &b) == CM_OK);
    ck_assert(!b.stepped);
    ck_assert_int_eq(cm_trainer_updates(g.base.trainer), 0);
    double loss = b.total_loss;
    int half = B / 2;
    g.batch.observation += half * O, g.batch.actions += half * K, g.batch.target_value += half * (K + 1);
    g.batch.target_reward += half * K, g.batch.target_policy += half * (K + 1) * A;
    ck_assert(cm_trainer_update(g.base.trainer, &g.batch, &b) == CM_OK);
    ck_assert(b.stepped);
    ck_assert_double_eq_tol(loss + b.total_loss, a.total_loss, 1e-5);
    ck_assert_double_eq_tol(b.gradient_norm, a.gradient_norm, 1e-4 * a.gradient_norm);
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

/* With parameters that stay, the statistics of each batch are those that it has as an update by itself. */
START_TEST(running_statistics_take_every_accumulated_batch_when_the_step_is_made) {
    cm_network_config c = small();
    cm_trainer_options once = standard(), thrice;
    cm_train_report r;
    fixture f, g;
    c.norm = CM_NORM_BATCH;
    once.learning_rate = once.weight_decay = 0.0, once.chunk_rows = 5;
    thrice = once, thrice.gradient_accumulation = 3;
    open_fixture(&f, &c, &once, 1, B);
    open_fixture(&g, &c, &thrice, 2, B);
    const size_t s = cm_network_parameters(f.base.network)->states * sizeof(float);
    const float *alone = cm_trainer_state(f.base.trainer, CM_WEIGHTS_ONLINE);
    const float *accumulated = cm_trainer_state(g.base.trainer, CM_WEIGHTS_ONLINE);
    float before = accumulated[0];
    for (int i = 0; i < 6; i++) {
        f.made.numbers[0] += 1.0f, g.made.numbers[0] += 1.0f; /* every batch is another one */
        train(&f, 1, &r);
        train(&g, 1, &r);
        ck_assert(r.stepped == (i % 3 == 2));
        ck_assert((accumulated[0] != before) == r.stepped);
        if (r.stepped) ck_assert_mem_eq(accumulated, alone, s);
        before = accumulated[0];
    }
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

START_TEST(a_schedule_ends_where_it_is_planned_to) {
    fixture f;
    cm_train_report early, late, past;
    cm_trainer_options o = standard();
    o.schedule = CM_RATE_COSINE, o.schedule_steps = o.warmup_steps = 0, o.learning_rate = 1e-3,
    o.final_learning_rate = 1e-5;
    cm_network_config c = small();
    open_fixture(&f, &c, &o, 1, B);
    train(&f, 1, &early);
    ck_assert_double_eq(early.learning_rate, 1e-3);
    cm_trainer_plan(f.base.trainer, 2); /* of which one is made */
    train(&f, 1, &late);
    ck_assert_double_eq_tol(late.learning_rate, 0.505e-3, 1e-9);
    train(&f, 1, &past);
    ck_assert_double_eq_tol(past.learning_rate, 1e-5, 1e-12);
    close_fixture(&f);
}
END_TEST

START_TEST(the_average_moves_by_its_decay_and_the_target_is_copied_every_third_update) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    o.ema_decay = 0.75, o.target_update_frequency = 3;
    open_fixture(&f, &c, &o, 1, B);
    float start = online(&f)[5], *average = cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_EMA);
    train(&f, 1, &r);
    ck_assert_float_eq_tol(average[5], start + 0.25f * (online(&f)[5] - start), 1e-7f);
    train(&f, 1, &r);
    ck_assert_float_eq(cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_TARGET)[5], start);
    train(&f, 1, &r);
    ck_assert_float_eq(cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_TARGET)[5], online(&f)[5]);
    ck_assert_float_ne(online(&f)[5], start);
    close_fixture(&f);
}
END_TEST

/* 131 rows whose positions bootstrap from the row's own observation: seven passes of 64 rows. */
enum { BOOTSTRAPPED = 131, POSITIONS = BOOTSTRAPPED * (K + 1) };
static struct {
    float observation[BOOTSTRAPPED * O], observations[POSITIONS * O], numbers[POSITIONS], coefficient[POSITIONS];
    float ones[POSITIONS], policy[POSITIONS * 2];
    int32_t actions[POSITIONS];
} bootstrapped;

static void open_bootstrapped(fixture *f, const cm_trainer_options *o, int workers) {
    cm_network_config c = small();
    open_fixture(f, &c, o, workers, BOOTSTRAPPED);
    for (int i = 0; i < BOOTSTRAPPED * O; i++) bootstrapped.observation[i] = sinf((float)i);
    for (int i = 0; i < POSITIONS; i++) {
        bootstrapped.numbers[i] = 0.125f * (float)(i % 7), bootstrapped.ones[i] = 1.0f;
        bootstrapped.coefficient[i] = i % 5 == 0 ? 0.0f : i % 5 == 1 ? -2.0f : 1.0f;
        bootstrapped.policy[2 * i] = bootstrapped.policy[2 * i + 1] = 0.5f;
        memcpy(bootstrapped.observations + i * O, bootstrapped.observation + i / (K + 1) * O, O * sizeof(float));
        if (bootstrapped.coefficient[i] == 0.0f) bootstrapped.observations[i * O] = NAN; /* not read */
    }
    f->batch = (cm_train_batch){.observation = bootstrapped.observation,
                                .actions = bootstrapped.actions,
                                .target_value = bootstrapped.numbers,
                                .target_reward = bootstrapped.numbers,
                                .target_policy = bootstrapped.policy,
                                .value_mask = bootstrapped.ones,
                                .reward_mask = bootstrapped.ones,
                                .policy_mask = bootstrapped.ones,
                                .consistency_mask = bootstrapped.ones,
                                .bootstrap_coefficient = bootstrapped.coefficient,
                                .bootstrap_observations = bootstrapped.observations};
}

/* Before the first update the EMA is the online network, whose values of the same observations the update itself
 * tells; then it lags behind. */
START_TEST(value_targets_are_their_part_and_coefficient_times_a_value_by_the_ema) {
    float value[POSITIONS], first[POSITIONS];
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    o.ema_decay = 0.5, o.ema_bootstraps = true, o.chunk_rows = 256;
    open_bootstrapped(&f, &o, 2);
    train(&f, 1, &r);
    ck_assert_int_eq(cm_trainer_predictions(f.base.trainer, value, NULL, NULL), CM_OK);
    for (int i = 0; i < POSITIONS; i++)
        ck_assert_float_eq_tol(r.value_targets[i],
                               bootstrapped.numbers[i] + bootstrapped.coefficient[i] * value[i / (K + 1) * (K + 1)],
                               1e-4f);
    memcpy(first, r.value_targets, sizeof first);
    train(&f, 1, &r);
    ck_assert_int_eq(cm_trainer_predictions(f.base.trainer, value, NULL, NULL), CM_OK);
    ck_assert_float_eq(r.value_targets[5], first[5]); /* no value in it */
    ck_assert_float_ne(r.value_targets[6], first[6]);
    ck_assert(fabsf(r.value_targets[7] - bootstrapped.numbers[7] - value[6]) > 1e-3f);
    close_fixture(&f);
}
END_TEST

/* The last of the three has 31 rows. Where batches are accumulated the EMA stays as it is. */
START_TEST(value_targets_are_the_same_in_chunks_and_while_batches_are_accumulated) {
    cm_trainer_options o = standard(), chunked;
    cm_train_report r, s;
    fixture f, g;
    o.ema_decay = 0.5, o.ema_bootstraps = true, o.chunk_rows = 256;
    chunked = o, chunked.chunk_rows = 50, chunked.gradient_accumulation = 2;
    open_bootstrapped(&f, &o, 1);
    open_bootstrapped(&g, &chunked, 3);
    train(&f, 1, &r);
    for (int i = 0; i < 2; i++) {
        train(&g, 1, &s);
        ck_assert_mem_eq(r.value_targets, s.value_targets, POSITIONS * sizeof(float));
        for (int row = 0; row < BOOTSTRAPPED; row++)
            ck_assert_float_eq_tol(r.priorities[row], s.priorities[row], 1e-4f);
    }
    train(&g, 1, &s);
    ck_assert_mem_ne(r.value_targets, s.value_targets, POSITIONS * sizeof(float));
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

START_TEST(value_targets_by_a_target_network_change_when_it_is_copied) {
    float first[POSITIONS];
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    o.ema_decay = 0.5, o.target_update_frequency = 3; /* an average is kept, too */
    open_bootstrapped(&f, &o, 1);
    for (int i = 0; i < 4; i++) {
        train(&f, 1, &r);
        if (i == 0) memcpy(first, r.value_targets, sizeof first);
        ck_assert_int_eq(memcmp(first, r.value_targets, sizeof first) == 0, i < 3);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(targets_outside_the_support_are_counted) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    open_fixture(&f, &c, &o, 1, B);
    train(&f, 1, &r);
    ck_assert_double_eq(r.clipped, 0.0);
    f.made.numbers[0] = 1e6f; /* h(1e6) = 1999; the support ends at 10 */
    train(&f, 1, &r);
    ck_assert_double_eq_tol(r.clipped, 1.0 / (B * (K + 1)), 1e-12);
    ck_assert_double_eq_tol(r.clipped_rewards, 1.0 / (B * K), 1e-12);
    ck_assert_double_eq(r.value_reach, 1e6);
    ck_assert_double_eq(r.reward_reach, 1e6);
    close_fixture(&f);
}
END_TEST

START_TEST(a_loss_that_is_not_finite_stops_the_update_and_names_term_and_step) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    open_fixture(&f, &c, &o, 1, B);
    float before = online(&f)[0];
    float rewards[B * K] = {0};
    rewards[3 * K + 1] = NAN;
    f.batch.target_reward = rewards;
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_ERR_NOT_FINITE);
    ck_assert_msg(strstr(cm_error_message(), "reward loss of unroll step 1") != NULL, "%s", cm_error_message());
    ck_assert_float_eq(online(&f)[0], before);
    close_fixture(&f);
}
END_TEST

START_TEST(where_observations_are_too_large_the_learning_rate_is_not_blamed) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    open_fixture(&f, &c, &o, 1, B);
    float observations[B * O] = {0};
    observations[B * O - 1] = INFINITY;
    f.batch.observation = observations;
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_ERR_NOT_FINITE);
    ck_assert_msg(strstr(cm_error_message(), "; scale the environment's observations, which are as large as inf") !=
                      NULL,
                  "%s", cm_error_message());
    close_fixture(&f);
}
END_TEST

/* After an update with a loss, or a gradient alone, that is not finite, training goes on as if it had not been. */
START_TEST(an_update_that_is_not_finite_leaves_no_trace) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f, clean;
    float poisoned[B * (K + 1) * A];
    c.norm = CM_NORM_BATCH;
    o.ema_decay = 0.9, o.chunk_rows = 5, o.gradient_accumulation = 1 + _i;
    open_fixture(&f, &c, &o, 2, B);
    open_fixture(&clean, &c, &o, 1, B);
    size_t n = count(&f) * sizeof(float), s = cm_network_parameters(f.base.network)->states * sizeof(float);
    train(&f, 2, &r);
    train(&clean, 2, &r);
    memcpy(poisoned, f.made.numbers, sizeof poisoned);
    poisoned[5] = NAN;
    f.batch.target_reward = poisoned;
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_ERR_NOT_FINITE);
    ck_assert_int_eq(cm_trainer_updates(f.base.trainer), cm_trainer_updates(clean.base.trainer));
    f.batch.target_reward = f.made.numbers;
    train(&f, 2, &r);
    train(&clean, 2, &r);
    ck_assert_mem_eq(online(&f), online(&clean), n);
    ck_assert_mem_eq(cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_EMA),
                     cm_trainer_parameters(clean.base.trainer, CM_WEIGHTS_EMA), n);
    ck_assert_uint_gt(s, 0);
    ck_assert_mem_eq(cm_trainer_state(f.base.trainer, CM_WEIGHTS_ONLINE),
                     cm_trainer_state(clean.base.trainer, CM_WEIGHTS_ONLINE), s);
    for (int order = 0; order < 2; order++)
        ck_assert_mem_eq(cm_trainer_moments(f.base.trainer, order), cm_trainer_moments(clean.base.trainer, order), n);
    close_fixture(&f);
    close_fixture(&clean);
}
END_TEST

/* One update of two batches of two chunks, each with bootstrap values, asked to stop at every operation. */
START_TEST(an_update_that_is_asked_to_stop_ends_before_its_next_operation_and_leaves_no_trace) {
    const cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture broken, whole;
    int asks = 1, most = 0;
    o.chunk_rows = 5, o.gradient_accumulation = 2, o.target_update_frequency = 1;
    open_fixture(&broken, &c, &o, 1, B);
    open_fixture(&whole, &c, &o, 1, B);
    train(&whole, 2, &r);
    counted_begin(broken.base.backend);
    for (;; asks++) {
        cm_status status = CM_OK;
        counted_restart(asks);
        for (int i = 0; i < 2 && status == CM_OK; i++)
            status = cm_trainer_update(broken.base.trainer, &broken.batch, &r);
        if (status == CM_OK) break;
        ck_assert_int_eq(status, CM_ERR_INTERRUPTED);
        ck_assert_int_eq(cm_trainer_updates(broken.base.trainer), 0);
        const int behind = counted.made - asks; /* operations; what adds a batch to another one is not broken off */
        most = behind > most ? behind : most;
    }
    ck_assert_int_gt(asks, 20); /* the last one that was asked to stop was within the last batch */
    ck_assert_int_le(most, 4);
    ck_assert_mem_eq(online(&broken), online(&whole), count(&whole) * sizeof(float));
    close_fixture(&broken);
    close_fixture(&whole);
}
END_TEST

START_TEST(masked_rows_train_nothing) {
    cm_network_config c = small();
    cm_trainer_options o = standard();
    cm_train_report r;
    fixture f;
    float zeros[B * (K + 1)] = {0};
    o.weight_decay = 0.0;
    open_fixture(&f, &c, &o, 1, B);
    f.batch.value_mask = f.batch.policy_mask = f.batch.reward_mask = zeros;
    train(&f, 1, &r);
    ck_assert_double_eq(r.total_loss, 0.0);
    ck_assert_double_eq(r.gradient_norm, 0.0);
    close_fixture(&f);
}
END_TEST

/* ---- hidden-gradient scaling, by hand on a linear model of width 1 ----
 * s0 = w o, s_{k+1} = (1 + W) s_k (everything positive, so ReLU is the identity), v_k = u s_k, loss sum v_k^2. */

static double gradient_of_w(int form, double scale) {
    cm_network_config c = {.family = CM_FAMILY_CUMIND,
                           .observation_ndim = 1,
                           .observation = {1},
                           .actions = 1,
                           .hidden = 1,
                           .blocks = 1,
                           .norm = CM_NORM_NONE,
                           .value_support = scalar,
                           .reward_support = scalar,
                           .init = CM_INIT_LECUN_NORMAL};
    cm_trainer_options o = standard();
    o.policy_weight = o.reward_weight = 0.0, o.unroll_scale = CM_UNROLL_NONE;
    o.hidden_gradient_form = form, o.hidden_gradient_scale = scale;
    fixture f;
    cm_train_report r;
    open_fixture(&f, &c, &o, 1, 1);
    const cm_param_table *table = cm_network_parameters(f.base.network);
    memset(online(&f), 0, count(&f) * sizeof(float));
    online(&f)[cm_param_table_find(table, "representation.layers.0.weight")->offset] = 0.5f;
    online(&f)[cm_param_table_find(table, "dynamics.layers.0.weight")->offset] = 0.25f;
    online(&f)[cm_param_table_find(table, "prediction.value.weight")->offset] = 2.0f;
    ck_assert(cm_trainer_changed(f.base.trainer) == CM_OK);
    float observation = 3.0f, zeros[K + 1] = {0};
    int32_t actions[K] = {0};
    f.batch.observation = &observation, f.batch.actions = actions, f.batch.target_value = f.batch.target_reward = zeros;
    train(&f, 1, &r);
    double gradient = (double)cm_trainer_gradients(
        f.base.trainer)[cm_param_table_find(table, "representation.layers.0.weight")->offset];
    close_fixture(&f);
    return gradient;
}

START_TEST(hidden_gradients_are_scaled_as_computed_by_hand) {
    double s0 = 1.5, D = 1.25, u = 2.0, o = 3.0, f = 0.5;
    double l0 = 2 * u * u * s0, l1 = 2 * u * u * D * s0, l2 = 2 * u * u * D * D * s0; /* of v_k^2 with respect to s_k */
    ck_assert_double_eq_tol(gradient_of_w(CM_HIDDEN_NONE, f), o * (l0 + D * (l1 + D * l2)), 1e-3);
    ck_assert_double_eq_tol(gradient_of_w(CM_HIDDEN_PAPER, f), o * (l0 + D * (l1 + f * D * l2)), 1e-3);
    ck_assert_double_eq_tol(gradient_of_w(CM_HIDDEN_HOOK, f), o * (l0 + D * f * (l1 + D * f * l2)), 1e-3);
    ck_assert_double_eq_tol(gradient_of_w(CM_HIDDEN_PAPER, 1.0), o * (l0 + D * (l1 + D * l2)), 1e-3);
}
END_TEST

/* ---- loss scaling ----
 * ref computes in float16; cpu computes such products in float32, and does all the rest. */

static size_t states(const fixture *f) { return cm_network_parameters(f->base.network)->states; }

/* Weights, average, running statistics and moments, to the bit. */
static void assert_same(fixture *f, fixture *g) {
    cm_trainer *a = f->base.trainer, *b = g->base.trainer;
    const size_t n = count(f) * sizeof(float);
    ck_assert_mem_eq(online(f), online(g), n);
    ck_assert_mem_eq(cm_trainer_parameters(a, CM_WEIGHTS_EMA), cm_trainer_parameters(b, CM_WEIGHTS_EMA), n);
    ck_assert_mem_eq(cm_trainer_state(a, CM_WEIGHTS_ONLINE), cm_trainer_state(b, CM_WEIGHTS_ONLINE),
                     states(f) * sizeof(float));
    for (int order = 0; order < 2; order++)
        if (cm_trainer_moments(a, order))
            ck_assert_mem_eq(cm_trainer_moments(a, order), cm_trainer_moments(b, order), n);
}

static cm_trainer_options with_scale(double scale) {
    cm_trainer_options o = standard();
    o.loss_scale = scale, o.loss_scale_growth_interval = 2000;
    o.ema_decay = 0.9, o.clip_norm = 0.5;
    return o;
}

START_TEST(the_loss_scale_changes_no_bit_of_an_update) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(1.0), large = with_scale(4096.0);
    cm_train_report r, s;
    fixture f, g, h;
    o.gradient_accumulation = large.gradient_accumulation = 1 + _i;
    open_on(&f, "cpu", CM_F32, &c, &o, 1, B);
    open_on(&g, "cpu", CM_F16, &c, &o, 1, B);
    open_on(&h, "cpu", CM_F16, &c, &large, 2, B);
    train(&f, 4, &r);
    train(&g, 4, &r);
    train(&h, 4, &s);
    ck_assert_double_eq(r.gradient_norm, s.gradient_norm);
    ck_assert_double_gt(r.gradient_norm, 0.5); /* it is clipped */
    ck_assert_double_eq(s.loss_scale, 4096.0);
    assert_same(&f, &g);
    assert_same(&g, &h);
    close_fixture(&f);
    close_fixture(&g);
    close_fixture(&h);
}
END_TEST

/* At 2^24 no gradient fits in float16: the scale falls until one does, and that step is a first one. */
START_TEST(steps_that_overflow_are_skipped_without_a_trace_until_the_scale_fits) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(16777216.0), fitting;
    cm_train_report r;
    fixture f, untouched, g;
    int skipped = 0;
    c.norm = CM_NORM_BATCH;
    o.optimizer = _i ? CM_OPTIMIZER_SGD : CM_OPTIMIZER_ADAMW;
    o.schedule = CM_RATE_CONSTANT, o.chunk_rows = 4;
    open_on(&f, "ref", CM_F16, &c, &o, 2, B);
    open_on(&untouched, "ref", CM_F16, &c, &o, 1, B);
    for (train(&f, 1, &r); r.skipped; train(&f, 1, &r)) {
        ck_assert(r.stepped && isfinite(r.total_loss));
        ck_assert_double_eq(r.loss_scale, ldexp(16777216.0, -skipped++));
        assert_same(&f, &untouched);
        ck_assert_int_lt(skipped, 24);
    }
    ck_assert_int_gt(skipped, 2);
    ck_assert_double_gt(r.gradient_norm, 0.0);
    const cm_loss_scaling s = cm_trainer_loss_scaling(f.base.trainer);
    ck_assert_double_eq(s.scale, ldexp(16777216.0, -skipped));
    ck_assert_int_eq(s.skipped, skipped);
    ck_assert_int_eq(s.steps, 1);
    ck_assert_int_eq(s.good, 1);
    ck_assert_int_eq(cm_trainer_updates(f.base.trainer), skipped + 1);
    fitting = o;
    fitting.loss_scale = s.scale;
    open_on(&g, "ref", CM_F16, &c, &fitting, 1, B);
    train(&g, 1, &r);
    ck_assert(!r.skipped);
    assert_same(&f, &g);
    close_fixture(&f);
    close_fixture(&untouched);
    close_fixture(&g);
}
END_TEST

START_TEST(an_overflow_at_scale_1_is_an_error) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(2.0);
    cm_train_report r;
    fixture f;
    o.value_weight = 1e7; /* gradients above 65504 */
    open_on(&f, "ref", CM_F16, &c, &o, 1, B);
    float before = online(&f)[0];
    train(&f, 1, &r);
    ck_assert(r.skipped);
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_ERR_NOT_FINITE);
    ck_assert_msg(strstr(cm_error_message(), "update 1: the gradient of ") != NULL, "%s", cm_error_message());
    ck_assert_float_eq(online(&f)[0], before);
    ck_assert_double_eq(cm_trainer_loss_scaling(f.base.trainer).scale, 1.0);
    close_fixture(&f);
}
END_TEST

START_TEST(a_loss_that_is_not_finite_is_an_error_at_any_scale) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(1024.0);
    cm_train_report r;
    fixture f;
    float rewards[B * K] = {NAN};
    open_on(&f, "ref", CM_F16, &c, &o, 1, B);
    f.batch.target_reward = rewards;
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_ERR_NOT_FINITE);
    ck_assert_double_eq(cm_trainer_loss_scaling(f.base.trainer).scale, 1024.0);
    ck_assert_int_eq(cm_trainer_loss_scaling(f.base.trainer).skipped, 0);
    close_fixture(&f);
}
END_TEST

START_TEST(the_scale_doubles_after_as_many_steps_as_asked_for) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(2.0);
    cm_train_report r;
    fixture f;
    o.loss_scale_growth_interval = 3;
    open_on(&f, "cpu", CM_F16, &c, &o, 1, B);
    for (int i = 0; i < 7; i++) {
        train(&f, 1, &r);
        ck_assert_double_eq(r.loss_scale, i < 3 ? 2.0 : i < 6 ? 4.0 : 8.0);
    }
    ck_assert_int_eq(cm_trainer_loss_scaling(f.base.trainer).good, 1);
    close_fixture(&f);
}
END_TEST

START_TEST(training_goes_on_from_a_kept_state_as_if_unbroken) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(16777216.0);
    cm_train_report r;
    fixture f, g;
    o.loss_scale_growth_interval = 2;
    open_on(&f, "ref", CM_F16, &c, &o, 1, B);
    open_on(&g, "ref", CM_F16, &c, &o, 1, B);
    train(&f, 20, &r);
    cm_trainer *from = f.base.trainer, *to = g.base.trainer;
    const size_t n = count(&f) * sizeof(float);
    const cm_loss_scaling kept = cm_trainer_loss_scaling(from);
    ck_assert_int_gt(kept.skipped, 0);
    ck_assert_int_gt(kept.steps, 0);
    memcpy(online(&g), online(&f), n);
    memcpy(cm_trainer_parameters(to, CM_WEIGHTS_EMA), cm_trainer_parameters(from, CM_WEIGHTS_EMA), n);
    for (int order = 0; order < 2; order++) memcpy(cm_trainer_moments(to, order), cm_trainer_moments(from, order), n);
    cm_trainer_set_updates(to, cm_trainer_updates(from));
    ck_assert_int_eq(cm_trainer_set_loss_scaling(to, &kept), CM_OK);
    ck_assert_int_eq(cm_trainer_changed(to), CM_OK);
    train(&f, 10, &r);
    train(&g, 10, &r);
    ck_assert_int_gt(cm_trainer_loss_scaling(from).skipped, kept.skipped); /* it has grown, and overflown, again */
    assert_same(&f, &g);
    close_fixture(&f);
    close_fixture(&g);
}
END_TEST

/* Norms of the first gradient: of tiny losses nothing is left in float16 but what is scaled. */
static double first_norm(cm_dtype compute, double scale) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(scale);
    cm_train_report r;
    fixture f;
    o.value_weight = o.policy_weight = o.reward_weight = 1e-7;
    open_on(&f, "ref", compute, &c, &o, 1, B);
    train(&f, 1, &r);
    close_fixture(&f);
    return r.gradient_norm;
}

START_TEST(gradients_too_small_for_float16_survive_with_a_scale) {
    const double want = first_norm(CM_F32, 1.0);
    ck_assert_double_gt(want, 0.0);
    ck_assert_double_eq_tol(first_norm(CM_F16, 65536.0), want, 2e-3 * want);
    ck_assert_double_gt(fabs(first_norm(CM_F16, 1.0) - want), 0.1 * want);
}
END_TEST

static double loss_after(cm_dtype compute, int updates) {
    cm_network_config c = small();
    cm_trainer_options o = with_scale(65536.0);
    cm_train_report r;
    fixture f;
    open_on(&f, "ref", compute, &c, &o, 1, B);
    train(&f, updates, &r);
    close_fixture(&f);
    return r.total_loss;
}

START_TEST(training_in_float16_lowers_the_loss_as_float32_does) {
    const double start = loss_after(CM_F32, 1), want = loss_after(CM_F32, 80);
    ck_assert_double_lt(want, 0.7 * start);
    ck_assert_double_eq_tol(loss_after(CM_F16, 80), want, 0.02 * start);
}
END_TEST

START_TEST(a_scale_that_is_no_power_of_two_is_refused) {
    static const double scales[] = {0.5, 1000.0, 33554432.0, 0.0, NAN};
    cm_network_config c = small();
    cm_trainer_options o = with_scale(1.0);
    fixture f;
    open_on(&f, "cpu", CM_F16, &c, &o, 1, B);
    const cm_loss_scaling state = {.scale = scales[_i]};
    ck_assert_int_eq(cm_trainer_set_loss_scaling(f.base.trainer, &state), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), "must be a power of two from 1 to 16777216") != NULL, "%s",
                  cm_error_message());
    close_fixture(&f);
}
END_TEST

/* Of one pass over B rows: floating-point operations of the layers whose names begin so. */
static double forward_flops(const fixture *f, const char *part) {
    const cm_param_table *table = cm_network_parameters(f->base.network);
    double flops = 0.0;
    for (int i = 0; i < table->count; i++)
        if (table->param[i].ndim == 2 && strncmp(table->param[i].name, part, strlen(part)) == 0)
            flops += 2.0 * B * (double)table->param[i].count;
    return flops;
}

/* A step of consistency adds the target branch, which has no gradient, and the online one, which has two products for
 * each layer backward. */
START_TEST(arithmetic_of_an_update_counts_no_gradient_where_there_is_none) {
    cm_network_config with = small(), without = small();
    cm_trainer_options o = standard();
    fixture f, plain;
    with.consistency = true, with.projection_hidden = with.projection_output = 8, with.predictor_hidden = 4;
    open_fixture(&plain, &without, &o, 1, B);
    o.consistency_weight = 1.0;
    open_fixture(&f, &with, &o, 1, B);
    const double online =
        3.0 * (forward_flops(&f, "consistency.predictor") + forward_flops(&f, "consistency.projection"));
    const double target = forward_flops(&f, "representation") + forward_flops(&f, "consistency.projection");
    ck_assert_double_gt(target, 0.0);
    ck_assert_double_eq(cm_trainer_flops(f.base.trainer) - cm_trainer_flops(plain.base.trainer), K * (online + target));
    close_fixture(&plain);
    close_fixture(&f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer");
    TCase *tc = tcase_create("updates");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, workers_never_change_a_bit_with_any_optimizer, 0, CM_OPTIMIZER_COUNT);
    tcase_add_test(tc, arithmetic_of_an_update_counts_no_gradient_where_there_is_none);
    tcase_add_test(tc, chunks_change_an_update_by_rounding_only);
    tcase_add_test(tc, running_statistics_take_every_accumulated_batch_when_the_step_is_made);
    tcase_add_test(tc, two_accumulated_batches_are_one_of_twice_the_size);
    tcase_add_test(tc, a_schedule_ends_where_it_is_planned_to);
    tcase_add_test(tc, the_average_moves_by_its_decay_and_the_target_is_copied_every_third_update);
    tcase_add_test(tc, value_targets_are_their_part_and_coefficient_times_a_value_by_the_ema);
    tcase_add_test(tc, value_targets_are_the_same_in_chunks_and_while_batches_are_accumulated);
    tcase_add_test(tc, value_targets_by_a_target_network_change_when_it_is_copied);
    tcase_add_test(tc, targets_outside_the_support_are_counted);
    tcase_add_test(tc, a_loss_that_is_not_finite_stops_the_update_and_names_term_and_step);
    tcase_add_test(tc, where_observations_are_too_large_the_learning_rate_is_not_blamed);
    tcase_add_loop_test(tc, an_update_that_is_not_finite_leaves_no_trace, 0, 2);
    tcase_add_test(tc, an_update_that_is_asked_to_stop_ends_before_its_next_operation_and_leaves_no_trace);
    tcase_add_test(tc, masked_rows_train_nothing);
    tcase_add_test(tc, hidden_gradients_are_scaled_as_computed_by_hand);
    tcase_add_loop_test(tc, the_loss_scale_changes_no_bit_of_an_update, 0, 2);
    tcase_add_loop_test(tc, steps_that_overflow_are_skipped_without_a_trace_until_the_scale_fits, 0, 2);
    tcase_add_test(tc, an_overflow_at_scale_1_is_an_error);
    tcase_add_test(tc, a_loss_that_is_not_finite_is_an_error_at_any_scale);
    tcase_add_test(tc, the_scale_doubles_after_as_many_steps_as_asked_for);
    tcase_add_test(tc, training_goes_on_from_a_kept_state_as_if_unbroken);
    tcase_add_test(tc, gradients_too_small_for_float16_survive_with_a_scale);
    tcase_add_test(tc, training_in_float16_lowers_the_loss_as_float32_does);
    tcase_add_loop_test(tc, a_scale_that_is_no_power_of_two_is_refused, 0, 5);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
