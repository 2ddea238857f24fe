/* Tapes and their passes: blocks that move, parts of a backward pass, pools, errors, lines of the log. Gradients:
 * test_tape_gradients.c. */
#include <math.h>

#include "backend/graph.h"
#include "core/log.h"
#include "support/main.h"

/* ---- passes ---- */

START_TEST(a_pass_follows_blocks_that_move_and_gives_the_same_bits) {
    graph *g = make(record_nhwc, true);
    static float moved_input[BLOCK], moved_gradient[BLOCK], first[BLOCK];
    double loss = total_loss(g);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    memcpy(first, g->gradient, sizeof first);
    memcpy(moved_input, g->input, sizeof moved_input);
    memset(g->input, 0, sizeof g->input);
    cm_pass_bind(g->pass, CM_MEM_INPUT, moved_input);
    cm_pass_bind(g->pass, CM_MEM_GRADIENT, moved_gradient);
    ck_assert_double_eq(total_loss(g), loss);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    ck_assert(memcmp(first, moved_gradient, g->table.parameters * sizeof(float)) == 0);
    destroy(g);
}
END_TEST

/* Those of all parameters; nothing is said of the gaps. */
static bool has_gradients(const graph *g, const float *wanted) {
    for (int i = 0; i < g->table.count; i++) {
        const cm_param *p = &g->table.param[i];
        if (!p->state && memcmp(wanted + p->offset, g->gradient + p->offset, p->count * sizeof(float)) != 0)
            return false;
    }
    return true;
}

/* Parts of a backward pass end with each parameter's gradient where the tape says, and not before; together they are
 * the whole. */
static void check_final(void (*record)(graph *g)) {
    graph *g = make(record, true);
    static float whole[BLOCK];
    const int calls = cm_tape_backward_calls(g->tape);
    int earliest = calls;
    (void)total_loss(g);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    memcpy(whole, g->gradient, sizeof whole);
    for (int p = 0; p < g->table.count; p++) {
        const cm_param *row = &g->table.param[p];
        const size_t bytes = row->count * sizeof(float);
        const int after = cm_tape_final_after(g->tape, row->offset, row->count);
        if (row->state) continue;
        ck_assert_int_gt(after, 0);
        earliest = after < earliest ? after : earliest;
        (void)total_loss(g);
        memset(g->gradient, 0x7f, sizeof g->gradient);
        ck_assert_int_eq(cm_pass_backward_part(g->pass, 0, after - 1), CM_OK);
        ck_assert_msg(memcmp(whole + row->offset, g->gradient + row->offset, bytes) != 0, "%s is final before",
                      row->name);
        ck_assert_int_eq(cm_pass_backward_part(g->pass, after - 1, after), CM_OK);
        ck_assert_msg(memcmp(whole + row->offset, g->gradient + row->offset, bytes) == 0, "%s is not final", row->name);
        ck_assert_int_eq(cm_pass_backward_part(g->pass, after, calls), CM_OK);
        ck_assert(has_gradients(g, whole));
    }
    ck_assert_int_lt(earliest, calls);
    destroy(g);
}

START_TEST(gradients_are_final_where_the_tape_says) {
    check_final(record_mlp);
    check_final(record_nhwc);
}
END_TEST

enum { WIDE = 64 };

/* A target next to what learns, with or without a gradient, as of a consistency loss. */
static void record_target(graph *g, bool stops) {
    g->coefficient = input_1d(g);
    cm_var x = input_2d(g, 4), target = x;
    x = cm_tape_dense(g->tape, x, matrix(g, "first", WIDE, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    target = cm_tape_dense(g->tape, target, matrix(g, "target", WIDE, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    target = cm_tape_activation(g->tape, target, CM_ACT_TANH);
    if (stops) target = cm_tape_stop_gradient(g->tape, target);
    add_scalar_loss(g, cm_tape_add(g->tape, x, target, CM_ACT_NONE), WIDE);
}

static void record_stopped(graph *g) { record_target(g, true); }
static void record_learnt(graph *g) { record_target(g, false); }

START_TEST(gradients_of_what_no_loss_depends_on_take_no_memory) {
    enum { SAVED = 2 * B * WIDE * (int)sizeof(float) };
    graph *stopped = make(record_stopped, true), *learnt = make(record_learnt, true);
    const size_t whole = cm_tape_bytes(learnt->tape, CM_MEM_WORK);
    ck_assert_uint_le(cm_tape_bytes(stopped->tape, CM_MEM_WORK) + SAVED, whole);
    ck_assert(memcmp(stopped->parameter, learnt->parameter, sizeof learnt->parameter) == 0);
    ck_assert_double_eq(total_loss(stopped), total_loss(learnt));
    ck_assert_int_eq(cm_pass_backward(stopped->pass), CM_OK);
    ck_assert_int_eq(cm_pass_backward(learnt->pass), CM_OK);
    const cm_param *first = cm_param_table_find(&learnt->table, "first");
    ck_assert(
        memcmp(stopped->gradient + first->offset, learnt->gradient + first->offset, first->count * sizeof(float)) == 0);
    cm_var without = 0;
    while (cm_tape_has_memory(stopped->tape, without)) ck_assert_int_lt(++without, stopped->tape->vars);
    ck_assert_int_eq(cm_pass_read(stopped->pass, without, NULL), CM_ERR_STATE);
    destroy(stopped);
    destroy(learnt);
}
END_TEST

static void record_search_step(graph *g) {
    cm_var rows = actions(g), next = cm_tape_input(g->tape, CM_I32, 1, (int[]){B});
    cm_var pool = cm_tape_pool(g->tape, 8, 4);
    cm_var x = cm_tape_gather_rows(g->tape, pool, rows);
    x = cm_tape_dense(g->tape, x, matrix(g, "weight", 4, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_tape_scatter_rows(g->tape, pool, x, next);
    g->loss[0] = x;
}

START_TEST(states_go_from_slot_to_slot_of_the_pool) {
    graph *g = make(record_search_step, false);
    size_t next = 64 / sizeof(float); /* inputs stand CM_ALIGN bytes apart */
    memcpy(g->input + next, (int32_t[]){5, 7, 6}, B * sizeof(int32_t));
    ck_assert_int_eq(cm_pass_forward(g->pass), CM_OK);
    const int from[B] = {0, 2, 1}, to[B] = {5, 7, 6};
    for (int b = 0; b < B; b++)
        for (int o = 0; o < 4; o++) {
            double want = 0.0;
            for (int i = 0; i < 4; i++) want += (double)g->pool[from[b] * 4 + i] * (double)g->parameter[o * 4 + i];
            ck_assert_double_eq_tol((double)g->pool[to[b] * 4 + o], want, 1e-6);
        }
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_ERR_STATE);
    ck_assert_double_eq(cm_tape_flops(g->tape), 2.0 * B * 4 * 4);
    ck_assert_int_eq(cm_tape_costs(g->tape).calls, 3);
    destroy(g);
}
END_TEST

START_TEST(batch_norm_calls_are_listed_in_order) {
    graph *g = make(record_nhwc, true);
    ck_assert_int_eq(cm_tape_norm_calls(g->tape), 1); /* the fixed one has no statistics of its own */
    const cm_norm_call *call = cm_tape_norm_call(g->tape, 0);
    ck_assert_int_eq(call->channels, 4);
    ck_assert_uint_eq(call->mean, cm_param_table_find(&g->table, "norm.running_mean")->offset * sizeof(float));
    ck_assert_uint_eq(call->variance, cm_param_table_find(&g->table, "norm.running_var")->offset * sizeof(float));
    (void)total_loss(g);
    const float *stats = g->stats + call->stats / sizeof(float);
    for (int c = 0; c < 4; c++) ck_assert(isfinite(stats[c]) && stats[4 + c] > 0.0f);
    destroy(g);
}
END_TEST

/* ---- errors ---- */

static void assert_recording_fails(recorder record, const char *message) {
    graph *g = malloc(sizeof *g);
    ck_assert_ptr_nonnull(g);
    ck_assert_int_eq(build(g, record, true), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), message) != NULL, "got \"%s\"", cm_error_message());
    destroy(g);
}

static void record_wrong_columns(graph *g) {
    cm_var x = input_2d(g, 4);
    ck_assert_int_eq(cm_tape_columns(g->tape, x, 3, 2), CM_NO_VAR);
    cm_var none = cm_tape_columns(g->tape, x, 0, 2); /* the first error is kept, what follows does nothing */
    ck_assert_int_eq(none, CM_NO_VAR);
    ck_assert_int_eq(cm_tape_dense(g->tape, none, x, CM_NO_VAR, NULL, CM_ACT_NONE), CM_NO_VAR);
    ck_assert_int_eq(cm_tape_conv2d(g->tape, none, x, CM_NO_VAR, 1, CM_ACT_NONE), CM_NO_VAR);
    ck_assert_int_eq(cm_tape_add(g->tape, none, x, CM_ACT_NONE), CM_NO_VAR);
    ck_assert_int_eq(cm_tape_minmax(g->tape, none), CM_NO_VAR);
    ck_assert_int_eq(cm_tape_flatten(g->tape, none), CM_NO_VAR);
    ck_assert_int_eq(cm_tape_reshape_nhwc(g->tape, none, 1, 2, 2), CM_NO_VAR);
    ck_assert_int_eq(cm_tape_constant(g->tape, 3, 1.0f), CM_NO_VAR);
}

/* A part has a gradient before the whole has: the order that cm_tape_stack asks for, the other way round. */
static void record_late_part(graph *g) {
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x[2];
    for (int i = 0; i < 2; i++)
        x[i] = cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, i ? "b" : "a", 4, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_losses_of_steps(g, cm_tape_stack(g->tape, x, 2), 2, 4);
    add_scalar_loss(g, x[1], 4);
}

static void record_loss_of_a_part(graph *g) { add_losses_of_a_part(g, NULL, 1); }

static void record_two_losses(graph *g) { add_losses_of_a_part(g, NULL, 2); }

static void record_stacked_view(graph *g) {
    cm_var x[2] = {input_2d(g, 4), input_2d(g, 4)};
    for (int i = 0; i < 2; i++) {
        x[i] = cm_tape_dense(g->tape, x[i], matrix(g, i ? "b" : "a", 4, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
        x[i] = cm_tape_columns(g->tape, x[i], 0, 2);
    }
    ck_assert_int_eq(cm_tape_stack(g->tape, x, 2), CM_NO_VAR);
}

static void record_wrong_part(graph *g) { (void)cm_tape_rows(g->tape, input_1d(g), 1, B); }

static void record_wrong_nhwc(graph *g) { (void)cm_tape_reshape_nhwc(g->tape, input_2d(g, 4), 3, 1, 2); }

static void record_distant_parameters(graph *g) {
    const cm_param *first = param(g, "first", 2, (int[]){2, 3});
    (void)param(g, "between", 2, (int[]){2, 3});
    const cm_param *last = param(g, "last", 2, (int[]){2, 3}), *both[2] = {first, last};
    ck_assert_int_eq(cm_tape_merged(g->tape, both, 2), CM_NO_VAR);
}

static void record_unused_columns(graph *g) {
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var y = cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, "w", 6, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_scalar_loss(g, cm_tape_columns(g->tape, y, 0, 5), 5);
}

static void record_wrong_weight(graph *g) {
    (void)cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, "w", 6, 5), CM_NO_VAR, NULL, CM_ACT_NONE);
}

static void record_many_constants(graph *g) {
    for (int i = 0; i < 1000; i++) (void)cm_tape_constant(g->tape, 2, (float)i);
}

START_TEST(what_cannot_be_recorded_is_named) {
    assert_recording_fails(record_wrong_columns, "columns 3..4 of a variable with 2 dimensions and 4 columns");
    assert_recording_fails(record_wrong_part, "rows 1..3 of a variable with 3 rows");
    assert_recording_fails(record_wrong_nhwc, "a variable of 4 columns cannot be NHWC activations of 3 x 1 x 2");
    assert_recording_fails(record_distant_parameters, "parameters first and last are not neighbours");
    assert_recording_fails(record_unused_columns,
                           "15 of 18 elements of a variable's gradient are written by its parts");
    assert_recording_fails(record_late_part, "12 of 24 elements of a variable have a gradient before a call that reads "
                                             "all of it gives one: record that call last");
    assert_recording_fails(record_loss_of_a_part, "give a loss of a part cm_tape_own_gradient of the part");
    assert_recording_fails(record_two_losses, "two losses read one variable of 12 elements: give the second "
                                              "cm_tape_own_gradient of it");
    assert_recording_fails(record_stacked_view, "2 variables cannot be stacked: views");
    assert_recording_fails(record_wrong_weight, "its second dimension must be 4");
    assert_recording_fails(record_many_constants, "constants on one tape");
}
END_TEST

static char logged[256];

static bool keep_line(void *context, cm_log_level level, const char *line) {
    (void)context, (void)level;
    snprintf(logged, sizeof logged, "%s", line);
    return true;
}

START_TEST(a_pass_that_is_built_is_logged_if_that_is_asked_for) {
    cm_log_set_hook(keep_line, NULL);
    setenv("CUMIND_LOG_PLANS", "0", 1);
    destroy(make(record_relu, false));
    ck_assert_str_eq(logged, "");
    setenv("CUMIND_LOG_PLANS", "1", 1);
    destroy(make(record_relu, false));
    ck_assert_str_eq(logged, "pass on ref: 6 operations forward and 0 backward, the first is dense to float32 [3, 6]");
    cm_log_set_hook(NULL, NULL);
}
END_TEST

START_TEST(an_unfinished_tape_is_not_played) {
    cm_tape *tape;
    cm_pass *pass;
    void *base[CM_MEM_COUNT] = {NULL};
    ck_assert_int_eq(cm_tape_create(false, CM_F32, &tape), CM_OK);
    ck_assert_int_eq(cm_pass_create(tape, NULL, base, &pass), CM_ERR_STATE);
    ck_assert_ptr_null(pass);
    cm_pass_destroy(pass);
    cm_tape_destroy(tape);
    cm_tape_destroy(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/tape");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_pass_follows_blocks_that_move_and_gives_the_same_bits);
    tcase_add_test(tests, gradients_are_final_where_the_tape_says);
    tcase_add_test(tests, gradients_of_what_no_loss_depends_on_take_no_memory);
    tcase_add_test(tests, states_go_from_slot_to_slot_of_the_pool);
    tcase_add_test(tests, batch_norm_calls_are_listed_in_order);
    tcase_add_test(tests, what_cannot_be_recorded_is_named);
    tcase_add_test(tests, a_pass_that_is_built_is_logged_if_that_is_asked_for);
    tcase_add_test(tests, an_unfinished_tape_is_not_played);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
