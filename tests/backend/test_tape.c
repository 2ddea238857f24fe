/* The tape: gradients of whole graphs against differences, views, merged layers, stopped and scaled gradients, errors,
 * passes. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/tape_internal.h"
#include "core/log.h"
#include "core/rng.h"
#include "support/main.h"

enum { B = 3, BLOCK = 4096, PROBES = 6 };

/* A graph with its memory. */
typedef struct graph {
    cm_param_table table;
    float parameter[BLOCK], gradient[BLOCK], state[BLOCK], stats[BLOCK], input[BLOCK], pool[BLOCK];
    cm_tape *tape;
    cm_pass *pass;
    cm_backend *backend;
    cm_stream *stream;
    cm_var loss[8], weight[8]; /* losses [B] and their coefficients */
    int losses;
    cm_var coefficient; /* of most losses */
} graph;

typedef void (*recorder)(graph *g);

static int lanes; /* of the tapes that are made */

static const cm_param *param(graph *g, const char *name, int ndim, const int *dim) {
    cm_param p = {.ndim = ndim};
    snprintf(p.name, sizeof p.name, "%s", name);
    memcpy(p.dim, dim, (size_t)ndim * sizeof *dim);
    p.state = strstr(name, "running") != NULL;
    ck_assert_int_eq(cm_param_table_add(&g->table, &p, NULL), CM_OK);
    return cm_param_table_find(&g->table, name);
}

static cm_var matrix(graph *g, const char *name, int rows, int columns) {
    return cm_tape_param(g->tape, param(g, name, 2, (int[]){rows, columns}));
}

static cm_var vector(graph *g, const char *name, int n) { return cm_tape_param(g->tape, param(g, name, 1, &n)); }

static cm_norm_vars norm_of(graph *g, const char *name, int channels) {
    static const char *const parts[] = {"scale", "shift", "running_mean", "running_var"};
    cm_var v[4];
    for (int i = 0; i < 4; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s.%s", name, parts[i]);
        v[i] = vector(g, full, channels);
    }
    return (cm_norm_vars){.scale = v[0], .shift = v[1], .mean = v[2], .variance = v[3], .residual = CM_NO_VAR};
}

static cm_var input(graph *g, int ndim, const int *dim) { return cm_tape_input(g->tape, CM_F32, ndim, dim); }
static cm_var input_2d(graph *g, int columns) { return input(g, 2, (int[]){B, columns}); }
static cm_var input_1d(graph *g) { return input(g, 1, (int[]){B}); }

/* The first input of every graph: what each action is, in the first B integers of the input block. */
static cm_var actions(graph *g) { return cm_tape_input(g->tape, CM_I32, 1, (int[]){B}); }

static void add_weighted(graph *g, cm_var loss, cm_var weight) {
    g->loss[g->losses] = loss;
    g->weight[g->losses++] = weight;
}

static void add_loss(graph *g, cm_var loss) { add_weighted(g, loss, g->coefficient); }

static void add_scalar_loss(graph *g, cm_var x, int columns) {
    char name[32];
    snprintf(name, sizeof name, "output%d", g->losses);
    cm_var y = cm_tape_dense(g->tape, x, matrix(g, name, 1, columns), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_support scalar = {.size = 1};
    add_loss(g, cm_tape_value_loss(g->tape, y, input_1d(g), g->coefficient, &scalar).loss);
}

static void fill(graph *g) {
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < BLOCK; i++) {
        g->parameter[i] = 0.5f * cm_rng_normal(&rng);
        g->state[i] = 0.5f + cm_rng_uniform(&rng);
        g->input[i] = cm_rng_normal(&rng);
        g->pool[i] = cm_rng_normal(&rng);
    }
    memcpy(g->input, (int32_t[]){0, 2, 1}, B * sizeof(int32_t));
}

static cm_status build(graph *g, recorder record, bool training) {
    memset(g, 0, sizeof *g);
    ck_assert_int_eq(cm_backend_open("ref", &g->backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(g->backend, &g->stream), CM_OK);
    ck_assert_int_eq(cm_tape_create(training, CM_F32, &g->tape), CM_OK);
    g->coefficient = CM_NO_VAR;
    cm_tape_use_lanes(g->tape, lanes);
    record(g);
    fill(g);
    CM_TRY(cm_tape_finish(g->tape));
    ck_assert_uint_le(cm_tape_bytes(g->tape, CM_MEM_INPUT), sizeof g->input);
    ck_assert_uint_le(cm_tape_bytes(g->tape, CM_MEM_STATS), sizeof g->stats);
    void *base[CM_MEM_COUNT] = {
        [CM_MEM_PARAMETER] = g->parameter, [CM_MEM_STATE] = g->state, [CM_MEM_GRADIENT] = g->gradient,
        [CM_MEM_STATS] = g->stats,         [CM_MEM_INPUT] = g->input, [CM_MEM_POOL] = g->pool};
    return cm_pass_create(g->tape, g->stream, base, &g->pass);
}

static void destroy(graph *g) {
    cm_pass_destroy(g->pass);
    cm_tape_destroy(g->tape);
    cm_param_table_destroy(&g->table);
    cm_stream_close(g->stream);
    cm_backend_close(g->backend);
    free(g);
}

static graph *make(recorder record, bool training) {
    graph *g = malloc(sizeof *g);
    ck_assert_ptr_nonnull(g);
    cm_status status = build(g, record, training);
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    return g;
}

/* ---- slopes ---- */

static double total_loss(graph *g) {
    ck_assert_int_eq(cm_pass_forward(g->pass), CM_OK);
    double sum = 0.0;
    for (int i = 0; i < g->losses; i++) {
        const float *coefficient = cm_pass_data(g->pass, g->weight[i]), *loss = cm_pass_data(g->pass, g->loss[i]);
        for (int b = 0; b < B; b++) sum += (double)coefficient[b] * (double)loss[b];
    }
    return sum;
}

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

/* An unrolled step used twice, residuals, a merged layer with two heads. */
static void record_mlp(graph *g) {
    cm_tape *t = g->tape;
    cm_action_input action = {actions(g), CM_ENCODE_ONEHOT, 3};
    g->coefficient = input_1d(g);
    cm_var x = input_2d(g, 5), w = matrix(g, "weight", 8, 8 + 3), bias = vector(g, "bias", 8);
    cm_norm_vars norm = norm_of(g, "norm", 8);
    x = cm_tape_dense(t, x, matrix(g, "first", 8, 5), CM_NO_VAR, NULL, CM_ACT_NONE);
    for (int step = 0; step < 2; step++) {
        cm_var y = cm_tape_dense(t, x, w, bias, &action, CM_ACT_NONE);
        y = cm_tape_layer_norm(t, y, &norm, CM_ACT_GELU_TANH, 1);
        x = cm_tape_minmax(t, cm_tape_add(t, x, y, CM_ACT_NONE));
        x = cm_tape_activation(t, x, CM_ACT_TANH);
    }
    const cm_param *heads[2] = {param(g, "value", 2, (int[]){7, 8}), param(g, "policy", 2, (int[]){3, 8})};
    cm_var merged = cm_tape_dense(t, x, cm_tape_merged(t, heads, 2), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_support support = {-3, 3, 7, true};
    cm_policy_rule rule = {CM_NO_VAR, 0.0f, false};
    add_loss(g, cm_tape_value_loss(t, cm_tape_columns(t, merged, 0, 7), input_1d(g), g->coefficient, &support).loss);
    cm_var target = input_2d(g, 3);
    add_loss(g, cm_tape_policy_loss(t, cm_tape_columns(t, merged, 7, 3), target, g->coefficient, &rule).loss);
    add_scalar_loss(g, x, 8);
}

START_TEST(gradients_of_an_unrolled_mlp_with_merged_heads_are_slopes) { check_slopes(record_mlp); }
END_TEST

/* A loss per step of x [steps B, columns], all of them by one call. */
static void add_losses_of_steps(graph *g, cm_var x, int steps, int columns) {
    char name[32];
    snprintf(name, sizeof name, "output%d", g->losses);
    cm_support scalar = {.size = 1};
    cm_var weights = input(g, 1, (int[]){steps * B}), targets = input(g, 1, (int[]){steps * B});
    cm_var y = cm_tape_dense(g->tape, x, matrix(g, name, 1, columns), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_var loss = cm_tape_value_loss(g->tape, y, targets, weights, &scalar).loss;
    for (int k = 0; k < steps; k++)
        add_weighted(g, cm_tape_rows(g->tape, loss, k * B, B), cm_tape_rows(g->tape, weights, k * B, B));
}

enum { STEPS = 3 };

/* Unrolled steps whose states are stacked: one loss reads all, one those behind the first. */
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

static int in_lane(const graph *g, int lane) {
    int count = 0;
    for (int i = 0; i < g->tape->backward.count; i++) count += g->tape->backward.node[i].lane == lane;
    return count;
}

/* With lanes the heads' calls, and the last of the embedding's, are two each. Those of parameters have lanes in turn.
 */
START_TEST(gradients_of_parameters_have_lanes) {
    lanes = 3;
    graph *g = make(record_stacked, true);
    enum { CALLS = 5, HEADS = 2, FIRST = 1, SHARED = 3, TABLE = 1, BESIDE = HEADS + FIRST + SHARED + TABLE };
    ck_assert_int_eq(cm_tape_backward_calls(g->tape), STEPS * CALLS + HEADS + BESIDE);
    ck_assert_int_eq(in_lane(g, 0), STEPS * CALLS + HEADS);
    ck_assert_int_eq(in_lane(g, 1), 3);
    ck_assert_int_eq(in_lane(g, 2), 2);
    ck_assert_int_eq(in_lane(g, 3), 2);
    destroy(g);
    check_slopes(record_stacked);
    check_slopes(record_mlp);
    lanes = 0;
}
END_TEST

/* A layer of two inputs that lie behind each other. */
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
START_TEST(a_gradient_that_is_added_to_has_no_lane) {
    static const bool order[3] = {true, false, true};
    int waited_for = 0;
    calls_both = order;
    lanes = 3;
    graph *g = make(record_overlapping, true);
    for (int i = 0; i < g->tape->backward.count; i++) {
        const cm_tape_node *call = &g->tape->backward.node[i];
        waited_for += cm_tape_makes_parameters(call) && call->lane == 0;
    }
    ck_assert_int_eq(waited_for, 1);
    destroy(g);
    check_slopes(record_overlapping);
    lanes = 0;
}
END_TEST

/* In the backward pass a's calls come between those of both, or behind one of both, to whose gradient they add. */
START_TEST(gradients_of_layers_that_are_merged_now_and_then_are_slopes) {
    static const bool orders[2][3] = {{true, false, true}, {false, false, true}};
    for (int i = 0; i < 2; i++) {
        calls_both = orders[i];
        check_slopes(record_overlapping);
    }
}
END_TEST

static void record_planes(graph *g) {
    cm_tape *t = g->tape;
    cm_var action = actions(g);
    cm_action_input board = {action, CM_ENCODE_BOARD, 0};
    g->coefficient = input_1d(g);
    cm_var x = input(g, 4, (int[]){B, 5, 4, 2}), shortcut;
    cm_var stem = cm_tape_param(t, param(g, "stem", 4, (int[]){4, 3, 3, 2}));
    x = shortcut = cm_tape_conv2d(t, x, stem, vector(g, "stem.bias", 4), 1, CM_ACT_NONE);
    x = cm_tape_action_encoding(t, x, &board);
    x = cm_tape_conv2d(t, x, cm_tape_param(t, param(g, "conv", 4, (int[]){4, 3, 3, 5})), CM_NO_VAR, 1, CM_ACT_NONE);
    cm_norm_vars first = norm_of(g, "norm", 4), second = norm_of(g, "fixed", 4);
    first.residual = shortcut;
    x = cm_tape_batch_norm(t, x, &first, CM_ACT_NONE);
    x = cm_tape_activation(t, x, CM_ACT_SOFTPLUS);
    x = cm_tape_fixed_norm(t, x, &second, CM_ACT_NONE);
    cm_var flat = cm_tape_flatten(t, x);
    add_scalar_loss(g, flat, 80);
    x = cm_tape_avg_pool(t, cm_tape_reshape_planes(t, flat, 5, 4, 4));
    x = cm_tape_global_mean(t, x);
    x = cm_tape_embedding_add(t, x, matrix(g, "table", 3, 4), action);
    add_scalar_loss(g, x, 4);
    cm_var online = cm_tape_dense(t, x, matrix(g, "predictor", 6, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_loss(g, cm_tape_consistency_loss(t, online, input_2d(g, 6), g->coefficient).loss);
}

/* The first convolution has no gradient at its input either. */
START_TEST(convolutions_have_no_lane) {
    lanes = 3;
    graph *g = make(record_planes, true);
    for (int i = 0; i < g->tape->backward.count; i++) {
        const cm_tape_node *call = &g->tape->backward.node[i];
        ck_assert(call->op != CM_OP_conv2d_backward || call->lane == 0);
    }
    ck_assert_int_gt(in_lane(g, 1), 0);
    destroy(g);
    lanes = 0;
}
END_TEST

START_TEST(gradients_of_convolutions_with_shortcuts_are_slopes) { check_slopes(record_planes); }
END_TEST

static void record_relu(graph *g) {
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, "a", 6, 4), vector(g, "a.bias", 6), NULL, CM_ACT_RELU);
    cm_var y = cm_tape_dense(g->tape, x, matrix(g, "b", 6, 6), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_scalar_loss(g, cm_tape_add(g->tape, x, y, CM_ACT_RELU), 6);
}

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

/* ---- passes ---- */

START_TEST(a_pass_follows_blocks_that_move_and_gives_the_same_bits) {
    graph *g = make(record_planes, true);
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
        ck_assert(memcmp(whole, g->gradient, g->table.parameters * sizeof(float)) == 0);
    }
    ck_assert_int_lt(earliest, calls);
    destroy(g);
}

START_TEST(gradients_are_final_where_the_tape_says) {
    check_final(record_mlp);
    check_final(record_planes);
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
    graph *g = make(record_planes, true);
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
    ck_assert_int_eq(cm_tape_reshape_planes(g->tape, none, 1, 2, 2), CM_NO_VAR);
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

static void record_stacked_view(graph *g) {
    cm_var x[2] = {input_2d(g, 4), input_2d(g, 4)};
    for (int i = 0; i < 2; i++) {
        x[i] = cm_tape_dense(g->tape, x[i], matrix(g, i ? "b" : "a", 4, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
        x[i] = cm_tape_columns(g->tape, x[i], 0, 2);
    }
    ck_assert_int_eq(cm_tape_stack(g->tape, x, 2), CM_NO_VAR);
}

static void record_wrong_part(graph *g) { (void)cm_tape_rows(g->tape, input_1d(g), 1, B); }

static void record_wrong_planes(graph *g) { (void)cm_tape_reshape_planes(g->tape, input_2d(g, 4), 3, 1, 2); }

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
    assert_recording_fails(record_wrong_planes, "a variable of 4 columns cannot be 3 x 1 x 2 planes");
    assert_recording_fails(record_distant_parameters, "parameters first and last are not neighbours");
    assert_recording_fails(record_unused_columns,
                           "15 of 18 elements of a variable's gradient are written by its parts");
    assert_recording_fails(record_late_part, "12 of 24 elements of a variable's gradient are written by its parts");
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
    tcase_add_test(tests, gradients_of_an_unrolled_mlp_with_merged_heads_are_slopes);
    tcase_add_test(tests, gradients_of_stacked_states_are_slopes);
    tcase_add_test(tests, gradients_of_all_steps_are_made_by_one_call);
    tcase_add_test(tests, gradients_of_parameters_have_lanes);
    tcase_add_test(tests, a_gradient_that_is_added_to_has_no_lane);
    tcase_add_test(tests, convolutions_have_no_lane);
    tcase_add_test(tests, gradients_of_a_shared_layer_are_slopes);
    tcase_add_test(tests, gradients_of_a_layer_that_reads_a_variable_twice_are_slopes);
    tcase_add_test(tests, gradients_of_layers_that_are_merged_now_and_then_are_slopes);
    tcase_add_test(tests, gradients_of_convolutions_with_shortcuts_are_slopes);
    tcase_add_test(tests, fused_relus_have_their_slope);
    tcase_add_test(tests, a_scaled_gradient_is_scaled_below_and_not_above);
    tcase_add_test(tests, gradients_go_straight_through_a_one_hot_code);
    tcase_add_test(tests, a_pass_follows_blocks_that_move_and_gives_the_same_bits);
    tcase_add_test(tests, gradients_are_final_where_the_tape_says);
    tcase_add_test(tests, states_go_from_slot_to_slot_of_the_pool);
    tcase_add_test(tests, batch_norm_calls_are_listed_in_order);
    tcase_add_test(tests, what_cannot_be_recorded_is_named);
    tcase_add_test(tests, a_pass_that_is_built_is_logged_if_that_is_asked_for);
    tcase_add_test(tests, an_unfinished_tape_is_not_played);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
