/* Graphs as the tests of tapes record them: each with its memory, inputs and losses, on ref. */
#ifndef TESTS_BACKEND_GRAPH_H
#define TESTS_BACKEND_GRAPH_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/tape/tape_internal.h"
#include "core/rng.h"

enum { B = 3, BLOCK = 4096 };

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

static int branches; /* of the tapes that are made; 0 at first */

static inline const cm_param *add_param(graph *g, const char *name, int ndim, const int *dim, bool joined) {
    cm_param p = {.ndim = ndim, .joined = joined};
    snprintf(p.name, sizeof p.name, "%s", name);
    memcpy(p.dim, dim, (size_t)ndim * sizeof *dim);
    p.state = strstr(name, "running") != NULL;
    ck_assert_int_eq(cm_param_table_add(&g->table, &p, NULL), CM_OK);
    return cm_param_table_find(&g->table, name);
}

static inline const cm_param *param(graph *g, const char *name, int ndim, const int *dim) {
    return add_param(g, name, ndim, dim, false);
}

static inline cm_var matrix(graph *g, const char *name, int rows, int columns) {
    return cm_tape_param(g->tape, param(g, name, 2, (int[]){rows, columns}));
}

static inline cm_var vector(graph *g, const char *name, int n) { return cm_tape_param(g->tape, param(g, name, 1, &n)); }

static inline cm_norm_vars norm_of(graph *g, const char *name, int channels) {
    static const char *const parts[] = {"scale", "shift", "running_mean", "running_var"};
    cm_var v[4];
    for (int i = 0; i < 4; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s.%s", name, parts[i]);
        v[i] = vector(g, full, channels);
    }
    return (cm_norm_vars){.scale = v[0], .shift = v[1], .mean = v[2], .variance = v[3], .residual = CM_NO_VAR};
}

static inline cm_var input(graph *g, int ndim, const int *dim) { return cm_tape_input(g->tape, CM_F32, ndim, dim); }
static inline cm_var input_2d(graph *g, int columns) { return input(g, 2, (int[]){B, columns}); }
static inline cm_var input_1d(graph *g) { return input(g, 1, (int[]){B}); }

/* The first input of every graph: what each action is, in the first B integers of the input block. */
static inline cm_var actions(graph *g) { return cm_tape_input(g->tape, CM_I32, 1, (int[]){B}); }

static inline void add_weighted(graph *g, cm_var loss, cm_var weight) {
    g->loss[g->losses] = loss;
    g->weight[g->losses++] = weight;
}

static inline void add_loss(graph *g, cm_var loss) { add_weighted(g, loss, g->coefficient); }

static inline void add_scalar_loss(graph *g, cm_var x, int columns) {
    char name[32];
    snprintf(name, sizeof name, "output%d", g->losses);
    cm_var y = cm_tape_dense(g->tape, x, matrix(g, name, 1, columns), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_support scalar = {.size = 1};
    add_loss(g, cm_tape_value_loss(g->tape, y, input_1d(g), g->coefficient, &scalar).loss);
}

static inline void fill(graph *g) {
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < BLOCK; i++) {
        g->parameter[i] = 0.5f * cm_rng_normal(&rng);
        g->state[i] = 0.5f + cm_rng_uniform(&rng);
        g->input[i] = cm_rng_normal(&rng);
        g->pool[i] = cm_rng_normal(&rng);
    }
    memcpy(g->input, (int32_t[]){0, 2, 1}, B * sizeof(int32_t));
}

static inline cm_status build(graph *g, recorder record, bool training) {
    memset(g, 0, sizeof *g);
    ck_assert_int_eq(cm_backend_open("ref", &g->backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(g->backend, &g->stream), CM_OK);
    ck_assert_int_eq(cm_tape_create(training, CM_F32, &g->tape), CM_OK);
    g->coefficient = CM_NO_VAR;
    cm_tape_use_branches(g->tape, branches);
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

static inline void destroy(graph *g) {
    cm_pass_destroy(g->pass);
    cm_tape_destroy(g->tape);
    cm_param_table_destroy(&g->table);
    cm_stream_close(g->stream);
    cm_backend_close(g->backend);
    free(g);
}

static inline graph *make(recorder record, bool training) {
    graph *g = malloc(sizeof *g);
    ck_assert_ptr_nonnull(g);
    cm_status status = build(g, record, training);
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    return g;
}

/* A loss per step of x [steps B, columns], all of them by one call. */
static inline void add_losses_of_steps(graph *g, cm_var x, int steps, int columns) {
    char name[32];
    snprintf(name, sizeof name, "output%d", g->losses);
    cm_support scalar = {.size = 1};
    cm_var weights = input(g, 1, (int[]){steps * B}), targets = input(g, 1, (int[]){steps * B});
    cm_var y = cm_tape_dense(g->tape, x, matrix(g, name, 1, columns), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_var loss = cm_tape_value_loss(g->tape, y, targets, weights, &scalar).loss;
    for (int k = 0; k < steps; k++)
        add_weighted(g, cm_tape_rows(g->tape, loss, k * B, B), cm_tape_rows(g->tape, weights, k * B, B));
}

/* Losses of a part of what a layer reads whole: one of the part as `read` gives it, `losses` of it in all. */
static inline void add_losses_of_a_part(graph *g, cm_var (*read)(cm_tape *tape, cm_var x), int losses) {
    cm_tape *t = g->tape;
    cm_var x[2];
    (void)actions(g);
    g->coefficient = input_1d(g);
    for (int i = 0; i < 2; i++)
        x[i] = cm_tape_dense(t, input_2d(g, 4), matrix(g, i ? "b" : "a", 4, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_var all = cm_tape_stack(t, x, 2);
    for (int i = 0; i < losses; i++)
        add_loss(g, cm_tape_square_loss(t, read ? read(t, x[1]) : x[1], input_2d(g, 4), g->coefficient).loss);
    add_losses_of_steps(g, all, 2, 4);
}

static inline double total_loss(graph *g) {
    ck_assert_int_eq(cm_pass_forward(g->pass), CM_OK);
    double sum = 0.0;
    for (int i = 0; i < g->losses; i++) {
        const float *coefficient = cm_pass_data(g->pass, g->weight[i]), *loss = cm_pass_data(g->pass, g->loss[i]);
        for (int b = 0; b < B; b++) sum += (double)coefficient[b] * (double)loss[b];
    }
    return sum;
}

/* An unrolled step used twice, residuals, a merged layer with two heads. */
static inline void record_mlp(graph *g) {
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
    const cm_param *heads[2] = {param(g, "value", 2, (int[]){7, 8}), add_param(g, "policy", 2, (int[]){3, 8}, true)};
    cm_var merged = cm_tape_dense(t, x, cm_tape_merged(t, heads, 2), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_support support = {-3, 3, 7, true};
    cm_policy_rule rule = {CM_NO_VAR, 0.0f, false};
    add_loss(g, cm_tape_value_loss(t, cm_tape_columns(t, merged, 0, 7), input_1d(g), g->coefficient, &support).loss);
    cm_var target = input_2d(g, 3);
    add_loss(g, cm_tape_policy_loss(t, cm_tape_columns(t, merged, 7, 3), target, g->coefficient, &rule).loss);
    add_scalar_loss(g, x, 8);
}

static inline void record_nhwc(graph *g) {
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
    x = cm_tape_avg_pool(t, cm_tape_reshape_nhwc(t, flat, 5, 4, 4));
    x = cm_tape_global_mean(t, x);
    x = cm_tape_embedding_add(t, x, matrix(g, "table", 3, 4), action);
    add_scalar_loss(g, x, 4);
    cm_var online = cm_tape_dense(t, x, matrix(g, "predictor", 6, 4), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_loss(g, cm_tape_consistency_loss(t, online, input_2d(g, 6), g->coefficient).loss);
}

static inline void record_relu(graph *g) {
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = cm_tape_dense(g->tape, input_2d(g, 4), matrix(g, "a", 6, 4), vector(g, "a.bias", 6), NULL, CM_ACT_RELU);
    cm_var y = cm_tape_dense(g->tape, x, matrix(g, "b", 6, 6), CM_NO_VAR, NULL, CM_ACT_NONE);
    add_scalar_loss(g, cm_tape_add(g->tape, x, y, CM_ACT_RELU), 6);
}

#endif
