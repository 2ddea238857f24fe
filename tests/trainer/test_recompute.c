/* Gradient checkpointing: the bits of updates stay as they are on every network, and activations take less memory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"
#include "run/configuration.h"
#include "support/main.h"
#include "support/updates.h"
#include "trainer/unroll.h"

enum {
    UPDATES = 2,
    OF_PLANES = CM_TEST_UPDATE_KINDS,
    OF_PRESETS = OF_PLANES + CM_TEST_PLANE_KINDS,
    ALL_KINDS = OF_PRESETS + 4,
    ACTIONS = 4
};

/* ---- networks ---- */

/* A family and a preset as the options mean them. */
static void configure_preset(int preset, cm_network_config *c, cm_trainer_options *o) {
    enum { SETTINGS = 4 };
    static const struct {
        const char *settings[SETTINGS];
        int ndim, observation[3];
    } presets[] = {{{"preset=plain", "hidden_dim=16"}, 1, {5}},
                   {{"preset=small", "hidden_dim=16"}, 1, {5}},
                   {{"family=cumind", "hidden_dim=16", "num_blocks=2", "conv_channels=8"}, 3, {5, 5, 2}},
                   {{"family=resnet", "num_blocks=2", "conv_channels=8"}, 3, {5, 5, 2}}};
    const char *const *settings = presets[preset].settings;
    int count = 0;
    cm_configuration configuration;
    cm_config *config;
    while (count < SETTINGS && settings[count]) count++;
    ck_assert_msg(cm_configuration_load(NULL, settings, count, &configuration, &config) == CM_OK, "%s",
                  cm_error_message());
    *o = configuration.trainer;
    o->ema_bootstraps = false;
    cm_network_config_from_options(c, &configuration.network, presets[preset].ndim, presets[preset].observation,
                                   ACTIONS, false);
    cm_config_destroy(config);
}

static void configure(int kind, cm_network_config *c, cm_trainer_options *o) {
    if (kind < OF_PLANES) {
        cm_test_update_kind(kind, c, o);
    } else if (kind < OF_PRESETS) {
        cm_test_update_planes(kind - OF_PLANES, c, o);
    } else {
        configure_preset(kind - OF_PRESETS, c, o);
    }
}

/* ---- whole updates ---- */

static float *update(const char *name, int kind, cm_recompute recompute, cm_dtype type, size_t *count) {
    cm_network_config c;
    cm_trainer_options o;
    cm_backend *backend;
    ck_assert_msg(cm_backend_open(name, &backend) == CM_OK, "%s", cm_error_message());
    configure(kind, &c, &o);
    o.recompute = recompute;
    o.chunk_rows = 4; /* and one of two rows */
    float *results = cm_test_updates_of(backend, &c, &o, type, UPDATES, count);
    cm_backend_close(backend);
    return results;
}

static void expect_bits(const char *name, int kind, cm_dtype type) {
    size_t count;
    float *kept = update(name, kind, CM_RECOMPUTE_NONE, type, &count);
    for (cm_recompute how = CM_RECOMPUTE_BLOCKS; how <= CM_RECOMPUTE_FULL; how++) {
        float *again = update(name, kind, how, type, &count);
        ck_assert_msg(memcmp(kept, again, count * sizeof *kept) == 0, "%s, kind %d, recompute %d: other bits", name,
                      kind, how);
        free(again);
    }
    free(kept);
}

START_TEST(no_bit_of_an_update_changes) {
    expect_bits("cpu", _i, CM_F32);
    if (_i < OF_PLANES) return; /* most of these have none */
    expect_bits("cpu", _i, CM_BF16);
    expect_bits("ref", _i, CM_F32);
}
END_TEST

/* ---- memory and calls ---- */

/* The tape of an unroll of a residual network of eight blocks. */
static cm_tape *record(cm_recompute recompute) {
    cm_network_config c;
    cm_trainer_options o;
    cm_network *network;
    cm_backend *backend;
    cm_unroll unroll = {0};
    cm_test_update_planes(0, &c, &o);
    c.blocks = 8, o.recompute = recompute;
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_int_eq(cm_network_create(&c, &network), CM_OK);
    cm_trainer_config config = {.network = network, .backend = backend, .options = &o, .unroll = 3};
    ck_assert_msg(cm_unroll_record(&config, 4, 0, &unroll) == CM_OK, "%s", cm_error_message());
    cm_network_destroy(network);
    cm_backend_close(backend);
    return unroll.tape;
}

static int count_calls(const cm_tape_list *list, cm_op op) {
    int count = 0;
    for (int i = 0; i < list->count; i++) count += list->node[i].op == op;
    return count;
}

START_TEST(blocks_keep_their_inputs_and_steps_their_states) {
    cm_tape *none = record(CM_RECOMPUTE_NONE), *blocks = record(CM_RECOMPUTE_BLOCKS), *full = record(CM_RECOMPUTE_FULL);
    const size_t all = cm_tape_bytes(none, CM_MEM_WORK);
    ck_assert_uint_lt(cm_tape_bytes(blocks, CM_MEM_WORK) * 10, all * 3);
    ck_assert_uint_lt(cm_tape_bytes(full, CM_MEM_WORK) * 10, cm_tape_bytes(blocks, CM_MEM_WORK) * 6);
    ck_assert_int_eq(count_calls(&none->backward, CM_OP_conv2d), 0);
    /* of representation, 3 steps of dynamics and 4 of prediction: 2 of each block; and the stems' */
    const int convolutions = 8 * 8 * 2 + 4;
    ck_assert_int_eq(count_calls(&blocks->backward, CM_OP_conv2d), convolutions);
    ck_assert_int_eq(count_calls(&blocks->backward, CM_OP_batch_norm), 8 * 8);
    ck_assert_int_gt(count_calls(&full->backward, CM_OP_conv2d), convolutions);
    ck_assert_int_lt(count_calls(&full->backward, CM_OP_conv2d), 2 * convolutions + 4 * 4);
    ck_assert_int_eq(cm_tape_norm_calls(full), cm_tape_norm_calls(none));
    cm_tape_destroy(none);
    cm_tape_destroy(blocks);
    cm_tape_destroy(full);
}
END_TEST

/* What a call reads is what the last call that wrote there has left of the same variable. */
START_TEST(no_call_reads_what_another_variable_has_left) {
    cm_tape *tape = record((cm_recompute)_i);
    cm_var *last = malloc(cm_tape_bytes(tape, CM_MEM_WORK) / CM_ALIGN * sizeof *last);
    ck_assert_ptr_nonnull(last);
    for (size_t i = 0; i < cm_tape_bytes(tape, CM_MEM_WORK) / CM_ALIGN; i++) last[i] = CM_NO_VAR;
    for (int i = 0; i < tape->forward.count + tape->backward.count; i++) {
        const int back = i - tape->forward.count;
        const cm_tape_node *node = back < 0 ? &tape->forward.node[i] : &tape->backward.node[back];
        for (int writes = 0; writes < 2; writes++)
            for (int t = 0; t < CM_CALL_TENSORS; t++) {
                if (node->t[t] == CM_NO_VAR || tape->var[node->t[t]].memory != CM_MEM_WORK) continue;
                const cm_tape_var *v = &tape->var[node->t[t]];
                const bool adds = node->attr.accumulate >> t & 1u;
                const bool is_written = cm_op_tensor_written(node->op, t);
                const bool checks = !writes && (!is_written || adds) && cm_tape_is_shared(tape, v->owner);
                const size_t end = v->offset + cm_tensor_bytes(&v->shape);
                for (size_t at = v->offset / CM_ALIGN; at * CM_ALIGN < end; at++) {
                    if (checks) ck_assert_int_eq(last[at], v->owner);
                    if (writes && is_written) last[at] = v->owner;
                }
            }
    }
    free(last);
    cm_tape_destroy(tape);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/recompute");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, no_bit_of_an_update_changes, 0, ALL_KINDS);
    tcase_add_test(tests, blocks_keep_their_inputs_and_steps_their_states);
    tcase_add_loop_test(tests, no_call_reads_what_another_variable_has_left, CM_RECOMPUTE_BLOCKS,
                        CM_RECOMPUTE_FULL + 1);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
