/* The ends of truncated episodes: taken down, searched beside the next step, finished. */
#include <string.h>

#include "agent/acting_internal.h"

enum { MOST_ENDS = 16 };

static size_t observation_size(const cm_actor *a) { return (size_t)a->config.env->spec.observation_size; }
static size_t actions_of(const cm_actor *a) { return (size_t)a->config.env->spec.actions; }

int cm_acting_ends_rows(const cm_actor *a, int environments) {
    if (a->config.env->spec.max_steps == 0) return 0;
    return environments < MOST_ENDS ? environments : MOST_ENDS;
}

void cm_acting_ends_take(const cm_actor *a, cm_arena *arena, int rows, cm_acting_ends *out) {
    const size_t n = (size_t)rows;
    *out = (cm_acting_ends){.rows = rows};
    if (rows == 0) return;
    out->environment = cm_arena_take(arena, n * sizeof(int32_t));
    out->to_play = cm_arena_take(arena, n * sizeof(int32_t));
    out->keys = cm_arena_take(arena, n * sizeof(cm_key));
    out->steps = cm_arena_take(arena, n * sizeof(uint64_t));
    out->value = cm_arena_take(arena, n * sizeof(float));
    if (a->config.env->def->legal) out->legal = cm_arena_take(arena, n * actions_of(a));
}

cm_status cm_acting_ends_open(const cm_actor *a, cm_acting_ends *ends) {
    return ends->rows > 0 ? cm_agent_planner(a->config.agent, ends->rows, true, &ends->planner) : CM_OK;
}

static float *observation_of(const cm_actor *a, const cm_acting_ends *ends, int row) {
    return cm_planner_observations(ends->planner) + (size_t)row * observation_size(a);
}

cm_status cm_acting_ends_add(cm_actor *a, cm_acting_ends *ends, int environment, cm_key key, uint64_t step) {
    if (ends->count == ends->rows) CM_TRY(cm_acting_ends_settle(a, ends));
    const size_t o = observation_size(a);
    const int row = ends->count++;
    void *state = cm_planner_state(ends->planner, row);
    memcpy(observation_of(a, ends, row), a->rows.observation + (size_t)environment * o, o * sizeof(float));
    if (state) cm_vector_env_get(a->vector, environment, state);
    if (ends->legal) cm_vector_env_rules_legal(a->vector, environment, ends->legal + (size_t)row * actions_of(a));
    ends->environment[row] = environment;
    ends->to_play[row] = a->rows.to_play[environment];
    ends->keys[row] = key;
    ends->steps[row] = step | (uint64_t)1 << 63; /* noise of its own */
    return CM_OK;
}

cm_status cm_acting_ends_begin(cm_acting_ends *ends) {
    if (ends->count == 0) return CM_OK;
    const cm_roots roots = {.count = ends->count, .legal = ends->legal, .keys = ends->keys, .steps = ends->steps};
    const cm_search_result result = {.value = ends->value};
    ends->is_begun = true;
    return cm_planner_begin(ends->planner, &roots, &result);
}

cm_status cm_acting_ends_settle(cm_actor *a, cm_acting_ends *ends) {
    if (ends->count == 0) return CM_OK;
    if (!ends->is_begun) CM_TRY(cm_acting_ends_begin(ends));
    ends->is_begun = false;
    CM_TRY(cm_acting_end_search(ends->planner, &ends->searched));
    for (int row = 0; row < ends->count; row++) {
        const cm_replay_end end = {.observation = observation_of(a, ends, row),
                                   .root_value = ends->value[row],
                                   .to_play = (uint8_t)ends->to_play[row]};
        CM_TRY(cm_replay_finish(a->config.replay, ends->environment[row], &end));
    }
    ends->count = 0;
    return CM_OK;
}
