/* Searches of a network's planner, as the tests of their simulations compare them. */
#ifndef TESTS_AGENT_SEARCHED_H
#define TESTS_AGENT_SEARCHED_H

#include <check.h>
#include <math.h>

#include "agent/planner.h"
#include "core/rng.h"
#include "support/infer_bench.h"

enum { SEARCHED_ROOTS = 19, SEARCHED_ACTIONS = 40, SEARCHED_SIMULATIONS = 8 }; /* at most */

/* What a planner of the network is. */
typedef struct search_task {
    cm_policy policy;
    cm_dtype type;
    int roots, simulations, draws;
} search_task;

/* What a search of all roots gives. */
typedef struct searched {
    cm_status status;
    int32_t visits[SEARCHED_ROOTS * SEARCHED_ACTIONS], action[SEARCHED_ROOTS];
    float value[SEARCHED_ROOTS], q[SEARCHED_ROOTS * SEARCHED_ACTIONS];
    float tree[SEARCHED_ROOTS * (SEARCHED_SIMULATIONS + 1)]; /* values of nodes */
} searched;

static inline cm_planner_config searched_config(const infer_bench *bench, const search_task *t) {
    cm_planner_config c = {.network = bench->network.network,
                           .backend = bench->backend,
                           .parameters = (float *)(void *)bench->parameters.block.base,
                           .state = (float *)(void *)bench->state.block.base,
                           .compute = t->type,
                           .search = cm_search_params_default(t->policy),
                           .discount = 0.9f,
                           .draws = t->draws,
                           .rows = t->roots};
    c.search.num_simulations = t->simulations;
    return c;
}

static inline void searched_read_trees(cm_planner *planner, const search_task *t, searched *out) {
    const cm_search *trees;
    ck_assert_int_eq(cm_planner_trees(planner, &trees), CM_OK);
    for (int i = 0; i < t->roots * (t->simulations + 1); i++)
        out->tree[i] = cm_search_node(trees, i / (t->simulations + 1), i % (t->simulations + 1)).value;
}

/* With noise, and masks of some roots. */
static inline void searched_run(const infer_bench *bench, cm_planner *planner, const search_task *t, searched *out) {
    const int actions = cm_network_get_config(bench->network.network)->actions;
    const int observation = cm_network_get_config(bench->network.network)->observation[0];
    cm_key keys[SEARCHED_ROOTS];
    uint8_t legal[SEARCHED_ROOTS * SEARCHED_ACTIONS];
    for (int b = 0; b < t->roots; b++) {
        keys[b] = cm_key_make(3, CM_RNG_NOISE, (uint64_t)b);
        for (int a = 0; a < actions; a++) legal[b * actions + a] = a % (b % 3 + 1) == 0;
    }
    for (int i = 0; i < t->roots * observation; i++) cm_planner_observations(planner)[i] = sinf((float)i);
    const cm_roots roots = {.count = t->roots, .keys = keys, .legal = legal};
    const cm_search_result result = {
        .visits = out->visits, .action = out->action, .value = out->value, .qvalues = out->q};
    out->status = cm_planner_run(planner, &roots, &result);
    if (out->status == CM_OK) searched_read_trees(planner, t, out);
}

#endif
