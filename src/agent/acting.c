#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/acting_internal.h"
#include "core/busy.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/rng.h"
#include "core/trace.h"

/* Environments [first, first + count), whose searches are one run of a planner. Row arrays are [count, ...]. */
struct cm_acting_shard {
    int first, count;
    cm_planner *planner; /* owned */
    cm_key *keys;        /* of noise and moves */
    uint64_t *steps;
    float *temperature, *policy, *value;
    uint8_t *legal, *explored; /* before the step; `legal` NULL if every action always is */
    int32_t *to_play;
    int32_t *played; /* moves whose sub-trees are kept; -1: none */
    bool is_kept;    /* the planner holds sub-trees of the last moves */
    bool env_failed; /* one of its environments did */
    cm_truncation_bootstraps bootstraps;
    /* of the step that runs */
    uint64_t step;
    cm_episode *ended; /* [E] */
    /* in the iteration that runs */
    int64_t simulations;
    double searching; /* waiting for searches, where a device makes them */
    double seconds;   /* of the worker that began with this one */
};

/* ---- memory ---- */

static size_t observation_size(const cm_actor *a) { return (size_t)a->config.env->spec.observation_size; }
static size_t actions_of(const cm_actor *a) { return (size_t)a->config.env->spec.actions; }

static size_t policy_size(const cm_actor *a) {
    return (size_t)cm_policy_size(cm_network_policy(cm_agent_get_config(a->config.agent)->network));
}

static void alloc_rows(cm_actor *a, const cm_env_spec *spec) {
    size_t n = (size_t)a->config.environments, steps = (size_t)a->config.steps;
    a->rows.observation = cm_arena_alloc(&a->arena, n * (size_t)spec->observation_size * sizeof(float));
    if (a->config.env->def->legal) a->rows.legal = cm_arena_alloc(&a->arena, n * (size_t)spec->actions);
    a->rows.to_play = cm_arena_alloc(&a->arena, n * sizeof(int32_t));
    a->rows.reward = cm_arena_alloc(&a->arena, n * sizeof(float));
    a->rows.terminated = cm_arena_alloc(&a->arena, n);
    a->rows.truncated = cm_arena_alloc(&a->arena, n);
    a->action = cm_arena_alloc(&a->arena, n * sizeof(int32_t));
    a->open = cm_arena_alloc(&a->arena, n * sizeof(cm_episode));
    a->ended = cm_arena_alloc(&a->arena, n * steps * sizeof(cm_episode));
    a->recent_return = cm_arena_alloc(&a->arena, CM_RECENT_EPISODES * sizeof(double));
    a->recent_length = cm_arena_alloc(&a->arena, CM_RECENT_EPISODES * sizeof(double));
    a->shards = cm_arena_alloc(&a->arena, (size_t)a->shard_count * sizeof(cm_acting_shard));
}

static void alloc_shard(const cm_actor *a, cm_arena *arena, cm_acting_shard *s, int rows) {
    size_t n = (size_t)rows;
    cm_acting_shard t = {.first = 0};
    t.keys = cm_arena_alloc(arena, n * sizeof(cm_key));
    t.steps = cm_arena_alloc(arena, n * sizeof(uint64_t));
    t.temperature = cm_arena_alloc(arena, n * sizeof(float));
    t.policy = cm_arena_alloc(arena, n * policy_size(a) * sizeof(float));
    t.value = cm_arena_alloc(arena, n * sizeof(float));
    if (a->config.env->def->legal) t.legal = cm_arena_alloc(arena, n * actions_of(a));
    t.explored = cm_arena_alloc(arena, n);
    t.to_play = cm_arena_alloc(arena, n * sizeof(int32_t));
    t.played = cm_arena_alloc(arena, n * sizeof(int32_t));
    cm_truncation_bootstraps_alloc(a, arena, rows, &t.bootstraps);
    if (s) *s = t;
}

static cm_status alloc_memory(cm_actor *a, const cm_env_spec *spec, int shard_rows) {
    cm_arena measure = {.base = NULL, .capacity = SIZE_MAX, .used = 0};
    a->arena = measure;
    alloc_rows(a, spec);
    for (int i = 0; i < a->shard_count; i++) alloc_shard(a, &a->arena, NULL, shard_rows);
    size_t bytes = a->arena.used;
    CM_TRY(cm_arena_create(&a->arena, bytes, "acting"));
    alloc_rows(a, spec);
    for (int i = 0; i < a->shard_count; i++) alloc_shard(a, &a->arena, &a->shards[i], shard_rows);
    return CM_OK;
}

static cm_status open_planners(const cm_actor *a, cm_acting_shard *s) {
    CM_TRY(cm_agent_planner(a->config.agent, s->count, true, &s->planner));
    cm_planner_heed(s->planner, a->config.stop);
    return cm_truncation_bootstraps_open(a, &s->bootstraps);
}

static void close_planners(cm_acting_shard *s) {
    cm_planner_destroy(s->planner);
    cm_planner_destroy(s->bootstraps.few);
    s->planner = s->bootstraps.few = NULL;
}

static cm_status open_shard(cm_actor *a, cm_acting_shard *s, int first, int count) {
    s->first = first;
    s->count = count;
    for (int i = 0; i < count; i++) {
        s->keys[i] = cm_key_make(a->config.seed, CM_RNG_NOISE, a->config.first_environment + (uint64_t)(first + i));
    }
    return open_planners(a, s);
}

static size_t planner_bytes(const cm_actor *a, int shard) {
    const cm_planner_config config = {.search = cm_agent_get_config(a->config.agent)->acting};
    const cm_acting_shard *s = &a->shards[shard];
    return cm_planner_bytes(&config, s->planner) +
           (s->bootstraps.few ? cm_planner_bytes(&config, s->bootstraps.few) : 0);
}

/* The first tells the size of the others: too many are refused before the host has no memory left. */
static cm_status open_shards(cm_actor *a, int rows) {
    for (int i = 0; i < a->shard_count; i++) {
        int first = i * rows, left = a->config.environments - first;
        CM_TRY(open_shard(a, &a->shards[i], first, left < rows ? left : rows));
        if (i == 0 && !a->double_buffers)
            CM_TRY(cm_memory_check((double)(a->shard_count - 1) * (double)planner_bytes(a, 0), "search trees"));
    }
    return CM_OK;
}

/* Where searches are made on a device self-play is double-buffered: two halves, from as many environments on as are
 * worth two searches. */
static int shard_rows(const cm_actor *a) {
    const int count = a->config.environments;
    if (!a->double_buffers) return cm_agent_shard_rows(count, false);
    return a->config.at_once || count < CM_DOUBLE_BUFFERS_FROM ? count : (count + 1) / 2;
}

static cm_status open_actor(cm_actor *a) {
    const cm_actor_config *c = &a->config;
    a->double_buffers = cm_agent_is_on_device(c->agent, true);
    const int rows = shard_rows(a);
    a->shard_count = (c->environments + rows - 1) / rows;
    CM_TRY(alloc_memory(a, &c->env->spec, rows));
    CM_TRY(cm_vector_env_create(c->env, c->environments, c->seed, c->first_environment, &a->vector));
    cm_vector_env_heed(a->vector, c->stop);
    CM_TRY(open_shards(a, rows));
    cm_vector_env_reset(a->vector, 0, c->environments, &a->rows);
    return cm_vector_env_check_begun(a->vector, 0, c->environments);
}

cm_status cm_actor_create(const cm_actor_config *config, cm_actor **out) {
    cm_actor *a = NULL;
    *out = NULL;
    if (config->environments < 1 || config->steps < 1) {
        return cm_fail(CM_ERR_INPUT, "acting needs at least one environment and one step, got %d and %d",
                       config->environments, config->steps);
    }
    CM_TRY(cm_alloc(&a, 1, sizeof *a, "acting"));
    a->config = *config;
    cm_status status = open_actor(a);
    if (status == CM_OK) {
        *out = a;
    } else {
        cm_actor_destroy(a);
    }
    return status;
}

cm_status cm_actor_replan(cm_actor *a) {
    for (int i = 0; i < a->shard_count; i++) {
        close_planners(&a->shards[i]);
        CM_TRY(open_planners(a, &a->shards[i]));
    }
    return CM_OK;
}

void cm_actor_destroy(cm_actor *a) {
    if (!a) return;
    if (a->arena.base) {
        for (int i = 0; i < a->shard_count; i++) close_planners(&a->shards[i]);
    }
    cm_vector_env_destroy(a->vector);
    cm_arena_destroy(&a->arena);
    free(a);
}

/* ---- rows of a shard ---- */

/* Does something with rows first .. end - 1 of a shard, which needs nothing of other rows. */
typedef cm_status (*row_work)(cm_actor *a, cm_acting_shard *s, int first, int end);

typedef struct spread_work {
    cm_actor *actor;
    cm_acting_shard *shard;
    row_work work;
} spread_work;

enum { ROWS_OF_A_TASK = 32 };

static cm_status run_rows(void *context, int task, int worker) {
    const spread_work *w = context;
    const int first = task * ROWS_OF_A_TASK, left = w->shard->count - first;
    (void)worker;
    return w->work(w->actor, w->shard, first, first + (left < ROWS_OF_A_TASK ? left : ROWS_OF_A_TASK));
}

/* All rows: of a shard that has no worker of its own, by all workers. */
static cm_status each_row(cm_actor *a, cm_acting_shard *s, row_work work) {
    spread_work w = {a, s, work};
    if (!a->double_buffers) return work(a, s, 0, s->count);
    return cm_pool_run(a->config.pool, (s->count + ROWS_OF_A_TASK - 1) / ROWS_OF_A_TASK, run_rows, &w);
}

/* The same as a range of a trace. */
static cm_status trace_rows(cm_actor *a, cm_acting_shard *s, const char *name, row_work work) {
    CM_TRACE_BEGIN(name);
    const cm_status status = each_row(a, s, work);
    CM_TRACE_END();
    return status;
}

/* ---- one step of a shard ---- */

/* Copies the state of the shard's environment i to a row of the planner, if it wants states. */
static void show_state(const cm_actor *a, const cm_acting_shard *s, int i, int row) {
    void *state = cm_planner_state(s->planner, row);
    if (state) cm_vector_env_get(a->vector, s->first + i, state);
}

/* What an environment has done wrong. */
static cm_status by_env(cm_acting_shard *s, cm_status status) {
    s->env_failed = status != CM_OK;
    return status;
}

static cm_status fail_observation(const cm_actor *a, int e, const float *observation) {
    int i = 0;
    while (isfinite(observation[i])) i++;
    return cm_fail(
        CM_ERR_NOT_FINITE,
        "%s: instance %d: its observe sets number %d of %zu to %g (step %lld); bound or replace it in the environment",
        a->config.env->spec.name, e, i, observation_size(a), (double)observation[i], (long long)a->open[e].length);
}

/* Nothing that is not finite gets into searches and the replay. */
static cm_status check_observations(const cm_actor *a, const cm_acting_shard *s, int first, int end) {
    const size_t o = observation_size(a);
    for (int e = s->first + first; e < s->first + end; e++) {
        const float *observation = a->rows.observation + (size_t)e * o;
        int wrong = 0;
        for (size_t i = 0; i < o; i++) wrong |= !isfinite(observation[i]);
        if (wrong) return fail_observation(a, e, observation);
    }
    return CM_OK;
}

/* Copies what the environments show before the step: the rows change under it. */
static cm_status look(cm_actor *a, cm_acting_shard *s, int first, int end) {
    const size_t o = observation_size(a), at = (size_t)first, from = (size_t)s->first + at, n = (size_t)(end - first);
    CM_TRY(check_observations(a, s, first, end));
    memcpy(cm_planner_observations(s->planner) + at * o, a->rows.observation + from * o, n * o * sizeof(float));
    for (int i = first; i < end; i++) show_state(a, s, i, i);
    memcpy(s->to_play + at, a->rows.to_play + from, n * sizeof *s->to_play);
    if (s->legal) memcpy(s->legal + at * actions_of(a), a->rows.legal + from * actions_of(a), n * actions_of(a));
    return CM_OK;
}

/* Waits for a search that was begun. */
static cm_status end_search(cm_acting_shard *s, cm_planner *planner) {
    const double began = cm_clock_seconds();
    CM_TRACE_BEGIN("search");
    const cm_status status = cm_planner_end(planner);
    CM_TRACE_END();
    s->searching += cm_clock_seconds() - began;
    s->simulations += cm_planner_simulations(planner);
    return status;
}

static cm_status begin_search(cm_actor *a, cm_acting_shard *s) {
    int threshold = a->config.temperature_threshold;
    for (int i = 0; i < s->count; i++) {
        s->steps[i] = s->step;
        bool late = threshold > 0 && a->open[s->first + i].length >= threshold;
        s->temperature[i] = late ? 0.0f : (float)a->temperature;
    }
    cm_roots roots = {.count = s->count,
                      .legal = s->legal,
                      .keys = s->keys,
                      .steps = s->steps,
                      .is_kept = s->is_kept,
                      .temperature = s->temperature};
    cm_search_result result = {.action_weights = s->policy, .value = s->value, .action = a->action + s->first};
    return cm_planner_begin(s->planner, &roots, &result);
}

/* A uniform legal action of row i. */
static int32_t random_action(const cm_actor *a, const cm_acting_shard *s, int i, cm_rng *rng) {
    size_t actions = actions_of(a);
    if (!s->legal) return (int32_t)cm_rng_below(rng, (uint32_t)actions);
    return cm_rng_pick(rng, s->legal + (size_t)i * actions, (int)actions);
}

static cm_rng random_stream(const cm_actor *a, const cm_acting_shard *s, int i, uint64_t step) {
    const uint64_t number = a->config.first_environment + (uint64_t)(s->first + i);
    return cm_rng_init(cm_key_make(a->config.seed, CM_RNG_EXPLORE, number), step);
}

/* Does a random move begin in environment i at the step? Then *action is what it would be now. */
static bool random_move_begins(const cm_actor *a, const cm_acting_shard *s, int i, uint64_t step, int32_t *action) {
    cm_rng rng = random_stream(a, s, i, step);
    if (cm_rng_uniform_double(&rng) >= a->random_moves) return false;
    *action = random_action(a, s, i, &rng);
    return true;
}

/* Random moves in place of the search's, each repeated for some steps (Dabney et al. 2020, temporally extended
 * epsilon-greedy, with one duration): the newest that began within the last random_move_steps steps. */
static void explore(cm_actor *a, cm_acting_shard *s, int i) {
    s->explored[i] = 0;
    if (!(a->random_moves > 0.0)) return;
    for (int age = 0; age < a->config.random_move_steps && (uint64_t)age <= s->step && !s->explored[i]; age++)
        s->explored[i] = random_move_begins(a, s, i, s->step - (uint64_t)age, &a->action[s->first + i]);
}

/* A move of the first steps. It cuts no returns as exploring does: there is no policy yet that it leaves. */
static void begin_at_random(cm_actor *a, cm_acting_shard *s, int i) {
    cm_rng rng = random_stream(a, s, i, s->step);
    s->explored[i] = 0;
    a->action[s->first + i] = random_action(a, s, i, &rng);
}

static cm_status move(cm_actor *a, cm_acting_shard *s, int first, int end) {
    const bool is_first = s->step < (uint64_t)a->config.random_first_steps;
    for (int i = first; i < end; i++) is_first ? begin_at_random(a, s, i) : explore(a, s, i);
    return cm_vector_env_step(a->vector, s->first + first, end - first, a->action, &a->rows);
}

static cm_status append(cm_actor *a, cm_acting_shard *s, int first, int end) {
    const float *observation = cm_planner_observations(s->planner);
    for (int i = first; i < end; i++) {
        int e = s->first + i;
        cm_replay_step step = {
            .observation = observation + (size_t)i * observation_size(a),
            .legal = s->legal ? s->legal + (size_t)i * actions_of(a) : NULL,
            .policy = s->policy + (size_t)i * policy_size(a),
            .root_value = s->value[i],
            .action = a->action[e],
            .reward = a->rows.reward[e],
            .to_play = (uint8_t)s->to_play[i],
            .explored = s->explored[i] != 0 && a->config.random_move_steps == 1,
        };
        CM_TRY(cm_replay_append(a->config.replay, e, &step));
        a->open[e].total += s->to_play[i] == 0 ? (double)step.reward : -(double)step.reward;
        a->open[e].length++;
    }
    return CM_OK;
}

/* Where the model is learnt, players must alternate; random play before the run need not have met this. */
static cm_status check_turns(const cm_actor *a, const cm_acting_shard *s) {
    if (a->config.env->spec.players < 2 || cm_agent_get_config(a->config.agent)->rules) return CM_OK;
    for (int i = 0; i < s->count; i++) {
        const int e = s->first + i;
        const bool has_ended = a->rows.terminated[e] || a->rows.truncated[e];
        if (has_ended || a->rows.to_play[e] != s->to_play[i]) continue;
        return cm_env_fail_repeat(&a->config.env->spec, s->to_play[i], a->open[e].length);
    }
    return CM_OK;
}

static bool is_cut(const cm_actor *a, int e) { return a->rows.truncated[e] && !a->rows.terminated[e]; }

/* Waits for the truncation bootstraps and finishes their episodes: before their environments append another step. */
static cm_status settle(const cm_actor *a, cm_acting_shard *s) {
    if (s->bootstraps.count == 0) return CM_OK;
    CM_TRY(end_search(s, s->bootstraps.searcher));
    return cm_truncation_bootstraps_finish(a, &s->bootstraps);
}

/* Truncation bootstraps are being searched; if they are many, they are known when this returns. */
static cm_status search_ends(cm_actor *a, cm_acting_shard *s, uint64_t step) {
    int cut = 0;
    for (int i = 0; i < s->count; i++) cut += is_cut(a, s->first + i);
    if (cut == 0) return CM_OK;
    const bool are_few = cm_truncation_bootstraps_expect(&s->bootstraps, cut, s->planner);
    for (int i = 0; i < s->count; i++)
        if (is_cut(a, s->first + i)) cm_truncation_bootstraps_add(a, &s->bootstraps, s->first + i, s->keys[i], step);
    CM_TRY(cm_truncation_bootstraps_begin(&s->bootstraps));
    if (are_few) return CM_OK;
    s->is_kept = false; /* this search takes the place of the trees */
    return settle(a, s);
}

/* A real end; others wait for their value. */
static cm_status finish_episode(const cm_actor *a, int e) {
    const cm_replay_end end = {
        .observation = a->rows.observation + (size_t)e * observation_size(a),
        .terminated = true,
        .to_play = (uint8_t)a->rows.to_play[e],
    };
    return cm_replay_finish(a->config.replay, e, &end);
}

/* Ends episodes. */
static cm_status end_episodes(cm_actor *a, cm_acting_shard *s, int first, int end) {
    for (int i = first; i < end; i++) {
        const int e = s->first + i;
        s->ended[e].length = 0;
        if (!a->rows.terminated[e] && !a->rows.truncated[e]) continue;
        if (a->rows.terminated[e]) CM_TRY(finish_episode(a, e));
        s->ended[e] = a->open[e];
        a->open[e] = (cm_episode){0.0, 0};
        s->played[i] = -1;
    }
    return CM_OK;
}

/* Begins new ones; they are checked before a checkpoint keeps them. */
static cm_status begin_episodes(cm_actor *a, cm_acting_shard *s, int first, int end) {
    cm_vector_env_reset_ended(a->vector, s->first + first, end - first, &a->rows);
    return cm_vector_env_check_begun(a->vector, s->first + first, end - first);
}

/* The planner keeps the trees of episodes that go on. */
static cm_status finish(cm_actor *a, cm_acting_shard *s) {
    memcpy(s->played, a->action + s->first, (size_t)s->count * sizeof *s->played);
    s->is_kept = a->config.reuse_tree;
    CM_TRY(search_ends(a, s, s->step));
    CM_TRY(each_row(a, s, end_episodes));
    CM_TRY(by_env(s, trace_rows(a, s, "environment", begin_episodes)));
    return s->is_kept ? cm_planner_keep(s->planner, s->played) : CM_OK;
}

/* Step t of the iteration up to the search, which is on its way then. */
static cm_status begin_step(cm_actor *a, cm_acting_shard *s, int t) {
    s->step = a->step + (uint64_t)t;
    s->ended = a->ended + (size_t)t * (size_t)a->config.environments;
    CM_TRY(by_env(s, trace_rows(a, s, "observe", look)));
    return begin_search(a, s);
}

static cm_status ask_stop(const cm_actor *a) {
    return cm_stop_asked(a->config.stop) ? cm_fail(CM_ERR_INTERRUPTED, "acting was broken off") : CM_OK;
}

static cm_status end_step(cm_actor *a, cm_acting_shard *s) {
    CM_TRY(settle(a, s));
    CM_TRY(end_search(s, s->planner));
    CM_TRY(by_env(s, trace_rows(a, s, "environment", move)));
    CM_TRY(ask_stop(a)); /* here: whoever has gone on without what hung has the replay for himself */
    CM_TRY(trace_rows(a, s, "append", append));
    cm_busy_count(CM_BUSY_STEPS, s->count);
    CM_TRY(by_env(s, check_turns(a, s)));
    return finish(a, s);
}

/* All steps of some shards: while the searches of one are on their way, another one's environments move. */
static cm_status run_shards(cm_actor *a, cm_acting_shard *shards, int count) {
    for (int i = 0; i < count; i++) {
        shards[i].is_kept = false; /* its values were those of older weights */
        CM_TRY(begin_step(a, &shards[i], 0));
    }
    for (int t = 0; t < a->config.steps; t++) {
        for (int i = 0; i < count; i++) {
            CM_TRY(end_step(a, &shards[i]));
            CM_TRY(t + 1 < a->config.steps ? begin_step(a, &shards[i], t + 1) : settle(a, &shards[i]));
        }
    }
    return CM_OK;
}

static cm_status run_task(void *context, int task, int worker) {
    (void)worker;
    cm_actor *a = context;
    const double began = cm_clock_seconds();
    const cm_status status = run_shards(a, &a->shards[task], a->double_buffers ? a->shard_count : 1);
    a->shards[task].seconds = cm_clock_seconds() - began;
    return status;
}

/* ---- an iteration ---- */

static void count_ended(cm_actor *a) {
    size_t n = (size_t)a->config.steps * (size_t)a->config.environments;
    for (size_t i = 0; i < n; i++) {
        if (a->ended[i].length == 0) continue;
        a->recent_return[a->next] = a->ended[i].total;
        a->recent_length[a->next] = (double)a->ended[i].length;
        a->next = (a->next + 1) % CM_RECENT_EPISODES;
        if (a->recent < CM_RECENT_EPISODES) a->recent++;
        a->episodes++;
    }
}

static void begin_counting(cm_acting_shard *s) {
    s->simulations = 0;
    s->searching = s->seconds = 0.0;
}

static void add_counts(cm_actor *a, const cm_acting_shard *s) {
    a->simulations += s->simulations;
    a->searching += s->searching;
    a->seconds += s->seconds;
}

cm_status cm_actor_run(cm_actor *a, double temperature, double random_moves) {
    CM_TRACE_BEGIN("act");
    a->temperature = temperature;
    a->random_moves = random_moves;
    for (int i = 0; i < a->shard_count; i++) begin_counting(&a->shards[i]);
    cm_status status = a->double_buffers ? run_task(a, 0, 0) : cm_pool_run(a->config.pool, a->shard_count, run_task, a);
    if (status == CM_OK) {
        a->step += (uint64_t)a->config.steps;
        count_ended(a);
        for (int i = 0; i < a->shard_count; i++) add_counts(a, &a->shards[i]);
    }
    CM_TRACE_END();
    return status;
}

const cm_episode *cm_actor_ended(const cm_actor *a, int64_t *count) {
    *count = a ? (int64_t)a->config.steps * a->config.environments : 0;
    return a ? a->ended : NULL;
}

bool cm_actor_env_failed(const cm_actor *a) {
    bool failed = false;
    for (int i = 0; i < a->shard_count; i++) failed = failed || a->shards[i].env_failed;
    return failed;
}

void cm_actor_count(const cm_actor *a, cm_actor_counts *out) {
    out->env_steps = (int64_t)a->step * a->config.environments;
    out->episodes = a->episodes;
    out->simulations = a->simulations;
    out->seconds = a->seconds;
    out->searching = a->searching;
    out->recent = a->recent;
    out->mean_return = out->mean_length = 0.0;
    for (int i = 0; i < a->recent; i++) {
        out->mean_return += a->recent_return[i];
        out->mean_length += a->recent_length[i];
    }
    out->mean_return /= a->recent; /* 0/0: NAN */
    out->mean_length /= a->recent;
}

size_t cm_actor_memory(const cm_actor *a) {
    if (!a) return 0;
    size_t bytes = a->arena.capacity + cm_vector_env_bytes(a->vector);
    for (int i = 0; i < a->shard_count; i++) bytes += planner_bytes(a, i);
    return bytes;
}
