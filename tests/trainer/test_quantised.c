/* Training for 8 bits: what passes that train compute is what the network gives in 8 bits, with the ranges of training.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network/rollout.h"
#include "support/main.h"
#include "support/network.h"
#include "support/trainer.h"
#include "trainer/internal.h"

enum { UPDATES = 30, B = CM_TEST_ROWS, A = CM_TEST_ACTIONS, KINDS = 4 };
static const cm_support atoms = {-10, 10, 21, true}, scalar = {0, 0, 1, false};

/* Networks that compute the same in training and after it, but for 8 bits: no norm of batches. */
static cm_network_config network_of(int kind) {
    cm_network_config c = cm_test_mlp(CM_TEST_INPUTS, A, 16, 8, atoms);
    c.fake_quantised = true;
    if (kind == 1) c.norm = CM_NORM_NONE, c.minmax = false, c.value_support = c.reward_support = scalar;
    if (kind == 2) c.body = CM_BODY_GELU_LAYERNORM, c.residual_dynamics = true, c.trunk_layers = 1;
    if (kind == 3) c.family = CM_FAMILY_CUMIND, c.blocks = 2, c.norm = CM_NORM_NONE, c.value_support = scalar;
    return c;
}

typedef struct bench {
    cm_test_trainer t;
    cm_stream *stream;
    const cm_param_table *table;
    float *ranges;
} bench;

static void open_bench(bench *b, int kind, const char *backend) {
    const cm_network_config c = network_of(kind);
    cm_trainer_options o = cm_test_trainer_options(B);
    static cm_test_batch batch;
    cm_test_trainer_open(&b->t, &c, backend, 2,
                         (cm_trainer_config){.options = &o, .batch = B, .unroll = CM_TEST_UNROLL, .total_updates = 99});
    ck_assert_int_eq(cm_stream_open(b->t.backend, &b->stream), CM_OK);
    for (int i = 0; i < UPDATES; i++) {
        cm_test_batch_fill(&batch, (uint64_t)i);
        (void)cm_test_trainer_loss(&b->t, &batch.rows);
    }
    b->table = cm_network_parameters(b->t.network);
    b->ranges = calloc((size_t)b->table->count, sizeof *b->ranges);
    ck_assert_ptr_nonnull(b->ranges);
    cm_network_trained_ranges(b->t.network, cm_trainer_state(b->t.trainer, CM_WEIGHTS_ONLINE), b->ranges);
}

static void close_bench(bench *b) {
    free(b->ranges);
    cm_stream_close(b->stream);
    cm_test_trainer_close(&b->t);
}

/* A rollout of one step, in 8 bits by the ranges or in floats. */
static cm_rollout *roll(const bench *b, const float *ranges, const cm_test_batch *batch) {
    const cm_network_use use = {.network = b->t.network,
                                .stream = b->stream,
                                .rows = B,
                                .compute = CM_F32,
                                .parameters = cm_trainer_parameters(b->t.trainer, CM_WEIGHTS_ONLINE),
                                .state = cm_trainer_state(b->t.trainer, CM_WEIGHTS_ONLINE)};
    cm_rollout *rollout;
    cm_network_set_ranges(b->t.network, ranges);
    ck_assert_msg(cm_rollout_create(&use, 1, &rollout) == CM_OK, "%s", cm_error_message());
    cm_network_set_ranges(b->t.network, NULL);
    memcpy(cm_rollout_observations(rollout), batch->numbers, B * CM_TEST_INPUTS * sizeof(float));
    for (int i = 0; i < B; i++) cm_rollout_actions(rollout, 0)[i] = i % A;
    ck_assert_int_eq(cm_rollout_run(rollout), CM_OK);
    return rollout;
}

/* The policy's logits at the root and after a step, as passes that train find them. */
static void pass_of_training(const bench *b, const cm_test_batch *batch, float *out) {
    const int dim[2] = {B, CM_TEST_INPUTS}, rows = B;
    cm_tape *tape;
    cm_pass *pass;
    cm_var policy[2];
    ck_assert_int_eq(cm_tape_create(true, CM_F32, &tape), CM_OK);
    const cm_var observation = cm_tape_input(tape, CM_F32, 2, dim), action = cm_tape_input(tape, CM_I32, 1, &rows);
    cm_hidden state = cm_network_representation(b->t.network, tape, observation);
    policy[0] = cm_network_predict(b->t.network, tape, state, false).policy;
    state = cm_network_dynamics(b->t.network, tape, state.scaled, action);
    policy[1] = cm_network_predict(b->t.network, tape, state, true).policy;
    ck_assert_msg(cm_tape_finish(tape) == CM_OK, "%s", cm_error_message());
    char *input = calloc(1, cm_tape_bytes(tape, CM_MEM_INPUT)), *stats = calloc(1, cm_tape_bytes(tape, CM_MEM_STATS));
    float *gradients = calloc(b->table->parameters, sizeof *gradients);
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = b->t.trainer->quantised.host,
                                [CM_MEM_STATE] = cm_trainer_state(b->t.trainer, CM_WEIGHTS_ONLINE),
                                [CM_MEM_GRADIENT] = gradients,
                                [CM_MEM_STATS] = stats,
                                [CM_MEM_INPUT] = input};
    memcpy(input + cm_tape_offset(tape, observation), batch->numbers, B * CM_TEST_INPUTS * sizeof(float));
    for (int i = 0; i < B; i++) ((int32_t *)(void *)(input + cm_tape_offset(tape, action)))[i] = i % A;
    ck_assert_msg(cm_pass_create(tape, b->stream, base, &pass) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_pass_forward(pass), CM_OK);
    for (int k = 0; k < 2; k++) {
        const cm_tensor *shape = cm_tape_shape(tape, policy[k]);
        for (int i = 0; i < B; i++)
            memcpy(out + (k * B + i) * A, (const float *)cm_pass_data(pass, policy[k]) + i * shape->stride,
                   A * sizeof *out);
    }
    cm_pass_destroy(pass);
    cm_tape_destroy(tape);
    free(gradients);
    free(input);
    free(stats);
}

static double distance(const float *a, const cm_rollout *rollout) {
    double sum = 0.0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < B * A; i++)
            sum += fabs((double)a[k * B * A + i] - (double)cm_rollout_policy(rollout, k)[i]);
    return sum / (2.0 * B * A);
}

/* Sums round in other orders, so a number that stands between two may become the other one: rarely. */
START_TEST(a_pass_that_trains_gives_what_the_network_gives_in_8_bits) {
    static cm_test_batch batch;
    float trained[2 * B * A];
    bench b;
    open_bench(&b, _i % KINDS, _i / KINDS ? "cpu" : "ref");
    cm_test_batch_fill(&batch, 77);
    pass_of_training(&b, &batch, trained);
    cm_rollout *bits = roll(&b, b.ranges, &batch), *floats = roll(&b, NULL, &batch);
    ck_assert_double_lt(distance(trained, bits), 2e-3);
    ck_assert_double_gt(distance(trained, floats), 4.0 * distance(trained, bits));
    cm_rollout_destroy(bits);
    cm_rollout_destroy(floats);
    close_bench(&b);
}
END_TEST

/* A layer that runs in a rollout has a range, and no other: the rule of `cumind quantize`. */
START_TEST(layers_that_train_for_8_bits_are_those_that_can_be_in_8_bits) {
    static cm_test_batch batch;
    bench b;
    open_bench(&b, _i, "ref");
    cm_test_batch_fill(&batch, 77);
    float *measured = calloc((size_t)b.table->count, sizeof *measured);
    ck_assert_ptr_nonnull(measured);
    cm_rollout *floats = roll(&b, NULL, &batch);
    ck_assert_int_eq(cm_rollout_measure(floats, measured), CM_OK);
    for (int i = 0; i < b.table->count; i++) {
        ck_assert_msg((measured[i] > 0.0f) == (b.ranges[i] > 0.0f), "%s", b.table->param[i].name);
        if (measured[i] > 0.0f) ck_assert(b.ranges[i] < 4.0f * measured[i] && measured[i] < 4.0f * b.ranges[i]);
    }
    cm_rollout_destroy(floats);
    free(measured);
    close_bench(&b);
}
END_TEST

/* Master parameters keep what steps of 8 bits would swallow. */
START_TEST(parameters_stay_floats_and_passes_read_them_rounded) {
    bench b;
    int rounded = 0;
    open_bench(&b, 0, "ref");
    const float *master = cm_trainer_parameters(b.t.trainer, CM_WEIGHTS_ONLINE), *read = b.t.trainer->quantised.host;
    for (int i = 0; i < b.table->count; i++) {
        const cm_param *p = &b.table->param[i];
        if (p->state) continue;
        const bool same = memcmp(master + p->offset, read + p->offset, p->count * sizeof(float)) == 0;
        ck_assert_msg(same == (b.ranges[i] <= 0.0f), "%s", p->name);
        rounded += !same;
    }
    ck_assert_int_gt(rounded, 5);
    close_bench(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/quantised");
    TCase *tests = tcase_create("quantised");
    tcase_add_loop_test(tests, a_pass_that_trains_gives_what_the_network_gives_in_8_bits, 0, 2 * KINDS);
    tcase_add_loop_test(tests, layers_that_train_for_8_bits_are_those_that_can_be_in_8_bits, 0, KINDS);
    tcase_add_test(tests, parameters_stay_floats_and_passes_read_them_rounded);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
