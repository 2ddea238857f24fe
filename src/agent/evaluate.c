#include "agent/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rng.h"
#include "core/trace.h"

enum { MOST_STEPS = 100000, MOST_ROWS = 512 };

/* One game being played in row r of a shard. */
typedef struct game {
    int episode; /* -1: the row is idle */
    int64_t steps;
    double total; /* from the agent's view */
} game;

typedef struct shard {
    int rows;
    cm_planner *planner; /* owned */
    char *states;        /* [rows, state_size] */
    game *games;         /* [rows] */
    int *asked;          /* rows whose move the agent decides, in the order of the planner's rows */
    uint8_t *legal;      /* [rows, A]; NULL if every action always is */
    int32_t *action;     /* [rows] */
} shard;

struct cm_evaluator {
    cm_agent *agent;
    const cm_env *env;
    cm_pool *pool;
    int capacity; /* episodes */
    int shard_count;
    shard *shards;    /* [shard_count] */
    double *returns;  /* [capacity] */
    int64_t *lengths; /* [capacity] */
    cm_arena arena;   /* of all arrays, owned */
    int episodes;     /* of the run that goes on */
    uint64_t seed;
};

/* ---- memory ---- */

static void take(cm_evaluator *v, int rows, bool fill) {
    const cm_env_spec *spec = &v->env->spec;
    size_t n = (size_t)rows;
    shard *shards = cm_arena_take(&v->arena, (size_t)v->shard_count * sizeof(shard));
    double *returns = cm_arena_take(&v->arena, (size_t)v->capacity * sizeof(double));
    int64_t *lengths = cm_arena_take(&v->arena, (size_t)v->capacity * sizeof(int64_t));
    for (int i = 0; i < v->shard_count; i++) {
        shard s = {.rows = rows};
        s.states = cm_arena_take(&v->arena, n * spec->state_size);
        s.games = cm_arena_take(&v->arena, n * sizeof(game));
        s.asked = cm_arena_take(&v->arena, n * sizeof(int));
        s.legal = cm_arena_take(&v->arena, n * (size_t)spec->actions);
        s.action = cm_arena_take(&v->arena, n * sizeof(int32_t));
        if (fill) shards[i] = s;
    }
    if (!fill) return;
    v->shards = shards;
    v->returns = returns;
    v->lengths = lengths;
}

static cm_status open_evaluator(cm_evaluator *v) {
    int parallel = v->capacity < MOST_ROWS ? v->capacity : MOST_ROWS;
    int rows = cm_agent_shard_rows(parallel);
    v->shard_count = (parallel + rows - 1) / rows;
    v->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    take(v, rows, false);
    size_t bytes = v->arena.used;
    CM_TRY(cm_arena_create(&v->arena, bytes, "evaluation"));
    take(v, rows, true);
    for (int i = 0; i < v->shard_count; i++) {
        if (!v->env->def->legal) v->shards[i].legal = NULL;
        CM_TRY(cm_agent_planner(v->agent, rows, false, &v->shards[i].planner));
    }
    return CM_OK;
}

cm_status cm_evaluator_create(cm_agent *agent, const cm_env *env, cm_pool *pool, int episodes, cm_evaluator **out) {
    cm_evaluator *v = NULL;
    *out = NULL;
    if (episodes < 1) return cm_fail(CM_ERR_INPUT, "an evaluation needs at least 1 episode, got %d", episodes);
    CM_TRY(cm_alloc(&v, 1, sizeof *v, "evaluation"));
    v->agent = agent, v->env = env, v->pool = pool, v->capacity = episodes;
    cm_status status = open_evaluator(v);
    if (status == CM_OK) {
        *out = v;
    } else {
        cm_evaluator_destroy(v);
    }
    return status;
}

void cm_evaluator_destroy(cm_evaluator *v) {
    if (!v) return;
    if (v->shards) {
        for (int i = 0; i < v->shard_count; i++) cm_planner_destroy(v->shards[i].planner);
    }
    cm_arena_destroy(&v->arena);
    free(v);
}

size_t cm_evaluator_memory(const cm_evaluator *v) {
    cm_planner_config config = {.search = cm_agent_get_config(v->agent)->evaluation};
    size_t bytes = v->arena.capacity;
    for (int i = 0; i < v->shard_count; i++) bytes += cm_planner_bytes(&config, v->shards[i].planner);
    return bytes;
}

/* ---- playing ---- */

static void *state_of(const cm_evaluator *v, const shard *s, int row) {
    return s->states + (size_t)row * v->env->spec.state_size;
}

static bool agent_moves(const cm_evaluator *v, int episode, int to_play) {
    return v->env->spec.players < 2 || to_play == episode % 2;
}

/* Episodes of a shard: number, number + shards, number + 2 shards ... */
static void begin_game(const cm_evaluator *v, shard *s, int row, int *next) {
    game *g = &s->games[row];
    g->episode = -1;
    if (*next >= v->episodes) return;
    *g = (game){.episode = *next, .steps = 0, .total = 0.0};
    *next += v->shard_count;
    cm_env_reset(v->env, state_of(v, s, row), v->seed + (uint64_t)g->episode);
}

static int32_t random_move(const cm_evaluator *v, const shard *s, int row) {
    const game *g = &s->games[row];
    cm_key key = cm_key_make(v->seed, CM_RNG_EVALUATE, (uint64_t)g->episode);
    cm_rng rng = cm_rng_init(key, (uint64_t)g->steps);
    int actions = v->env->spec.actions, legal = 0;
    if (!s->legal) return (int32_t)cm_rng_below(&rng, (uint32_t)actions);
    uint8_t *mask = s->legal + (size_t)row * (size_t)actions;
    cm_env_legal(v->env, state_of(v, s, row), mask);
    for (int k = 0; k < actions; k++) legal += mask[k] != 0;
    int wanted = legal > 0 ? (int)cm_rng_below(&rng, (uint32_t)legal) : 0;
    for (int k = 0; k < actions; k++) {
        if (mask[k] && wanted-- == 0) return k;
    }
    return 0;
}

/* Decides the moves of all games of a shard. */
static cm_status decide(cm_evaluator *v, shard *s) {
    size_t o = (size_t)v->env->spec.observation_size, width = (size_t)v->env->spec.actions;
    int asked = 0;
    for (int row = 0; row < s->rows; row++) {
        if (s->games[row].episode < 0) continue;
        if (!agent_moves(v, s->games[row].episode, cm_env_to_play(v->env, state_of(v, s, row)))) {
            s->action[row] = random_move(v, s, row);
        } else {
            s->asked[asked++] = row;
        }
    }
    if (asked == 0) return CM_OK;
    int32_t chosen[64] = {0};
    for (int k = 0; k < asked; k++) {
        const void *state = state_of(v, s, s->asked[k]);
        cm_env_observe(v->env, state, cm_planner_observations(s->planner) + (size_t)k * o);
        if (s->legal) cm_env_legal(v->env, state, s->legal + (size_t)k * width);
    }
    cm_roots roots = {.count = asked, .legal = s->legal};
    cm_search_result result = {.action = chosen};
    CM_TRY(cm_planner_run(s->planner, &roots, &result));
    for (int k = 0; k < asked; k++) s->action[s->asked[k]] = chosen[k];
    return CM_OK;
}

static cm_status advance(cm_evaluator *v, shard *s, int row, int *next) {
    game *g = &s->games[row];
    void *state = state_of(v, s, row);
    cm_env_outcome outcome;
    bool own = agent_moves(v, g->episode, cm_env_to_play(v->env, state));
    CM_TRY(cm_env_step(v->env, state, s->action[row], &outcome));
    g->total += own ? outcome.reward : -outcome.reward;
    g->steps++;
    if (!outcome.terminated && !outcome.truncated && g->steps < MOST_STEPS) return CM_OK;
    v->returns[g->episode] = g->total;
    v->lengths[g->episode] = g->steps;
    begin_game(v, s, row, next);
    return CM_OK;
}

static cm_status run_shard(void *context, int task, int worker) {
    (void)worker;
    cm_evaluator *v = context;
    shard *s = &v->shards[task];
    int next = task;
    for (int row = 0; row < s->rows; row++) begin_game(v, s, row, &next);
    for (;;) {
        int playing = 0;
        for (int row = 0; row < s->rows; row++) playing += s->games[row].episode >= 0;
        if (playing == 0) return CM_OK;
        CM_TRY(decide(v, s));
        for (int row = 0; row < s->rows; row++) {
            if (s->games[row].episode >= 0) CM_TRY(advance(v, s, row, &next));
        }
    }
}

/* ---- results ---- */

void cm_evaluation_summarise(const double *returns, int n, cm_evaluation *out) {
    *out = (cm_evaluation){.episodes = n, .min = returns[0], .max = returns[0]};
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++) {
        sum += returns[i];
        out->min = fmin(out->min, returns[i]);
        out->max = fmax(out->max, returns[i]);
        out->wins += returns[i] > 0.0;
        out->losses += returns[i] < 0.0;
    }
    out->draws = n - out->wins - out->losses;
    out->mean = sum / n;
    for (int i = 0; i < n; i++) squares += (returns[i] - out->mean) * (returns[i] - out->mean);
    out->std = n > 1 ? sqrt(squares / (n - 1)) : 0.0;
    double half = 1.96 * out->std / sqrt((double)n);
    out->low = out->mean - half;
    out->high = out->mean + half;
}

cm_status cm_evaluator_run(cm_evaluator *v, int episodes, uint64_t seed, double *returns, cm_evaluation *out) {
    if (episodes < 1 || episodes > v->capacity) {
        return cm_fail(CM_ERR_INPUT, "evaluation: 1 to %d episodes are possible here, got %d", v->capacity, episodes);
    }
    CM_TRACE_BEGIN("evaluate");
    v->episodes = episodes;
    v->seed = seed;
    cm_status status = cm_pool_run(v->pool, v->shard_count, run_shard, v);
    CM_TRACE_END();
    CM_TRY(status);
    cm_evaluation_summarise(v->returns, episodes, out);
    for (int i = 0; i < episodes; i++) out->steps += v->lengths[i];
    out->mean_length = (double)out->steps / episodes;
    if (returns) memcpy(returns, v->returns, (size_t)episodes * sizeof *returns);
    return CM_OK;
}
