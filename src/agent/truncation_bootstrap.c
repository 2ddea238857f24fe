/* Truncation bootstraps: the last observations of truncated episodes, searched for their values. */
#include <string.h>

#include "agent/acting_internal.h"

enum { FEW = 16 };

static size_t observation_size(const cm_actor *a) { return (size_t)a->config.env->spec.observation_size; }
static size_t actions_of(const cm_actor *a) { return (size_t)a->config.env->spec.actions; }
static int few(const cm_truncation_bootstraps *b) { return b->rows < FEW ? b->rows : FEW; }

void cm_truncation_bootstraps_alloc(const cm_actor *a, cm_arena *arena, int rows, cm_truncation_bootstraps *out) {
    const size_t n = (size_t)rows;
    *out = (cm_truncation_bootstraps){.rows = 0};
    if (a->config.env->spec.max_steps == 0) return;
    out->rows = rows;
    out->environment = cm_arena_alloc(arena, n * sizeof(int32_t));
    out->to_play = cm_arena_alloc(arena, n * sizeof(int32_t));
    out->keys = cm_arena_alloc(arena, n * sizeof(cm_key));
    out->steps = cm_arena_alloc(arena, n * sizeof(uint64_t));
    out->value = cm_arena_alloc(arena, n * sizeof(float));
    if (a->config.env->def->legal) out->legal = cm_arena_alloc(arena, n * actions_of(a));
}

cm_status cm_truncation_bootstraps_open(const cm_actor *a, cm_truncation_bootstraps *b) {
    if (b->rows == 0) return CM_OK;
    CM_TRY(cm_agent_planner(a->config.agent, few(b), true, &b->few));
    cm_planner_heed(b->few, a->config.stop);
    return CM_OK;
}

bool cm_truncation_bootstraps_expect(cm_truncation_bootstraps *b, int count, cm_planner *shard) {
    const bool are_few = count <= few(b);
    b->searcher = are_few ? b->few : shard;
    return are_few;
}

static float *observation_of(const cm_actor *a, const cm_truncation_bootstraps *b, int row) {
    return cm_planner_observations(b->searcher) + (size_t)row * observation_size(a);
}

void cm_truncation_bootstraps_add(const cm_actor *a, cm_truncation_bootstraps *b, int environment, cm_key key,
                                  uint64_t step) {
    const size_t o = observation_size(a);
    const int row = b->count++;
    void *state = cm_planner_state(b->searcher, row);
    memcpy(observation_of(a, b, row), a->rows.observation + (size_t)environment * o, o * sizeof(float));
    if (state) cm_vector_env_get(a->vector, environment, state);
    if (b->legal) cm_vector_env_rules_legal(a->vector, environment, b->legal + (size_t)row * actions_of(a));
    b->environment[row] = environment;
    b->to_play[row] = a->rows.to_play[environment];
    b->keys[row] = key;
    b->steps[row] = step | (uint64_t)1 << 63; /* noise of its own */
}

cm_status cm_truncation_bootstraps_begin(cm_truncation_bootstraps *b) {
    const cm_roots roots = {.count = b->count, .legal = b->legal, .keys = b->keys, .steps = b->steps};
    const cm_search_result result = {.value = b->value};
    return cm_planner_begin(b->searcher, &roots, &result);
}

cm_status cm_truncation_bootstraps_finish(const cm_actor *a, cm_truncation_bootstraps *b) {
    for (int row = 0; row < b->count; row++) {
        const cm_replay_end end = {
            .observation = observation_of(a, b, row), .root_value = b->value[row], .to_play = (uint8_t)b->to_play[row]};
        CM_TRY(cm_replay_finish(a->config.replay, b->environment[row], &end));
    }
    b->count = 0;
    return CM_OK;
}
