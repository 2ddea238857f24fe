/* Gradients of whole graphs that a tape makes, against differences: merged layers, views, gradients that one call makes
 * for all steps, that have branches, that are stopped or scaled. */
#include <math.h>

#include "backend/graph.h"
#include "support/main.h"

enum { PROBES = 6 };

static double slope(graph *g, float *x, double step) {
    float keep = *x, above = (float)((double)keep + step), below = (float)((double)keep - step);
    *x = above;
    double high = total_loss(g);
    *x = below;
    double low = total_loss(g);
    *x = keep;
    return (high - low) / ((double)above - (double)below);
}

static void check_slopes(recorder record) {
    graph *g = make(record, true);
    for (int i = 0; i < BLOCK; i++) g->gradient[i] = NAN; /* must be overwritten, not added to */
    (void)total_loss(g);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    for (int p = 0; p < g->table.count; p++) {
        const cm_param *row = &g->table.param[p];
        if (row->state) continue;
        for (size_t k = 0; k < PROBES && k < row->count; k++) {
            size_t at = row->offset + k * row->count / PROBES % row->count;
            double near = slope(g, &g->parameter[at], 0x1p-8), far = slope(g, &g->parameter[at], 0x1p-7);
            double want = (4.0 * near - far) / 3.0, got = (double)g->gradient[at];
            ck_assert_msg(fabs(got - want) <= 3e-3 * (1.0 + fabs(want)) + 3.0 * fabs(near - far),
                          "%s[%zu]: got %.6g, differences give %.6g", row->name, at - row->offset, got, want);
        }
    }
    destroy(g);
}

START_TEST(gradients_of_an_unrolled_mlp_with_merged_heads_are_slopes) { check_slopes(record_mlp); }
END_TEST

enum { STEPS = 3 };

/* Unrolled steps whose states are stacked: one loss reads all, one those after the first. */
static void record_stacked(graph *g) {
    cm_tape *t = g->tape;
    cm_var action = actions(g), state[STEPS + 1];
    g->coefficient = input_1d(g);
    cm_var x = input_2d(g, 5), w = matrix(g, "weight", 8, 8), bias = vector(g, "bias", 8),
           table = matrix(g, "table", 3, 8);
    cm_norm_vars norm = norm_of(g, "norm", 8);
    cm_var second = matrix(g, "second", 8, 8);
    state[0] = cm_tape_dense(t, x, matrix(g, "first", 8, 5), CM_NO_VAR, NULL, CM_ACT_NONE);
    for (int k = 0; k < STEPS; k++) {
        cm_var y = cm_tape_dense(t, state[k], w, bias, NULL, CM_ACT_NONE);
        y = cm_tape_dense(t, cm_tape_embedding_add(t, y, table, action), second, CM_NO_VAR, NULL, CM_ACT_NONE);
        state[k + 1] = cm_tape_minmax(t, cm_tape_layer_norm(t, y, &norm, CM_ACT_GELU_TANH, 1));
    }
    cm_var all = cm_tape_stack(t, state, STEPS + 1);
    add_losses_of_steps(g, cm_tape_rows(t, all, B, STEPS * B), STEPS, 8);
    add_losses_of_steps(g, all, STEPS + 1, 8);
}

START_TEST(gradients_of_stacked_states_are_slopes) { check_slopes(record_stacked); }
END_TEST

/* Per step the gradients at the inputs of five calls; those of the heads and of the first layer; one call for each
 * parameter of the steps. The embedding's stay where they are: all steps read one input of actions. */
START_TEST(gradients_of_all_steps_are_made_by_one_call) {
    graph *g = make(record_stacked, true);
    enum { CALLS = 5, HEADS = 2, FIRST = 1, SHARED = 3 };
    ck_assert_int_eq(cm_tape_backward_calls(g->tape), STEPS * CALLS + HEADS + FIRST + SHARED);
    destroy(g);
}
END_TEST

static void record_losses_of_a_part(graph *g) { add_losses_of_a_part(g, cm_tape_own_gradient, 2); }

START_TEST(gradients_of_what_losses_and_layers_read_are_slopes) { check_slopes(record_losses_of_a_part); }
END_TEST

static int in_branch(const graph *g, int branch) {
    int count = 0;
    for (int i = 0; i < g->tape->backward.count; i++) count += g->tape->backward.node[i].branch == branch;
    return count;
}

/* Three heads of a layer each, with their losses: two of what the first layer makes, one of what comes of it. */
static void record_heads(graph *g) {
    static const char *const names[3] = {"policy", "value", "reward"};
    const cm_support support = {-2, 2, 5, true};
    cm_tape *t = g->tape;
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = cm_tape_dense(t, input_2d(g, 5), matrix(g, "first", 4, 5), CM_NO_VAR, NULL, CM_ACT_RELU);
    for (int i = 0; i < 3; i++) {
        if (i == 2) x = cm_tape_activation(t, x, CM_ACT_TANH);
        cm_var y = cm_tape_dense(t, x, matrix(g, names[i], support.size, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
        add_loss(g, cm_tape_value_loss(t, y, input_1d(g), g->coefficient, &support).loss);
    }
}

/* What several read is in order, and so is the last head; of one branch every second of the others would be, too. */
START_TEST(heads_but_the_last_have_branches) {
    static const int want[][8] = {{0, 2, 2, 1, 1, 0, 0, 0}, {0, 0, 0, 1, 1, 0, 0, 0}, {0}};
    static const int of[] = {3, 1, 0};
    for (int k = 0; k < 3; k++) {
        branches = of[k];
        graph *g = make(record_heads, true);
        const cm_tape_list *list = &g->tape->forward;
        ck_assert_int_eq(list->count, 8);
        for (int i = 0; i < list->count; i++) ck_assert_int_eq(list->node[i].branch, want[k][i]);
        destroy(g);
        check_slopes(record_heads);
    }
}
END_TEST

/* With branches the heads' calls, and the last of the embedding's, are two each. Those of parameters have branches in
 * turn.
 */
START_TEST(gradients_of_parameters_have_branches) {
    branches = 3;
    graph *g = make(record_stacked, true);
    enum { CALLS = 5, HEADS = 2, FIRST = 1, SHARED = 3, TABLE = 1, ONCE = HEADS + FIRST + SHARED + TABLE };
    ck_assert_int_eq(cm_tape_backward_calls(g->tape), STEPS * CALLS + HEADS + ONCE);
    ck_assert_int_eq(in_branch(g, 0), STEPS * CALLS + HEADS);
    ck_assert_int_eq(in_branch(g, 1), 3);
    ck_assert_int_eq(in_branch(g, 2), 2);
    ck_assert_int_eq(in_branch(g, 3), 2);
    destroy(g);
    check_slopes(record_stacked);
    check_slopes(record_mlp);
    branches = 0;
}
END_TEST

/* A layer of two inputs that lie after each other. */
static void record_shared_layer(graph *g) {
    cm_tape *t = g->tape;
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = input(g, 2, (int[]){2 * B, 5}), w = matrix(g, "layer", 4, 5), bias = vector(g, "bias", 4);
    for (int k = 0; k < 2; k++) {
        cm_var y = cm_tape_dense(t, cm_tape_rows(t, x, k * B, B), w, bias, NULL, CM_ACT_RELU);
        add_scalar_loss(g, cm_tape_activation(t, y, CM_ACT_SOFTPLUS), 4);
    }
}

/* Twice a head, an activation and a relu; nothing is left of the calls themselves but that for both. */
START_TEST(gradients_of_a_shared_layer_are_slopes) {
    check_slopes(record_shared_layer);
    graph *g = make(record_shared_layer, true);
    ck_assert_int_eq(cm_tape_backward_calls(g->tape), 2 * 3 + 1);
    destroy(g);
}
END_TEST

/* One layer that reads one variable twice: there is no order for its rows. */
static void record_same_input(graph *g) {
    cm_tape *t = g->tape;
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = cm_tape_dense(t, input_2d(g, 5), matrix(g, "first", 4, 5), CM_NO_VAR, NULL, CM_ACT_NONE), y[2];
    cm_var w = matrix(g, "twice", 4, 4);
    for (int i = 0; i < 2; i++)
        y[i] =
            cm_tape_activation(t, cm_tape_dense(t, x, w, CM_NO_VAR, NULL, CM_ACT_NONE), i ? CM_ACT_TANH : CM_ACT_ELU);
    add_scalar_loss(g, cm_tape_add(t, y[0], y[1], CM_ACT_NONE), 4);
}

START_TEST(gradients_of_a_layer_that_reads_a_variable_twice_are_slopes) { check_slopes(record_same_input); }
END_TEST

/* Layers a and b, called three times: both by one call, or a by itself. */
static const bool *calls_both;

static void record_overlapping(graph *g) {
    cm_tape *t = g->tape;
    (void)actions(g);
    g->coefficient = input_1d(g);
    const cm_param *both[2] = {param(g, "a", 2, (int[]){4, 4}), param(g, "b", 2, (int[]){4, 4})};
    cm_var x = cm_tape_dense(t, input_2d(g, 5), matrix(g, "first", 4, 5), CM_NO_VAR, NULL, CM_ACT_NONE);
    for (int k = 0; k < 3; k++) {
        cm_var w = calls_both[k] ? cm_tape_merged(t, both, 2) : cm_tape_param(t, both[0]);
        cm_var y = cm_tape_dense(t, x, w, CM_NO_VAR, NULL, CM_ACT_NONE);
        if (calls_both[k]) add_scalar_loss(g, cm_tape_columns(t, y, 4, 4), 4);
        x = cm_tape_activation(t, calls_both[k] ? cm_tape_columns(t, y, 0, 4) : y, CM_ACT_TANH);
    }
    add_scalar_loss(g, x, 4);
}

/* What a's own call gives to its gradient is added to by the last call of both, which nothing follows. */
START_TEST(a_gradient_that_is_added_to_has_no_branch) {
    static const bool order[3] = {true, false, true};
    int waited_for = 0;
    calls_both = order;
    branches = 3;
    graph *g = make(record_overlapping, true);
    for (int i = 0; i < g->tape->backward.count; i++) {
        const cm_tape_node *call = &g->tape->backward.node[i];
        waited_for += cm_tape_makes_parameters(call) && call->branch == 0;
    }
    ck_assert_int_eq(waited_for, 1);
    destroy(g);
    check_slopes(record_overlapping);
    branches = 0;
}
END_TEST

/* In the backward pass a's calls come between those of both, or after one of both, to whose gradient they add. */
START_TEST(gradients_of_layers_that_are_merged_now_and_then_are_slopes) {
    static const bool orders[2][3] = {{true, false, true}, {false, false, true}};
    for (int i = 0; i < 2; i++) {
        calls_both = orders[i];
        check_slopes(record_overlapping);
    }
}
END_TEST

/* The first convolution has no gradient at its input either. */
START_TEST(convolutions_have_no_branch) {
    branches = 3;
    graph *g = make(record_nhwc, true);
    for (int i = 0; i < g->tape->backward.count; i++) {
        const cm_tape_node *call = &g->tape->backward.node[i];
        ck_assert(call->op != CM_OP_conv2d_backward || call->branch == 0);
    }
    ck_assert_int_gt(in_branch(g, 1), 0);
    destroy(g);
    branches = 0;
}
END_TEST

START_TEST(gradients_of_convolutions_with_shortcuts_are_slopes) { check_slopes(record_nhwc); }
END_TEST

START_TEST(fused_relus_have_their_slope) { check_slopes(record_relu); }
END_TEST

/* ---- gradients that are stopped or scaled ---- */

static float gradient_scale = 1.0f;
static bool stopped;

static void record_scaled(graph *g) {
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, "below", 5, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    x = stopped ? cm_tape_stop_gradient(g->tape, x) : cm_tape_scale_gradient(g->tape, x, gradient_scale);
    x = cm_tape_dense(g->tape, x, matrix(g, "above", 5, 5), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_scalar_loss(g, x, 5);
}

static void gradients(float scale, bool stop, float *below, float *above) {
    gradient_scale = scale, stopped = stop;
    graph *g = make(record_scaled, true);
    (void)total_loss(g);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    memcpy(below, g->gradient + cm_param_table_find(&g->table, "below")->offset, 20 * sizeof(float));
    memcpy(above, g->gradient + cm_param_table_find(&g->table, "above")->offset, 25 * sizeof(float));
    destroy(g);
}

START_TEST(a_scaled_gradient_is_scaled_below_and_not_above) {
    float below[3][20], above[3][25];
    gradients(1.0f, false, below[0], above[0]);
    gradients(0.5f, false, below[1], above[1]);
    gradients(1.0f, true, below[2], above[2]);
    for (int i = 0; i < 20; i++) {
        ck_assert_float_eq(below[1][i], 0.5f * below[0][i]);
        ck_assert_float_ne(below[0][i], 0.0f);
        ck_assert_float_eq(below[2][i], 0.0f); /* stopped: nothing was written */
    }
    for (int k = 1; k < 3; k++) ck_assert(memcmp(above[0], above[k], sizeof above[0]) == 0);
}
END_TEST

/* A code that a loss above reads, and that its own logits are drawn to. */
static void record_code(graph *g) {
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, "below", 5, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_var code = cm_tape_one_hot(g->tape, x);
    add_scalar_loss(g, code, 5);
    add_loss(g, cm_tape_square_loss(g->tape, x, code, g->coefficient).loss);
}

START_TEST(gradients_go_straight_through_a_one_hot_code) {
    graph *g = make(record_code, true);
    const float *coefficient = g->input + 16, *in = g->input + 32, *target = g->input + 48; /* CM_ALIGN bytes apart */
    const float *below = g->parameter, *above = g->parameter + cm_param_table_find(&g->table, "output0")->offset;
    double want[5][4] = {{0.0}}, loss = 0.0;
    for (int b = 0; b < B; b++) {
        double x[5], c = (double)coefficient[b];
        int best = 0;
        for (int o = 0; o < 5; o++) {
            x[o] = 0.0;
            for (int i = 0; i < 4; i++) x[o] += (double)below[o * 4 + i] * (double)in[b * 4 + i];
            if (x[o] > x[best]) best = o;
        }
        double off = (double)above[best] - (double)target[b];
        loss += c * off * off;
        for (int o = 0; o < 5; o++) {
            double from_code = x[o] - (o == best), dx = 2.0 * off * (double)above[o] + 2.0 / 5.0 * from_code;
            loss += c * from_code * from_code / 5.0;
            for (int i = 0; i < 4; i++) want[o][i] += c * dx * (double)in[b * 4 + i];
        }
    }
    ck_assert_double_eq_tol(total_loss(g), loss, 1e-5);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    for (int k = 0; k < 20; k++) ck_assert_double_eq_tol((double)g->gradient[k], want[k / 4][k % 4], 1e-5);
    destroy(g);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/tape_gradients");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, gradients_of_an_unrolled_mlp_with_merged_heads_are_slopes);
    tcase_add_test(tests, gradients_of_stacked_states_are_slopes);
    tcase_add_test(tests, gradients_of_what_losses_and_layers_read_are_slopes);
    tcase_add_test(tests, gradients_of_all_steps_are_made_by_one_call);
    tcase_add_test(tests, gradients_of_parameters_have_branches);
    tcase_add_test(tests, heads_but_the_last_have_branches);
    tcase_add_test(tests, a_gradient_that_is_added_to_has_no_branch);
    tcase_add_test(tests, convolutions_have_no_branch);
    tcase_add_test(tests, gradients_of_a_shared_layer_are_slopes);
    tcase_add_test(tests, gradients_of_a_layer_that_reads_a_variable_twice_are_slopes);
    tcase_add_test(tests, gradients_of_layers_that_are_merged_now_and_then_are_slopes);
    tcase_add_test(tests, gradients_of_convolutions_with_shortcuts_are_slopes);
    tcase_add_test(tests, fused_relus_have_their_slope);
    tcase_add_test(tests, a_scaled_gradient_is_scaled_below_and_not_above);
    tcase_add_test(tests, gradients_go_straight_through_a_one_hot_code);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
