/* What tapes that train do for a GPU changes no bit of an update. Copies of 16 bits of what dense layers read: written
 * by the calls that make it they save the launches of those that made them apart. Branches: calls that run concurrently
 * with others. Planes that are recomputed: only sums over rows in 16 bits are made in another order.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/measure.h"
#include "backend/tape/tape_internal.h"
#include "support/main.h"
#include "support/updates.h"
#include "trainer/unroll.h"

enum { B = 6, UPDATES = 2 };

/* ---- whole updates ---- */

/* As cm_test_updates on a backend of a class. */
static float *update(int kind, cm_dtype compute, const cm_backend_class *class, size_t *count) {
    cm_backend cuda;
    cuda_cpu_open(&cuda);
    cuda.kind = class;
    float *parameters = cm_test_updates(&cuda, kind, compute, UPDATES, count);
    cuda_cpu_close(&cuda);
    return parameters;
}

START_TEST(copies_change_no_bit_of_an_update) {
    size_t count;
    const cm_dtype type = _i % 2 ? CM_F16 : CM_BF16;
    cm_backend_class without = cuda_cpu_class;
    without.takes_half = false;
    const int before = cuda_cpu_launches;
    float *one = update(_i / 2, type, &without, &count);
    const int apart = cuda_cpu_launches - before;
    float *other = update(_i / 2, type, &cuda_cpu_class, &count);
    ck_assert_mem_eq(one, other, count * sizeof *one);
    ck_assert_int_lt(cuda_cpu_launches - before - apart, apart);
    free(one);
    free(other);
}
END_TEST

static int on_side, losses; /* calls that had a branch, and losses among them */

/* Those that have one run last, and the last branch first: as late as they may. Forward a branch's wait for each other;
 * backward none does, and the last of a branch is the first. */
static cm_status play_lanes_last(cm_stream *stream, const cm_call_list *pass, bool captures, void **kept) {
    (void)captures, (void)kept;
    for (int i = 0; i < pass->count; i++)
        if (pass->calls[i].branch == 0) CM_TRY(cm_call_run(stream, &pass->calls[i]));
    const bool backward = strstr(cm_op_name(pass->calls[pass->count - 1].op), "_backward");
    for (int branch = CM_CALL_BRANCHES; branch > 0; branch--)
        for (int k = 0; k < pass->count; k++) {
            const int i = backward ? pass->count - 1 - k : k;
            ck_assert_int_le(pass->calls[i].branch, CM_CALL_BRANCHES);
            if (pass->calls[i].branch != branch) continue;
            on_side++;
            losses += pass->calls[i].op == CM_OP_policy_loss || pass->calls[i].op == CM_OP_categorical_loss;
            CM_TRY(cm_call_run(stream, &pass->calls[i]));
        }
    return CM_OK;
}

START_TEST(lanes_change_no_bit_of_an_update) {
    size_t count;
    const cm_dtype type = _i % 2 ? CM_F32 : CM_BF16;
    cm_backend_class without = cuda_cpu_class, late = cuda_cpu_class;
    without.branches = 0;
    late.run_list = play_lanes_last;
    on_side = losses = 0;
    float *one = update(_i / 2, type, &without, &count);
    ck_assert_int_eq(on_side, 0);
    float *other = update(_i / 2, type, &late, &count);
    ck_assert_int_ge(on_side, UPDATES * 4);
    if (_i / 2 == 0) ck_assert_int_eq(losses, UPDATES * 2); /* of three heads */
    ck_assert_mem_eq(one, other, count * sizeof *one);
    free(one);
    free(other);
}
END_TEST

/* As cm_test_updates_of with fused segments, and branches that run as late as they may. */
static float *update_planes(int kind, cm_dtype type, cm_recompute recompute, size_t *count) {
    cm_backend_class class = cuda_cpu_class;
    cm_network_config c;
    cm_trainer_options o;
    cm_backend cuda;
    class.run_list = kind % 2 ? play_lanes_last : cuda_cpu_run_segments;
    cuda_cpu_open(&cuda);
    cuda.kind = &class;
    cm_test_update_planes(kind, &c, &o);
    o.recompute = recompute, o.optimizer = CM_OPTIMIZER_SGD;
    float *results = cm_test_updates_of(&cuda, &c, &o, type, 1, count);
    cuda_cpu_close(&cuda);
    return results;
}

START_TEST(planes_that_are_recomputed_change_no_bit_but_for_sums_in_16_bits) {
    size_t count;
    const cm_dtype type = _i % 2 ? CM_F32 : CM_BF16;
    float *kept = update_planes(_i / 2, type, CM_RECOMPUTE_NONE, &count);
    float *blocks = update_planes(_i / 2, type, CM_RECOMPUTE_BLOCKS, &count);
    float *full = update_planes(_i / 2, type, CM_RECOMPUTE_FULL, &count);
    ck_assert_mem_eq(blocks, full, count * sizeof *full);
    if (type == CM_F32) ck_assert_mem_eq(kept, blocks, count * sizeof *kept);
    for (size_t i = 0; i < count; i++) ck_assert_float_eq_tol(kept[i], blocks[i], 1e-4f);
    free(kept);
    free(blocks);
    free(full);
}
END_TEST

/* Inputs and gradients of dense layers that are copied apart. */
static int copied_apart(const cm_tape *tape) {
    int count = 0;
    for (int i = 0; i < tape->forward.count; i++) {
        const cm_tape_node *node = &tape->forward.node[i];
        count += node->op == CM_OP_dense && tape->var[node->t[CM_T_dense_x]].shape.dtype == CM_F32;
    }
    for (int i = 0; i < tape->backward.count; i++) {
        const cm_tape_node *node = &tape->backward.node[i];
        if (node->op != CM_OP_dense_backward) continue;
        count += node->t[CM_T_dense_backward_half_dy] == CM_NO_VAR;
        count += node->t[CM_T_dense_backward_dweight] != CM_NO_VAR &&
                 tape->var[node->t[CM_T_dense_backward_x]].shape.dtype == CM_F32;
    }
    return count;
}

/* The tape of an update of kind 0 in bfloat16. */
static cm_tape *record(cm_backend *backend) {
    cm_network_config c;
    cm_trainer_options o;
    cm_network *network;
    cm_unroll unroll = {0};
    cm_test_update_kind(0, &c, &o);
    ck_assert_int_eq(cm_network_create(&c, &network), CM_OK);
    cm_trainer_config config = {.network = network, .backend = backend, .options = &o, .unroll = 3};
    config.compute = CM_BF16;
    ck_assert_msg(cm_unroll_record(&config, B, 0, &unroll) == CM_OK, "%s", cm_error_message());
    cm_network_destroy(network);
    return unroll.tape;
}

START_TEST(an_unroll_copies_nothing_but_observations_apart) {
    cm_backend cuda;
    cuda_cpu_open(&cuda);
    cm_tape *unroll = record(&cuda);
    ck_assert_int_eq(copied_apart(unroll), 1);
    cm_tape_destroy(unroll);
    cuda_cpu_close(&cuda);
}
END_TEST

START_TEST(a_plan_of_memory_has_space_for_copies) {
    cm_backend cuda, *measure;
    cuda_cpu_open(&cuda);
    ck_assert_int_eq(cm_measure_open(&cuda, &measure), CM_OK);
    cm_tape *unroll = record(&cuda), *planned = record(measure);
    ck_assert_uint_eq(cm_tape_bytes(planned, CM_MEM_WORK), cm_tape_bytes(unroll, CM_MEM_WORK));
    cm_tape_destroy(unroll);
    cm_tape_destroy(planned);
    cm_backend_close(measure);
    cuda_cpu_close(&cuda);
}
END_TEST

/* ---- writers and readers of a copy ---- */

enum { WIDTH = 16 };

static cm_tape *tape;

static void open_tape(void) { ck_assert_int_eq(cm_tape_create(true, CM_BF16, &tape), CM_OK); }
static void close_tape(void) { cm_tape_destroy(tape); }

static cm_var input(int rows) { return cm_tape_input(tape, CM_F32, 2, (int[]){rows, WIDTH}); }

/* x times a weight [outputs, columns of x] of its own. */
static cm_var layer(cm_var x, int outputs) {
    static size_t offset;
    const int inputs = cm_tape_shape(tape, x)->dim[1];
    const cm_param weight = {
        .ndim = 2, .dim = {outputs, inputs, 1, 1}, .offset = offset, .count = (size_t)outputs * (size_t)inputs};
    offset += weight.count;
    return cm_tape_dense(tape, x, cm_tape_param(tape, &weight), CM_NO_VAR, NULL, CM_ACT_NONE);
}

static const cm_tape_node *last_call(void) { return &tape->forward.node[tape->forward.count - 1]; }

static void finish(void) {
    cm_tape_use_half(tape);
    ck_assert_msg(cm_tape_finish(tape) == CM_OK, "%s", cm_error_message());
}

static const cm_tape_var *var_of(const cm_tape_node *node, int tensor) {
    return node->t[tensor] == CM_NO_VAR ? NULL : &tape->var[node->t[tensor]];
}

START_TEST(parts_of_a_variable_are_parts_of_its_copy) {
    const cm_var y = cm_tape_activation(tape, input(B), CM_ACT_TANH);
    for (int i = 0; i < 2; i++) layer(cm_tape_columns(tape, y, i * WIDTH / 2, WIDTH / 2), 3);
    finish();
    const cm_tape_node *node = tape->forward.node;
    const cm_tape_var *whole = var_of(&node[0], CM_T_activation_half);
    ck_assert_ptr_nonnull(whole);
    for (int i = 0; i < 2; i++) {
        const cm_tape_var *x = var_of(&node[1 + i], CM_T_dense_x);
        ck_assert_int_eq(x->shape.dtype, CM_BF16);
        ck_assert_int_eq(x->shape.dim[1], WIDTH / 2);
        ck_assert_int_eq(x->shape.stride, WIDTH);
        ck_assert_uint_eq(x->offset, whole->offset + (size_t)i * WIDTH);
    }
}
END_TEST

START_TEST(slices_that_begin_between_eighths_are_read_in_float32) {
    layer(cm_tape_columns(tape, cm_tape_activation(tape, input(B), CM_ACT_TANH), 4, 8), 3);
    finish();
    ck_assert_int_eq(var_of(last_call(), CM_T_dense_x)->shape.dtype, CM_F32);
    ck_assert_ptr_null(var_of(last_call(), CM_T_dense_half_x));
}
END_TEST

START_TEST(what_no_call_copies_the_first_layer_that_reads_it_does) {
    const cm_var x = layer(input(B), WIDTH);
    layer(x, 3);
    layer(x, 5);
    finish();
    const cm_tape_node *node = tape->forward.node;
    const cm_tape_var *copy = var_of(&node[1], CM_T_dense_half_x);
    ck_assert_ptr_nonnull(copy);
    ck_assert_int_eq(var_of(&node[1], CM_T_dense_x)->shape.dtype, CM_F32);
    ck_assert_uint_eq(var_of(&node[2], CM_T_dense_x)->offset, copy->offset);
    ck_assert_int_eq(var_of(&node[2], CM_T_dense_x)->shape.dtype, CM_BF16);
}
END_TEST

/* A call that writes rows 0 .. B-1 of both[2 B] or those after them, and a copy of them or none. */
static void write_half(cm_var both, cm_var x, bool second, bool copies) {
    const cm_tensor half = cm_tensor_2d(NULL, CM_F32, B, WIDTH);
    copies ? cm_tape_activation(tape, x, CM_ACT_TANH) : cm_tape_one_hot(tape, x);
    tape->forward.node[tape->forward.count - 1].t[0] =
        cm_tape_view(tape, both, &half, second ? cm_tensor_bytes(&half) : 0, true);
}

START_TEST(all_that_have_written_it_last_must_copy_it) {
    static const struct {
        int calls;
        bool second[3], copies[3];
    } cases[] = {{2, {false, true}, {true, true}},
                 {2, {false, true}, {true, false}},
                 {3, {false, true, true}, {true, true, false}},
                 {3, {false, true, true}, {true, false, true}}};
    const int calls = cases[_i].calls, dim[2] = {2 * B, WIDTH};
    const cm_var both = cm_tape_new(tape, CM_MEM_WORK, CM_F32, 2, dim, false), x = input(B);
    for (int i = 0; i < calls; i++) write_half(both, x, cases[_i].second[i], cases[_i].copies[i]);
    layer(both, 3);
    finish();
    const bool copied = cases[_i].copies[calls - 1];
    ck_assert_int_eq(var_of(last_call(), CM_T_dense_x)->shape.dtype, copied ? CM_BF16 : CM_F32);
    ck_assert_int_eq(var_of(last_call(), CM_T_dense_half_x) == NULL, copied);
    ck_assert_int_eq(var_of(&tape->forward.node[0], CM_T_activation_half) != NULL, copied);
}
END_TEST

START_TEST(others_stay_as_they_are) {
    layer(cm_tape_activation(tape, input(B), CM_ACT_TANH), 3);
    tape->training = _i != 0;
    if (_i == 1) tape->compute = CM_F32;
    finish();
    ck_assert_int_eq(var_of(last_call(), CM_T_dense_x)->shape.dtype, CM_F32);
    ck_assert_ptr_null(var_of(&tape->forward.node[0], CM_T_activation_half));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_copies");
    TCase *updates = tcase_create("updates"), *tapes = tcase_create("tapes");
    tcase_set_timeout(updates, 120);
    tcase_add_loop_test(updates, copies_change_no_bit_of_an_update, 0, 2 * CM_TEST_UPDATE_KINDS);
    tcase_add_loop_test(updates, lanes_change_no_bit_of_an_update, 0, 2 * CM_TEST_UPDATE_KINDS);
    tcase_add_loop_test(updates, planes_that_are_recomputed_change_no_bit_but_for_sums_in_16_bits, 0,
                        2 * (CM_TEST_PLANE_KINDS - 1));
    tcase_add_test(updates, an_unroll_copies_nothing_but_observations_apart);
    tcase_add_test(updates, a_plan_of_memory_has_space_for_copies);
    tcase_add_checked_fixture(tapes, open_tape, close_tape);
    tcase_add_test(tapes, parts_of_a_variable_are_parts_of_its_copy);
    tcase_add_test(tapes, slices_that_begin_between_eighths_are_read_in_float32);
    tcase_add_test(tapes, what_no_call_copies_the_first_layer_that_reads_it_does);
    tcase_add_loop_test(tapes, all_that_have_written_it_last_must_copy_it, 0, 4);
    tcase_add_loop_test(tapes, others_stay_as_they_are, 0, 2);
    suite_add_tcase(suite, updates);
    suite_add_tcase(suite, tapes);
    return cm_test_main(suite);
}
