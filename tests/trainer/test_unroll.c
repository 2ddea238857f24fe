/* The gradient of a whole unroll: slopes of its loss by central differences, over a full chunk and a shorter one. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"
#include "trainer/trainer.h"

enum {
    B = 7,
    CHUNK = 4,
    A = 3,
    CODES = 3,
    O = 3 * 3 * 2,
    PICTURE = 16,
    MOST_O = PICTURE * PICTURE * 2,
    STEPS = CM_UNROLL_MAX + 1,
    CAPACITY = B * STEPS + 4,
    DIRECTIONS = 4
};

static cm_network_config mlp(void) {
    cm_network_config c = cm_test_mlp(O, A, 6, 4, (cm_support){-2, 2, 5, false});
    c.reward_support = (cm_support){0, 0, 1, false};
    return c;
}

static cm_network_config resnet(void) {
    cm_network_config c = mlp();
    c.family = CM_FAMILY_RESNET;
    c.observation_ndim = 3, c.observation[0] = c.observation[1] = 3, c.observation[2] = 2;
    c.norm = CM_NORM_BATCH, c.minmax = false, c.blocks = 1, c.channels = 3, c.head_channels = 2;
    return c;
}

/* States of 2 x 2. */
static cm_network_config downsampled(cm_network_config c) {
    c.observation[0] = c.observation[1] = PICTURE, c.channels = 4, c.downsample = true;
    return c;
}

/* Two numbers of A values each. */
static cm_network_config per_number(cm_network_config c) {
    c.actions = A * A, c.form = cm_policy_form_of(A * A, 2), c.per_number = true;
    return c;
}

/* The policy of all combinations. */
static cm_network_config joint(cm_network_config c) {
    c.per_number = false;
    return c;
}

static cm_network_config with_scaled_actions(cm_network_config c) {
    c.encoding = CM_ENCODE_SCALED;
    return c;
}

static cm_network_config cumind(void) {
    cm_network_config c = mlp();
    c.family = CM_FAMILY_CUMIND, c.norm = CM_NORM_NONE, c.minmax = false, c.blocks = 2;
    return c;
}

static cm_network_config of_chance(cm_network_config c) {
    c.model = CM_NETWORK_CHANCE, c.codes = CODES;
    return c;
}

static cm_network_config consistent(cm_network_config c) {
    c.consistency = true, c.projection_hidden = 8, c.projection_output = 6, c.predictor_hidden = 8;
    return c;
}

/* Value prefixes; of three or more steps the LSTM begins again within the unroll. */
static cm_network_config with_prefix(cm_network_config c) {
    c.prefix_horizon = 2, c.lstm = 5;
    return c;
}

/* The LSTM reads states that prediction reads, too: there is no layer in front of it, and no scaling. */
static cm_network_config unscaled(cm_network_config c) {
    c.minmax = false;
    return c;
}

static cm_network_config residual(cm_network_config c) {
    c.residual_dynamics = true;
    return c;
}

static cm_network_config batch_normed(cm_network_config c) {
    c.norm = CM_NORM_BATCH;
    return c;
}

/* A learning rate of 0 leaves the parameters as they are, so that losses can be compared. */
static cm_trainer_options still(void) {
    cm_trainer_options o = cm_test_trainer_options(B);
    o.learning_rate = 0, o.optimizer = CM_OPTIMIZER_SGD, o.chunk_rows = CHUNK;
    o.value_weight = 0.5, o.policy_weight = 0.8, o.reward_weight = 1.3, o.consistency_weight = 2.0;
    o.entropy_weight = 0.01, o.mask_illegal = true;
    o.chance_weight = 0.7, o.commitment_weight = 0.9;
    return o;
}

typedef struct fixture {
    cm_test_trainer base;
    cm_train_batch batch;
    float observation[B * MOST_O], next[B * STEPS * MOST_O], numbers[CAPACITY], policy[CAPACITY * A];
    float mask[CAPACITY], weights[B];
    int32_t actions[CAPACITY], codes[CAPACITY];
    uint8_t legal[CAPACITY * A];
} fixture;

/* `size`: of an observation. */
static void fill_batch(fixture *f, int actions, int size) {
    cm_rng rng = cm_rng_init(cm_key_make(6, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < B * size; i++) f->observation[i] = cm_rng_normal(&rng);
    for (int i = 0; i < B * STEPS * size; i++) f->next[i] = cm_rng_normal(&rng);
    for (int i = 0; i < B; i++) f->weights[i] = 0.5f + cm_rng_uniform(&rng);
    for (int i = 0; i < CAPACITY; i++) {
        f->actions[i] = (int32_t)cm_rng_below(&rng, (uint32_t)actions);
        f->codes[i] = (int32_t)cm_rng_below(&rng, CODES + 1) - 1;
    }
    for (int i = 0; i < CAPACITY; i++) {
        const int illegal = (int)cm_rng_below(&rng, A);
        f->numbers[i] = cm_rng_normal(&rng);
        f->mask[i] = cm_rng_below(&rng, 4) > 0 ? 1.0f : 0.0f;
        for (int a = 0; a < A; a++) {
            f->legal[i * A + a] = a != illegal;
            f->policy[i * A + a] = a == illegal ? 0.0f : a == (illegal + 1) % A ? 0.7f : 0.3f;
        }
    }
    f->batch = (cm_train_batch){.observation = f->observation,
                                .actions = f->actions,
                                .target_value = f->numbers,
                                .target_reward = f->numbers + 3,
                                .target_policy = f->policy,
                                .value_mask = f->mask,
                                .reward_mask = f->mask + 1,
                                .policy_mask = f->mask + 2,
                                .consistency_mask = f->mask + 3,
                                .target_observations = f->next,
                                .codes = f->codes,
                                .legal = f->legal,
                                .weights = f->weights};
}

static void open_fixture(fixture *f, const cm_network_config *c, const cm_trainer_options *o, int unroll) {
    memset(f, 0, sizeof *f);
    int size = 1;
    for (int i = 0; i < c->observation_ndim; i++) size *= c->observation[i];
    fill_batch(f, c->actions, size);
    cm_trainer_config config = {.options = o, .batch = B, .unroll = unroll, .total_updates = 100};
    cm_test_trainer_open(&f->base, c, "ref", 1, config);
}

static void close_fixture(fixture *f) { cm_test_trainer_close(&f->base); }

/* Adds `step` to what has the direction true, and takes it from the others. */
static void move(float *parameters, const bool *direction, size_t count, float step) {
    for (size_t i = 0; i < count; i++) parameters[i] += direction[i] ? step : -step;
}

/* The slope of the loss along a direction of 1 and -1 for each of `count` numbers, which stay as they are. */
static double slope(fixture *f, float *parameters, const bool *direction, size_t count) {
    const float step = 5e-4f / sqrtf((float)count);
    float *at = malloc(count * sizeof *at);
    memcpy(at, parameters, count * sizeof *at);
    move(parameters, direction, count, step);
    const double above = cm_test_trainer_loss(&f->base, &f->batch);
    memcpy(parameters, at, count * sizeof *at);
    move(parameters, direction, count, -step);
    const double below = cm_test_trainer_loss(&f->base, &f->batch);
    memcpy(parameters, at, count * sizeof *at);
    free(at);
    return (above - below) / (2.0 * (double)step);
}

/* What the gradient says of it. */
static double along(const float *gradient, const bool *direction, size_t count) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += direction[i] ? (double)gradient[i] : -(double)gradient[i];
    return sum;
}

static bool begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

/* Whether the loss depends on a parameter by no other way than its gradient: a target of consistency has none. */
static bool is_differentiable(const cm_network_config *c, const char *name) {
    return !c->consistency || begins(name, "dynamics") || begins(name, "prediction") ||
           begins(name, "consistency.predictor");
}

/* Random directions of each tensor: the mean of their squares is the sum of those of all its numbers, of slopes and of
 * what they are wrong by alike. */
static void check_slopes(cm_network_config c, const cm_trainer_options *o, int unroll) {
    fixture f;
    open_fixture(&f, &c, o, unroll);
    const cm_param_table *table = cm_network_parameters(f.base.network);
    float *gradient = calloc(table->parameters, sizeof(float));
    float *parameters = cm_trainer_parameters(f.base.trainer, CM_WEIGHTS_ONLINE);
    cm_test_trainer_loss(&f.base, &f.batch);
    memcpy(gradient, cm_trainer_gradients(f.base.trainer), table->parameters * sizeof(float));
    bool *direction = malloc(table->parameters * sizeof *direction);
    cm_rng rng = cm_rng_init(cm_key_make(7, CM_RNG_TEST, 0), 0);
    double squares = 0.0, wrong = 0.0;
    for (int p = 0; p < table->count; p++) {
        const cm_param *param = &table->param[p];
        if (param->state || !is_differentiable(&c, param->name)) continue;
        for (int d = 0; d < DIRECTIONS; d++) {
            for (size_t i = 0; i < param->count; i++) direction[i] = cm_rng_below(&rng, 2) > 0;
            const double s = slope(&f, &parameters[param->offset], direction, param->count);
            const double difference = s - along(&gradient[param->offset], direction, param->count);
            squares += s * s / DIRECTIONS, wrong += difference * difference / DIRECTIONS;
        }
    }
    ck_assert_double_gt(squares, 1e-2);
    ck_assert_msg(wrong < 1e-3 * squares, "slopes differ by %g of %g", sqrt(wrong), sqrt(squares));
    free(direction);
    free(gradient);
    close_fixture(&f);
}

/* The report of one update, and the sum of the gradient's squares in the layers of consistency. */
static double consistency_squares(const cm_trainer_options *o, cm_train_report *report) {
    const cm_network_config c = consistent(batch_normed(mlp()));
    fixture f;
    open_fixture(&f, &c, o, 2);
    ck_assert_msg(cm_trainer_update(f.base.trainer, &f.batch, report) == CM_OK, "%s", cm_error_message());
    report->priorities = NULL; /* gone with the trainer */
    const cm_param_table *table = cm_network_parameters(f.base.network);
    const float *gradient = cm_trainer_gradients(f.base.trainer);
    double squares = 0.0;
    for (int p = 0; p < table->count; p++) {
        const cm_param *param = &table->param[p];
        if (param->state || !begins(param->name, "consistency.")) continue;
        for (size_t i = 0; i < param->count; i++)
            squares += (double)gradient[param->offset + i] * (double)gradient[param->offset + i];
    }
    close_fixture(&f);
    return squares;
}

/* Losses are reported before their weights (learning 3). */
START_TEST(consistency_with_a_weight_of_0_is_reported_and_teaches_nothing) {
    cm_trainer_options with = still(), without = still();
    cm_train_report a, b;
    without.consistency_weight = 0.0;
    ck_assert_double_gt(consistency_squares(&with, &a), 0.0);
    ck_assert_double_eq(consistency_squares(&without, &b), 0.0);
    double weighted = 0.0;
    for (int k = 0; k < 2; k++) {
        ck_assert_double_gt(fabs(a.loss[CM_LOSS_consistency][k]), 1e-4);
        ck_assert_double_eq(a.loss[CM_LOSS_consistency][k], b.loss[CM_LOSS_consistency][k]);
        weighted += with.consistency_weight * a.loss[CM_LOSS_consistency][k];
    }
    ck_assert_int_eq(with.unroll_scale, CM_UNROLL_PAPER);
    ck_assert_double_eq_tol(a.total_loss, b.total_loss + weighted / 2.0, 1e-6);
}
END_TEST

START_TEST(gradients_are_the_slopes_of_all_losses) {
    const cm_trainer_options o = still();
    switch (_i) {
    case 0: check_slopes(mlp(), &o, 3); break;
    case 1: check_slopes(consistent(mlp()), &o, 3); break;
    case 2: check_slopes(of_chance(mlp()), &o, 3); break;
    case 3: check_slopes(resnet(), &o, 2); break;
    case 4: check_slopes(of_chance(resnet()), &o, 2); break;
    case 5: check_slopes(consistent(of_chance(mlp())), &o, 2); break;
    case 6: check_slopes(consistent(resnet()), &o, 2); break;
    case 7: check_slopes(mlp(), &o, CM_UNROLL_MAX); break;
    case 8: check_slopes(with_prefix(mlp()), &o, 5); break;
    case 9: check_slopes(with_prefix(unscaled(mlp())), &o, 3); break;
    case 10: check_slopes(consistent(with_prefix(unscaled(residual(mlp())))), &o, 1); break;
    case 11: check_slopes(with_prefix(unscaled(batch_normed(mlp()))), &o, 3); break;
    case 12: check_slopes(with_prefix(resnet()), &o, 3); break;
    case 13: check_slopes(with_prefix(of_chance(mlp())), &o, 3); break;
    case 14: check_slopes(per_number(mlp()), &o, 3); break;
    case 15: check_slopes(per_number(consistent(resnet())), &o, 2); break;
    case 16: check_slopes(per_number(cumind()), &o, 3); break;
    case 17: check_slopes(with_scaled_actions(per_number(mlp())), &o, 3); break;
    case 18: check_slopes(with_scaled_actions(per_number(resnet())), &o, 2); break;
    case 19: check_slopes(joint(with_scaled_actions(per_number(mlp()))), &o, 3); break;
    case 20: check_slopes(of_chance(joint(with_scaled_actions(per_number(mlp())))), &o, 2); break;
    case 21: check_slopes(of_chance(joint(with_scaled_actions(per_number(resnet())))), &o, 2); break;
    case 22: check_slopes(downsampled(resnet()), &o, 2); break;
    case 23: check_slopes(downsampled(consistent(of_chance(resnet()))), &o, 1); break;
    }
}
END_TEST

/* ---- policies per number ---- */

/* Visits of all A * A actions, as shares of a row, and their marginals as the row's target. */
static void fill_visits(fixture *f, double q[B][A * A]) {
    cm_rng rng = cm_rng_init(cm_key_make(6, CM_RNG_TEST, 1), 0);
    memset(f->policy, 0, sizeof f->policy);
    for (int b = 0; b < B; b++) {
        double sum = 0.0;
        for (int a = 0; a < A * A; a++) sum += q[b][a] = cm_rng_below(&rng, 5);
        for (int a = 0; a < A * A; a++) {
            q[b][a] /= sum;
            f->policy[b * 2 * A + a / A] += (float)q[b][a];
            f->policy[b * 2 * A + A + a % A] += (float)q[b][a];
        }
    }
}

/* log of the softmax's entry. */
static double log_of(const float *logits, int entry) {
    double sum = 0.0;
    for (int i = 0; i < A; i++) sum += exp((double)logits[i]);
    return (double)logits[entry] - log(sum);
}

/* The loss, the sum of those of the numbers, is -sum of q(a) log pi(a) over the actions, pi(a) the product of their
 * numbers' probabilities; the entropy is that of pi. */
START_TEST(losses_of_numbers_are_that_of_their_combinations) {
    cm_trainer_options o = cm_test_trainer_options(B);
    cm_network_config c = per_number(mlp());
    cm_train_report r;
    fixture f;
    double q[B][A * A], loss = 0.0, entropy = 0.0;
    float logits[B * 2 * A];
    c.zero_init = false;
    open_fixture(&f, &c, &o, 0);
    fill_visits(&f, q);
    f.batch.weights = NULL;
    for (int i = 0; i < CAPACITY; i++) f.mask[i] = 1.0f;
    ck_assert_int_eq(cm_trainer_update(f.base.trainer, &f.batch, &r), CM_OK);
    ck_assert_int_eq(cm_trainer_predictions(f.base.trainer, NULL, NULL, logits), CM_OK);
    for (int b = 0; b < B; b++) {
        for (int a = 0; a < A * A; a++) {
            const float *row = logits + b * 2 * A;
            const double log_pi = log_of(row, a / A) + log_of(row + A, a % A);
            loss -= q[b][a] * log_pi / B, entropy -= exp(log_pi) * log_pi / B;
        }
    }
    ck_assert_double_eq_tol(r.loss[CM_LOSS_policy][0], loss, 1e-5);
    ck_assert_double_eq_tol(r.entropy[0], entropy, 1e-5);
    ck_assert_double_gt(fabs(loss - 2.0 * log(A)), 1e-3); /* of logits that are not equal */
    close_fixture(&f);
}
END_TEST

/* ---- scaled gradients of hidden states ---- */

enum { HIDDEN = 6 }; /* units of mlp() */

/* The gradient of the bias after the last layer of dynamics. */
static void gradient_of_dynamics(int form, double scale, int unroll, float out[HIDDEN]) {
    const cm_network_config c = mlp();
    cm_trainer_options o = still();
    fixture f;
    o.hidden_gradient_form = form, o.hidden_gradient_scale = scale;
    o.reward_weight = 0; /* rewards are read off the state in front of its scaling, which no form touches */
    open_fixture(&f, &c, &o, unroll);
    cm_test_trainer_loss(&f.base, &f.batch);
    const cm_param *bias = cm_param_table_find(cm_network_parameters(f.base.network), "dynamics.transition.1.bias");
    ck_assert_int_eq((int)bias->count, HIDDEN);
    memcpy(out, cm_trainer_gradients(f.base.trainer) + bias->offset, HIDDEN * sizeof(float));
    close_fixture(&f);
}

/* Of two steps the later one's gradient has gone through s_1 once, so form "paper" is linear in the scale; what arrives
 * at the only state of one step is the whole of it, so form "hook" is in proportion. */
START_TEST(gradients_of_states_with_a_scaling_are_scaled) {
    float none[HIDDEN], cut[HIDDEN], half[HIDDEN], hooked[HIDDEN], whole[HIDDEN];
    gradient_of_dynamics(CM_HIDDEN_NONE, 0.5, 2, none);
    gradient_of_dynamics(CM_HIDDEN_PAPER, 0.0, 2, cut);
    gradient_of_dynamics(CM_HIDDEN_PAPER, 0.5, 2, half);
    gradient_of_dynamics(CM_HIDDEN_HOOK, 0.25, 1, hooked);
    gradient_of_dynamics(CM_HIDDEN_HOOK, 1.0, 1, whole);
    float through = 0.0f, arrives = 0.0f;
    for (int i = 0; i < HIDDEN; i++) {
        ck_assert_float_eq_tol(half[i], 0.5f * (none[i] + cut[i]), 1e-6f);
        ck_assert_float_eq_tol(hooked[i], 0.25f * whole[i], 1e-6f);
        through = fmaxf(through, fabsf(none[i] - cut[i])), arrives = fmaxf(arrives, fabsf(whole[i]));
    }
    ck_assert_float_gt(through, 1e-3f);
    ck_assert_float_gt(arrives, 1e-3f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/unroll");
    TCase *tests = tcase_create("unroll");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, gradients_are_the_slopes_of_all_losses, 0, 24);
    tcase_add_test(tests, consistency_with_a_weight_of_0_is_reported_and_teaches_nothing);
    tcase_add_test(tests, losses_of_numbers_are_that_of_their_combinations);
    tcase_add_test(tests, gradients_of_states_with_a_scaling_are_scaled);
    return cm_test_main(suite);
}
