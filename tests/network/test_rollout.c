/* Rollouts give what inferences give, find what layers read, and with that networks infer in 8 bits. */
#include "network/rollout.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/infer_bench.h"
#include "support/main.h"

enum { ROWS = 5 };

typedef struct bench {
    infer_bench infer;
    cm_backend *cpu;
    cm_rollout *rollout;
    float *ranges;
} bench;

static void check(cm_status status) { ck_assert_msg(status == CM_OK, "%s", cm_error_message()); }

static void make_rollout(bench *b) {
    cm_network_use use = cm_test_network_use(&b->infer.network, b->infer.stream, ROWS);
    use.parameters = (float *)(void *)b->infer.parameters.block.base;
    use.state = (float *)(void *)b->infer.state.block.base;
    check(cm_rollout_create(&use, 2, &b->rollout));
}

/* The rollout's inputs are those of an inference of the same rows. */
static void fill_rollout(bench *b, const cm_inference *inference) {
    const cm_inference_arrays *a = cm_inference_get(inference);
    const cm_network_config *c = cm_network_get_config(b->infer.network.network);
    infer_bench_fill(&b->infer, (cm_inference *)(uintptr_t)inference, 0);
    const size_t observations = ROWS * (size_t)cm_network_observation_size(b->infer.network.network);
    memcpy(cm_rollout_observations(b->rollout), a->observation, observations * sizeof(float));
    for (int k = 0; k < cm_rollout_steps(b->rollout); k++)
        for (int i = 0; i < ROWS; i++) {
            cm_rollout_actions(b->rollout, k)[i] = (i + k) % c->actions;
            float *codes = cm_rollout_codes(b->rollout, k);
            for (int code = 0; codes && code < c->codes; code++) codes[i * c->codes + code] = code == i % c->codes;
        }
}

static void open_bench(bench *b, int network) {
    *b = (bench){.rollout = NULL};
    check(cm_backend_open("cpu", &b->cpu));
    infer_bench_open(&b->infer, b->cpu, infer_network(network));
    const cm_param_table *table = cm_network_parameters(b->infer.network.network);
    b->ranges = calloc((size_t)table->count, sizeof *b->ranges);
    ck_assert_ptr_nonnull(b->ranges);
    make_rollout(b);
}

static void close_bench(bench *b) {
    cm_rollout_destroy(b->rollout);
    infer_bench_close(&b->infer);
    cm_backend_close(b->cpu);
    free(b->ranges);
}

/* Leaves the ranges of random inputs in the network. */
static void calibrate(bench *b) {
    cm_inference *inference = infer_bench_make(&b->infer, false, ROWS, CM_F32);
    fill_rollout(b, inference);
    check(cm_rollout_measure(b->rollout, b->ranges));
    cm_inference_destroy(inference);
    cm_network_set_ranges(b->infer.network.network, b->ranges);
}

START_TEST(rollouts_are_the_steps_of_inferences) {
    bench b;
    open_bench(&b, _i);
    const int actions = cm_network_get_config(b.infer.network.network)->actions;
    cm_inference *inference = infer_bench_make(&b.infer, false, ROWS, CM_F32);
    const cm_inference_arrays *a = cm_inference_get(inference);
    fill_rollout(&b, inference);
    check(cm_rollout_run(b.rollout));
    check(cm_inference_root(inference));
    ck_assert_mem_eq(cm_rollout_policy(b.rollout, 0), a->root_policy, ROWS * (size_t)actions * sizeof(float));
    ck_assert_mem_eq(cm_rollout_value(b.rollout, 0), a->root_value, ROWS * sizeof(float));
    for (int i = 0; i < ROWS; i++) {
        a->parent_slots[i] = a->root_slots[i];
        if (a->actions) a->actions[i] = cm_rollout_actions(b.rollout, 0)[i];
    }
    if (a->actions) {
        check(cm_inference_recurrent(inference));
        ck_assert_mem_eq(cm_rollout_policy(b.rollout, 1), a->policy, ROWS * (size_t)actions * sizeof(float));
        ck_assert_mem_eq(cm_rollout_value(b.rollout, 1), a->value, ROWS * sizeof(float));
    }
    cm_inference_destroy(inference);
    close_bench(&b);
}
END_TEST

START_TEST(every_layer_has_the_range_of_what_it_reads) {
    bench b;
    float most = 0.0f;
    open_bench(&b, INFER_PLAIN);
    calibrate(&b);
    const cm_network *network = b.infer.network.network;
    const cm_param_table *table = cm_network_parameters(network);
    const float *x = cm_rollout_observations(b.rollout);
    for (int i = 0; i < ROWS * cm_network_observation_size(network); i++) most = fmaxf(most, fabsf(x[i]));
    ck_assert_str_eq(table->param[0].name, "representation.0.weight");
    ck_assert_float_eq(b.ranges[0], most);
    for (int i = 0; i < table->count; i++) {
        const size_t length = strlen(table->param[i].name);
        const bool is_weight = length > 7 && strcmp(table->param[i].name + length - 7, ".weight") == 0;
        ck_assert_msg((b.ranges[i] > 0.0f) == is_weight, "%s", table->param[i].name);
    }
    ck_assert(cm_network_has_ranges(network));
    close_bench(&b);
}
END_TEST

/* Both round the same numbers, but those that stand between two of them. */
START_TEST(inference_in_8_bits_equals_ref_and_is_near_that_in_floats) {
    bench b;
    open_bench(&b, _i);
    calibrate(&b);
    infer_bench_run(&b.infer, ROWS, CM_F32, 0.03f);
    cm_inference *bits = infer_bench_make(&b.infer, false, ROWS, CM_F32);
    cm_network_set_ranges(b.infer.network.network, NULL);
    cm_inference *floats = infer_bench_make(&b.infer, false, ROWS, CM_F32);
    infer_bench_fill(&b.infer, bits, 0);
    infer_bench_fill(&b.infer, floats, 0);
    check(cm_inference_root(bits));
    check(cm_inference_root(floats));
    infer_bench_compare(&b.infer, bits, floats, 0.1f, true);
    const float *policy = cm_inference_get(bits)->root_policy;
    if (_i == INFER_PLAIN) ck_assert_float_ne(*policy, *cm_inference_get(floats)->root_policy);
    cm_inference_destroy(bits);
    cm_inference_destroy(floats);
    close_bench(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("network/rollout");
    TCase *tests = tcase_create("rollout");
    tcase_add_loop_test(tests, rollouts_are_the_steps_of_inferences, 0, INFER_NETWORKS);
    tcase_add_test(tests, every_layer_has_the_range_of_what_it_reads);
    tcase_add_loop_test(tests, inference_in_8_bits_equals_ref_and_is_near_that_in_floats, 0, INFER_ALL);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
