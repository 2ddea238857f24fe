/* The ends of truncated episodes: taken down, searched, finished. */
#include <string.h>

#include "agent/acting_internal.h"

enum { FEW = 16 };

static size_t observation_size(const cm_actor *a) { return (size_t)a->config.env->spec.observation_size; }
static size_t actions_of(const cm_actor *a) { return (size_t)a->config.env->spec.actions; }
static int few(const cm_acting_ends *ends) { return ends->rows < FEW ? ends->rows : FEW; }

void cm_acting_ends_take(const cm_actor *a, cm_arena *arena, int rows, cm_acting_ends *out) {
    const size_t n = (size_t)rows;
    *out = (cm_acting_ends){.rows = 0};
    if (a->config.env->spec.max_steps == 0) return;
    out->rows = rows;
    out->environment = cm_arena_take(arena, n * sizeof(int32_t));
    out->to_play = cm_arena_take(arena, n * sizeof(int32_t));
    out->keys = cm_arena_take(arena, n * sizeof(cm_key));
    out->steps = cm_arena_take(arena, n * sizeof(uint64_t));
    out->value = cm_arena_take(arena, n * sizeof(float));
    if (a->config.env->def->legal) out->legal = cm_arena_take(arena, n * actions_of(a));
}

cm_status cm_acting_ends_open(const cm_actor *a, cm_acting_ends *ends) {
    if (ends->rows == 0) return CM_OK;
    CM_TRY(cm_agent_planner(a->config.agent, few(ends), true, &ends->few));
    cm_planner_heed(ends->few, a->config.stop);
    return CM_OK;
}

bool cm_acting_ends_expect(cm_acting_ends *ends, int count, cm_planner *shard) {
    const bool are_few = count <= few(ends);
    ends->searcher = are_few ? ends->few : shard;
    return are_few;
}

static float *observation_of(const cm_actor *a, const cm_acting_ends *ends, int row) {
    return cm_planner_observations(ends->searcher) + (size_t)row * observation_size(a);
}

void cm_acting_ends_add(const cm_actor *a, cm_acting_ends *ends, int environment, cm_key key, uint64_t step) {
    const size_t o = observation_size(a);
    const int row = ends->count++;
    void *state = cm_planner_state(ends->searcher, row);
    memcpy(observation_of(a, ends, row), a->rows.observation + (size_t)environment * o, o * sizeof(float));
    if (state) cm_vector_env_get(a->vector, environment, state);
    if (ends->legal) cm_vector_env_rules_legal(a->vector, environment, ends->legal + (size_t)row * actions_of(a));
    ends->environment[row] = environment;
    ends->to_play[row] = a->rows.to_play[environment];
    ends->keys[row] = key;
    ends->steps[row] = step | (uint64_t)1 << 63; /* noise of its own */
}

cm_status cm_acting_ends_begin(cm_acting_ends *ends) {
    const cm_roots roots = {.count = ends->count, .legal = ends->legal, .keys = ends->keys, .steps = ends->steps};
    const cm_search_result result = {.value = ends->value};
    return cm_planner_begin(ends->searcher, &roots, &result);
}

cm_status cm_acting_ends_settle(const cm_actor *a, cm_acting_ends *ends) {
    if (ends->count == 0) return CM_OK;
    CM_TRY(cm_acting_end_search(ends->searcher, &ends->searched));
    for (int row = 0; row < ends->count; row++) {
        const cm_replay_end end = {.observation = observation_of(a, ends, row),
                                   .root_value = ends->value[row],
                                   .to_play = (uint8_t)ends->to_play[row]};
        CM_TRY(cm_replay_finish(a->config.replay, ends->environment[row], &end));
    }
    ends->count = 0;
    return CM_OK;
}
