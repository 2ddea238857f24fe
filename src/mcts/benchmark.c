#include "mcts/benchmark.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/rng.h"
#include "mcts/search.h"

enum { STATES = 512, MOST_ACTIONS = 65536, ROUNDS = 5 }; /* STATES: a power of two */

/* A random process on STATES states; the next one is a hash of state and action. */
typedef struct random_model {
    int num_actions;
    uint32_t round;  /* the roots differ from round to round */
    int32_t *states; /* [slots]                              */
    float *logits;   /* [STATES, A]                          */
    float *rewards;  /* [STATES] on entering it              */
    float *values;   /* [STATES]                             */
} random_model;

static int32_t hash(uint32_t a, uint32_t b) {
    uint32_t x = a * 0x9E3779B1u + b * 0x85EBCA6Bu + 0x165667B1u;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    return (int32_t)(x >> 16 & (STATES - 1));
}

static void predict(const random_model *model, int32_t state, int row, cm_model_out *out) {
    size_t n = (size_t)model->num_actions;
    const float *from = model->logits + (size_t)state * n;
    float *to = out->prior_logits + (size_t)row * n;
    for (size_t a = 0; a < n; a++) to[a] = from[a];
    out->value[row] = model->values[state];
}

static cm_status random_root(void *ctx, int n, const int32_t *slots, cm_model_out *out) {
    random_model *model = ctx;
    for (int row = 0; row < n; row++) {
        int32_t state = hash(model->round, (uint32_t)row);
        model->states[slots[row]] = state;
        predict(model, state, row, out);
    }
    return CM_OK;
}

static cm_status random_recurrent(void *ctx, int n, const int32_t *parent_slots, const int32_t *actions,
                                  const int32_t *child_slots, cm_model_out *out) {
    random_model *model = ctx;
    for (int row = 0; row < n; row++) {
        int32_t state = hash((uint32_t)model->states[parent_slots[row]], (uint32_t)actions[row]);
        model->states[child_slots[row]] = state;
        out->reward[row] = model->rewards[state];
        out->discount[row] = 0.997f;
        predict(model, state, row, out);
    }
    return CM_OK;
}

static cm_status fill_model(random_model *model, cm_arena *arena, const cm_tree_benchmark *params, size_t slots) {
    int num_actions = params->num_actions;
    size_t logits = (size_t)STATES * (size_t)num_actions;
    size_t bytes =
        cm_align(slots * sizeof(int32_t)) + cm_align(logits * sizeof(float)) + 2 * cm_align(STATES * sizeof(float));
    CM_TRY(cm_arena_create(arena, bytes, "benchmark model"));
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, 0), 0);
    model->num_actions = num_actions;
    model->round = 0;
    model->states = cm_arena_alloc(arena, slots * sizeof(int32_t));
    model->logits = cm_arena_alloc(arena, logits * sizeof(float));
    model->rewards = cm_arena_alloc(arena, STATES * sizeof(float));
    model->values = cm_arena_alloc(arena, STATES * sizeof(float));
    for (size_t i = 0; i < logits; i++) {
        model->logits[i] = cm_rng_normal(&rng) + (i % (size_t)num_actions == 0 ? params->lead : 0.0f);
    }
    for (int i = 0; i < STATES; i++) {
        model->rewards[i] = 2.0f * cm_rng_uniform(&rng) - 1.0f;
        model->values[i] = 2.0f * cm_rng_uniform(&rng) - 1.0f;
    }
    return CM_OK;
}

/* Sum over the nodes of the last run of their depth, and their number. */
static void add_depths(const cm_search *search, int roots, int slots, double *sum, int64_t *count) {
    for (int b = 0; b < roots; b++) {
        for (int slot = 1; slot < slots; slot++) {
            for (int at = slot; at > 0; at = cm_search_node(search, b, at).parent) *sum += 1.0;
            *count += 1;
        }
    }
}

static cm_status run_rounds(const cm_tree_benchmark *params, cm_search *search, random_model *random, int shard,
                            cm_tree_benchmark_result *result) {
    cm_model model = {
        .ctx = random, .num_actions = params->num_actions, .root = random_root, .recurrent = random_recurrent};
    cm_search_result none = {0};
    double best = 0.0, depth = 0.0, begin = cm_clock_seconds();
    int64_t nodes = 0, simulations = (int64_t)params->batch * params->search.num_simulations;
    for (int round = 0; round < ROUNDS || cm_clock_seconds() - begin < params->seconds; round++) {
        double start = cm_clock_seconds();
        for (int first = 0; first < params->batch; first += shard) {
            cm_roots roots = {.count = params->batch - first < shard ? params->batch - first : shard};
            random->round++;
            CM_TRY(cm_search_run(search, &model, &roots, &none));
            if (round == 0) add_depths(search, roots.count, params->search.num_simulations + 1, &depth, &nodes);
        }
        double seconds = cm_clock_seconds() - start;
        if (round == 1 || (round > 1 && seconds < best)) best = seconds; /* round 0 warms up and counts */
        result->simulations += simulations;
    }
    result->ns_per_simulation = 1e9 * best / (double)simulations;
    result->simulations_per_second = (double)simulations / best;
    result->mean_depth = depth / (double)nodes;
    result->ns_per_edge = result->ns_per_simulation / result->mean_depth;
    return CM_OK;
}

cm_tree_benchmark cm_tree_benchmark_default(void) {
    cm_tree_benchmark params = {
        .search = cm_search_params_default(CM_POLICY_MUZERO), .batch = 256, .num_actions = 2, .seconds = 0.5};
    params.search.num_simulations = 50;
    return params;
}

cm_status cm_mcts_benchmark_tree(const cm_tree_benchmark *params, cm_tree_benchmark_result *result) {
    *result = (cm_tree_benchmark_result){0};
    cm_tree_benchmark all = *params;
    all.search.dirichlet_fraction = 0.0f;
    all.search.gumbel_scale = 0.0f;
    if (all.search.num_simulations < 1) return cm_fail(CM_ERR_INPUT, "benchmark tree: simulations must be 1 or more");
    if (all.num_actions < 1 || all.num_actions > MOST_ACTIONS || all.batch < 1 || all.shard < 0) {
        return cm_fail(CM_ERR_INPUT, "benchmark tree: actions must be 1 to %d, batch 1 or more, shard 0 or more",
                       MOST_ACTIONS);
    }
    int shard = all.shard > 0 ? all.shard : all.batch >= 128 ? 64 : 32;
    if (shard > all.batch) shard = all.batch;
    cm_search *search = NULL;
    cm_arena arena = {0};
    random_model random;
    CM_TRY(cm_search_create(&all.search, shard, all.num_actions, 0, &search));
    cm_status status = fill_model(&random, &arena, &all, (size_t)shard * (size_t)(all.search.num_simulations + 1));
    if (status == CM_OK) status = run_rounds(&all, search, &random, shard, result);
    cm_arena_destroy(&arena);
    cm_search_destroy(search);
    return status;
}
