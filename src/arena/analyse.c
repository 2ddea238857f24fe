#include "arena/analyse.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

struct cm_analyser {
    cm_agent *agent;
    const cm_env *env;
    cm_pool *pool;
    int planners, rows;      /* capacity = planners * rows */
    cm_planner **planner;    /* [planners], owned */
    const cm_search **trees; /* [planners] of the last run; NULL: not asked for yet */
    cm_time_rate *rates;     /* [planners] */
    cm_arena arena;          /* of all arrays, owned */
    char *states;            /* [capacity, state_size] */
    char *scratch;           /* [state_size] */
    uint8_t *legal;          /* [capacity, A], like the next ones */
    float *prior, *q;
    int32_t *visits;
    int32_t *action; /* [capacity], like the next ones */
    float *value;
    int count;           /* of the run that goes on */
    int simulations;     /* that it has; 0: all */
    double seconds;      /* that it may take; 0: any time */
    const cm_stop *stop; /* borrowed; NULL: never asked */
};

/* ---- memory ---- */

static void alloc_rows(cm_analyser *a) {
    size_t n = (size_t)(a->planners * a->rows), width = (size_t)a->env->spec.actions;
    a->planner = cm_arena_alloc(&a->arena, (size_t)a->planners * sizeof *a->planner);
    a->trees = cm_arena_alloc(&a->arena, (size_t)a->planners * sizeof *a->trees);
    a->rates = cm_arena_alloc(&a->arena, (size_t)a->planners * sizeof *a->rates);
    a->states = cm_arena_alloc(&a->arena, n * a->env->spec.state_size);
    a->scratch = cm_arena_alloc(&a->arena, a->env->spec.state_size);
    a->legal = cm_arena_alloc(&a->arena, n * width);
    a->prior = cm_arena_alloc(&a->arena, n * width * sizeof(float));
    a->q = cm_arena_alloc(&a->arena, n * width * sizeof(float));
    a->visits = cm_arena_alloc(&a->arena, n * width * sizeof(int32_t));
    a->action = cm_arena_alloc(&a->arena, n * sizeof(int32_t));
    a->value = cm_arena_alloc(&a->arena, n * sizeof(float));
}

static cm_status open_analyser(cm_analyser *a, int positions) {
    int threads = cm_pool_size(a->pool);
    a->rows = cm_agent_planner_rows(a->agent, (positions + threads - 1) / threads);
    a->planners = (positions + a->rows - 1) / a->rows;
    if (a->planners > threads) a->planners = threads;
    a->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_rows(a);
    CM_TRY(cm_arena_create(&a->arena, a->arena.used, "analysis"));
    alloc_rows(a);
    for (int i = 0; i < a->planners; i++) CM_TRY(cm_agent_planner(a->agent, a->rows, false, &a->planner[i]));
    return CM_OK;
}

cm_status cm_analyser_create(cm_agent *agent, const cm_env *env, cm_pool *pool, int positions, cm_analyser **out) {
    cm_analyser *a = NULL;
    *out = NULL;
    if (positions < 1) return cm_fail(CM_ERR_INPUT, "an analysis needs at least 1 position, got %d", positions);
    CM_TRY(cm_env_check_listed(env, "an analysis"));
    CM_TRY(cm_alloc(&a, 1, sizeof *a, "analysis"));
    a->agent = agent, a->env = env, a->pool = pool;
    cm_status status = open_analyser(a, positions);
    if (status == CM_OK) {
        *out = a;
    } else {
        cm_analyser_destroy(a);
    }
    return status;
}

void cm_analyser_destroy(cm_analyser *a) {
    if (!a) return;
    for (int i = 0; a->planner && i < a->planners; i++) cm_planner_destroy(a->planner[i]);
    cm_arena_destroy(&a->arena);
    free(a);
}

int cm_analyser_capacity(const cm_analyser *a) { return a->planners * a->rows; }

void *cm_analyser_state(cm_analyser *a, int i) { return a->states + (size_t)i * a->env->spec.state_size; }

/* ---- searching ---- */

/* Where nothing was searched: as after the end of a game, where what the search made of it is not shown. */
static void clear(cm_analyser *a, int i) {
    size_t width = (size_t)a->env->spec.actions, first = (size_t)i * width;
    memset(a->prior + first, 0, width * sizeof(float));
    memset(a->q + first, 0, width * sizeof(float));
    memset(a->visits + first, 0, width * sizeof(int32_t));
    a->value[i] = 0.0f;
    a->action[i] = CM_NO_ACTION;
}

/* Positions first .. first+count-1 with planner number `task`. */
static cm_status search(cm_analyser *a, int task, int first, int count) {
    cm_planner *planner = a->planner[task];
    const cm_env *env = a->env;
    size_t width = (size_t)env->spec.actions, offset = (size_t)first * width;
    for (int k = 0; k < count; k++) {
        const void *state = cm_analyser_state(a, first + k);
        cm_planner_place(planner, k, env, state);
        cm_env_legal(env, state, a->legal + offset + (size_t)k * width);
    }
    const cm_roots roots = {
        .count = count, .legal = env->def->legal ? a->legal + offset : NULL, .simulations = a->simulations};
    cm_search_result result = {
        .visits = a->visits + offset, .value = a->value + first, .qvalues = a->q + offset, .action = a->action + first};
    const cm_search_params *params = &cm_agent_get_config(a->agent)->evaluation;
    const cm_status status = cm_time_run(&a->rates[task], planner, params, &roots, &result, a->seconds, a->stop);
    if (status != CM_OK && (status != CM_ERR_INTERRUPTED || cm_planner_simulations(planner) == 0)) return status;
    CM_TRY(cm_planner_priors(planner, count, a->prior + offset));
    for (int k = 0; k < count; k++) {
        if (cm_env_ended(cm_analyser_state(a, first + k))) clear(a, first + k);
    }
    return status;
}

void cm_analyser_heed(cm_analyser *a, const cm_stop *stop) {
    a->stop = stop;
    for (int i = 0; i < a->planners; i++) cm_planner_heed(a->planner[i], stop);
}

void cm_analyser_simulations(cm_analyser *a, int simulations) { a->simulations = simulations; }

void cm_analyser_limit(cm_analyser *a, double seconds) { a->seconds = seconds; }

/* Positions of a planner: they are divided evenly, so that none waits while another has all of them. */
static int share_of(const cm_analyser *a) { return (a->count + a->planners - 1) / a->planners; }

static cm_status run_task(void *context, int task, int worker) {
    (void)worker;
    cm_analyser *a = context;
    int share = share_of(a), first = task * share;
    int count = a->count - first < share ? a->count - first : share;
    return count > 0 ? search(a, task, first, count) : CM_OK;
}

cm_status cm_analyser_run(cm_analyser *a, int count) {
    int capacity = cm_analyser_capacity(a);
    if (count < 1 || count > capacity) {
        return cm_fail(CM_ERR_INPUT, "analysis: 1 to %d positions are possible here, got %d", capacity, count);
    }
    a->count = count;
    for (int i = 0; i < count; i++) clear(a, i);
    for (int i = 0; i < a->planners; i++) a->trees[i] = NULL;
    return cm_pool_run(a->pool, a->planners, run_task, a);
}

static int count_drawn(const cm_analyser *a, const float *prior) {
    int drawn = 0;
    if (cm_agent_get_config(a->agent)->draws == 0) return 0;
    for (int action = 0; action < a->env->spec.actions; action++) drawn += prior[action] > 0.0f;
    return drawn;
}

cm_analysis cm_analyser_get(const cm_analyser *a, int i) {
    size_t first = (size_t)i * (size_t)a->env->spec.actions;
    return (cm_analysis){
        .to_play = cm_env_to_play(a->env, a->states + (size_t)i * a->env->spec.state_size),
        .legal = a->legal + first,
        .drawn = count_drawn(a, a->prior + first),
        .prior = a->prior + first,
        .visits = a->visits + first,
        .q = a->q + first,
        .value = a->value[i],
        .action = a->action[i],
    };
}

cm_status cm_analyser_line(cm_analyser *a, int i, int32_t action, int most, cm_variation_move *move, int *count) {
    const int task = i / share_of(a), row = i % share_of(a);
    const int32_t visits = a->visits[(size_t)i * (size_t)a->env->spec.actions + (size_t)action];
    *count = 0;
    if (visits == 0) return CM_OK;
    if (cm_agent_get_config(a->agent)->draws > 0) {
        move[(*count)++] = (cm_variation_move){action, visits};
        return CM_OK;
    }
    if (!a->trees[task]) CM_TRY(cm_planner_trees(a->planner[task], &a->trees[task]));
    memcpy(a->scratch, cm_analyser_state(a, i), a->env->spec.state_size);
    *count = cm_variation(a->trees[task], row, a->env, a->scratch, action, most, move);
    return CM_OK;
}
