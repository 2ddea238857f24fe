#include "cases/env.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { LONGEST = 1 << 20 }; /* numbers of one list */

typedef struct walk {
    const cm_env *env;
    const char *name;
    int item; /* game or episode */
    cm_env_case_report *report;
    void *state, *clone; /* [state_size] */
    float *observation;  /* [observation_size] */
    int32_t *cells;      /* [cells] */
    uint8_t *mask;       /* [A] */
    cm_arena arena;      /* of the five above */
} walk;

bool cm_env_case_is(const cm_json *root) {
    const char *format = cm_json_string(cm_json_get(root, "format"));
    return format && strcmp(format, "cumind-environment-case-1") == 0;
}

static CM_PRINTF(3, 4) void differ(walk *w, int step, const char *format, ...) {
    cm_env_case_report *report = w->report;
    if (!report->ok) return;
    report->ok = false;
    int used = snprintf(report->message, sizeof report->message, "%.160s: %s %d, step %d: ", w->name,
                        report->games ? "game" : "episode", w->item, step);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->message + used, sizeof report->message - (size_t)used, format, arguments);
    va_end(arguments);
}

static cm_status need_numbers(const cm_json *object, const char *key, const cm_json **node, size_t *count) {
    CM_TRY(cm_json_need(object, key, CM_JSON_ARRAY, node));
    *count = cm_json_count_numbers(*node);
    if (*count <= LONGEST) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: has %zu numbers, at most %d are read", key, *count, LONGEST);
}

/* Arrays of any length, owned by the caller. */
static cm_status read_ints(const cm_json *object, const char *key, int32_t **out, size_t *count) {
    const cm_json *node;
    CM_TRY(need_numbers(object, key, &node, count));
    CM_TRY(cm_alloc(out, *count + 1, sizeof **out, key));
    return cm_json_ints(node, key, *count, INT32_MIN, INT32_MAX, *out);
}

static cm_status read_doubles(const cm_json *object, const char *key, double **out, size_t *count) {
    const cm_json *node;
    CM_TRY(need_numbers(object, key, &node, count));
    CM_TRY(cm_alloc(out, *count + 1, sizeof **out, key));
    return cm_json_doubles(node, key, *count, *out);
}

/* ---- control runs ---- */

/* How long, and how exactly after step 99, runs of an environment are compared (before: 1e-6). */
static const struct {
    const char *prefix;
    double late;
    int last;
} tolerances[] = {{"CartPole", 1e-6, 199},
                  {"Acrobot", 1e-5, LONGEST},
                  {"Pendulum", 1e-5, LONGEST},
                  {"MountainCarContinuous", 1e-5, LONGEST},
                  {"", 1e-6, LONGEST}};

static int tolerance_row(const char *name) {
    int row = 0;
    while (strncmp(name, tolerances[row].prefix, strlen(tolerances[row].prefix)) != 0) row++;
    return row;
}

typedef struct run {
    double *reset, *observations, *rewards;
    double *actions;   /* [steps, numbers of an action] */
    int32_t *observed; /* steps whose observation is listed; NULL: all */
    size_t resets, steps, observations_size, rewards_size, observed_size;
    double reward; /* when rewards is NULL */
    int64_t seed;
    bool terminated, truncated;
} run;

static void free_run(run *r) {
    free(r->reset), free(r->actions), free(r->observations), free(r->rewards), free(r->observed);
}

/* Of an action in the file. */
static size_t numbers_of(const cm_env *env) { return env->spec.action_size > 0 ? (size_t)env->spec.action_size : 1; }

static cm_status read_run(const walk *w, const cm_json *episode, run *r) {
    const cm_json *node;
    const size_t width = (size_t)w->env->spec.observation_size, numbers = numbers_of(w->env);
    size_t listed;
    CM_TRY(cm_json_need_int(episode, "seed", 0, INT64_MAX, &r->seed));
    CM_TRY(read_doubles(episode, "reset", &r->reset, &r->resets));
    CM_TRY(read_doubles(episode, "actions", &r->actions, &listed));
    if (listed % numbers != 0)
        return cm_fail(CM_ERR_INPUT, "actions: %zu numbers are no whole actions of %zu each", listed, numbers);
    r->steps = listed / numbers;
    CM_TRY(read_doubles(episode, "observations", &r->observations, &r->observations_size));
    r->observed_size = r->steps;
    if (cm_json_get(episode, "observed_steps")) {
        CM_TRY(read_ints(episode, "observed_steps", &r->observed, &r->observed_size));
    }
    if (cm_json_type(cm_json_get(episode, "rewards")) == CM_JSON_ARRAY) {
        CM_TRY(read_doubles(episode, "rewards", &r->rewards, &r->rewards_size));
    } else {
        CM_TRY(cm_json_need_number(episode, "rewards", &r->reward));
        r->rewards_size = r->steps;
    }
    CM_TRY(cm_json_need(episode, "terminated", CM_JSON_BOOL, &node));
    r->terminated = cm_json_is_true(node);
    CM_TRY(cm_json_need(episode, "truncated", CM_JSON_BOOL, &node));
    r->truncated = cm_json_is_true(node);
    if (r->resets != width || r->observations_size != r->observed_size * width || r->rewards_size != r->steps) {
        return cm_fail(CM_ERR_INPUT, "observations and rewards do not fit the number of steps");
    }
    return CM_OK;
}

static void compare(walk *w, int step, const char *what, double found, double expected) {
    const double tolerance = step < 100 ? 1e-6 : tolerances[tolerance_row(w->env->spec.name)].late;
    double error = fabs(found - expected) / fmax(1.0, fabs(expected));
    if (error > w->report->worst) w->report->worst = error;
    if (!(error <= tolerance)) differ(w, step, "%s: expected %.9g, found %.9g", what, expected, found);
}

static void compare_observation(walk *w, int step, const double *expected) {
    cm_env_observe(w->env, w->state, w->observation);
    for (int i = 0; i < w->env->spec.observation_size; i++) {
        compare(w, step, w->env->spec.channels[i], (double)w->observation[i], expected[i]);
    }
}

/* The same action on the state and on a clone; both must end up with the same bytes. */
static cm_status step_both(walk *w, int step, const double *action, cm_env_outcome *out) {
    const cm_env *env = w->env;
    cm_env_outcome other;
    float value[CM_ENV_MAX_NUMBERS];
    int choice = *action >= -1.0 && *action <= CM_ENV_MAX_ACTIONS ? (int)*action : -1;
    for (int d = 0; d < env->spec.action_size; d++) value[d] = (float)action[d];
    memcpy(w->clone, w->state, env->spec.state_size);
    void *states[2] = {w->state, w->clone};
    for (int i = 0; i < 2; i++) {
        cm_env_outcome *to = i == 0 ? out : &other;
        cm_status status = env->spec.action_size > 0 ? cm_env_step_value(env, states[i], value, to)
                                                     : cm_env_step(env, states[i], choice, to);
        if (status != CM_OK) {
            differ(w, step, "action %g: expected a legal one, found: %.160s", *action, cm_error_message());
            return status;
        }
    }
    if (memcmp(w->state, w->clone, env->spec.state_size) != 0) differ(w, step, "a clone went on in another way");
    return CM_OK;
}

static cm_status play_run(walk *w, const run *r) {
    const size_t width = (size_t)w->env->spec.observation_size, numbers = numbers_of(w->env);
    const int last = tolerances[tolerance_row(w->env->spec.name)].last;
    cm_env_reset(w->env, w->state, (uint64_t)r->seed);
    compare_observation(w, 0, r->reset);
    size_t listed = 0;
    for (size_t t = 0; t < r->steps && (int)t <= last && w->report->ok; t++) {
        const int step = (int)t;
        cm_env_outcome out;
        if (step_both(w, step, r->actions + t * numbers, &out) != CM_OK) break;
        const bool at_end = t + 1 == r->steps;
        const bool terminated = at_end && r->terminated, truncated = at_end && r->truncated;
        compare(w, step, "reward", out.reward, r->rewards ? r->rewards[t] : r->reward);
        if (out.terminated != terminated || out.truncated != truncated) {
            differ(w, step, "terminated, truncated: expected %d, %d, found %d, %d", terminated, truncated,
                   out.terminated, out.truncated);
        }
        if (listed < r->observed_size && (!r->observed || r->observed[listed] == step)) {
            compare_observation(w, step, r->observations + width * listed++);
        }
        w->report->steps++;
    }
    return CM_OK;
}

static cm_status run_episode(walk *w, const cm_json *episode) {
    run r;
    memset(&r, 0, sizeof r);
    cm_status status = read_run(w, episode, &r);
    if (status == CM_OK) status = play_run(w, &r);
    free_run(&r);
    return status;
}

/* ---- games ---- */

typedef struct game {
    int32_t *actions, *spawns, *finals;
    double *rewards; /* NULL: 0 but for the last */
    size_t plies, spawns_size, rewards_size, finals_size;
    int64_t ball_column;          /* -1: none */
    const cm_json *legal, *board; /* next listed ply, [t, ...]; NULL at the end */
} game;

static cm_status read_game(const walk *w, const cm_json *object, game *g) {
    int64_t end_ply;
    CM_TRY(read_ints(object, "actions", &g->actions, &g->plies));
    CM_TRY(read_ints(object, "rewards_final", &g->finals, &g->finals_size));
    CM_TRY(cm_json_need_int(object, "end_ply", 0, LONGEST, &end_ply));
    if (cm_json_get(object, "spawns")) CM_TRY(read_ints(object, "spawns", &g->spawns, &g->spawns_size));
    if (cm_json_get(object, "rewards")) CM_TRY(read_doubles(object, "rewards", &g->rewards, &g->rewards_size));
    g->ball_column = -1;
    if (cm_json_get(object, "ball_column")) CM_TRY(cm_json_need_int(object, "ball_column", 0, 1000, &g->ball_column));
    g->legal = cm_json_first(cm_json_get(object, "legal"));
    g->board = cm_json_first(cm_json_get(object, "boards"));
    const cm_env_spec *spec = &w->env->spec;
    if ((size_t)end_ply != g->plies || g->plies == 0)
        return cm_fail(CM_ERR_INPUT, "end_ply: is not the number of actions");
    if (g->finals_size != (size_t)spec->players) return cm_fail(CM_ERR_INPUT, "rewards_final: needs one per player");
    if (g->rewards && g->rewards_size != g->plies) return cm_fail(CM_ERR_INPUT, "rewards: needs one per action");
    if (spec->chance_outcomes > 0 && g->spawns_size != 2 * (g->plies + 2)) {
        return cm_fail(CM_ERR_INPUT, "spawns: needs two for the reset and one per action");
    }
    if (spec->reset_outcomes == 1 && g->ball_column < 0) return cm_fail(CM_ERR_INPUT, "ball_column: missing");
    return CM_OK;
}

/* Whether a listed [ply, ...] is for this ply. */
static bool is_listed(const cm_json *entry, int ply) {
    return entry && cm_json_is_integer(cm_json_first(entry), ply, ply);
}

static void compare_legal(walk *w, int ply, const cm_json *expected) {
    cm_env_legal(w->env, w->state, w->mask);
    for (const cm_json *a = cm_json_first(expected); a; a = cm_json_next(a)) {
        double action = cm_json_number(a, -1.0);
        int index = action >= 0.0 && action < w->env->spec.actions ? (int)action : 0;
        if (!w->mask[index]) differ(w, ply, "legal: expected %g among them, found it forbidden", action);
        w->mask[index] = 0;
    }
    for (int a = 0; a < w->env->spec.actions; a++) {
        if (w->mask[a]) differ(w, ply, "legal: expected %d forbidden, found it allowed", a);
    }
}

/* A cell of a case: a tile, or '.', 'x', 'o'. -1 if it is none. */
static double cell_of(const cm_json *tile, const char *text, int cell) {
    if (!text) return cm_json_number(tile, -1.0);
    return text[cell] == '.' ? 0.0 : text[cell] == 'x' ? 1.0 : text[cell] == 'o' ? 2.0 : -1.0;
}

static void compare_board(walk *w, int ply, const cm_json *expected) {
    const int cells = w->env->spec.cells;
    const char *text = cm_json_string(expected);
    const cm_json *tile = cm_json_first(expected);
    if (text ? strlen(text) != (size_t)cells : cm_json_size(expected) != cells) {
        differ(w, ply, "board: expected %d cells in the file", cells);
        return;
    }
    cm_env_board(w->env, w->state, w->cells);
    for (int c = 0; c < cells; c++, tile = tile ? cm_json_next(tile) : NULL) {
        double value = cell_of(tile, text, c);
        if (value != w->cells[c]) differ(w, ply, "cell %d: expected %g, found %d", c, value, w->cells[c]);
    }
}

static void compare_position(walk *w, int ply, game *g) {
    if (is_listed(g->legal, ply)) {
        compare_legal(w, ply, cm_json_next(cm_json_first(g->legal)));
        g->legal = cm_json_next(g->legal);
    }
    if (is_listed(g->board, ply)) {
        compare_board(w, ply, cm_json_next(cm_json_first(g->board)));
        g->board = cm_json_next(g->board);
    }
    if (w->env->spec.players == 2 && cm_env_to_play(w->env, w->state) != ply % 2) {
        differ(w, ply, "to_play: expected %d, found %d", ply % 2, cm_env_to_play(w->env, w->state));
    }
}

/* 16 * [value is 4] + cell; -1 for another value. */
static int spawn_id(const int32_t *spawn) { return spawn[1] == 2 ? spawn[0] : spawn[1] == 4 ? 16 + spawn[0] : -1; }

static cm_status reset_game(walk *w, const game *g) {
    cm_env_reset(w->env, w->state, 0);
    if (w->env->spec.reset_outcomes == 0) return CM_OK;
    int32_t outcomes[2] = {(int32_t)g->ball_column, 0};
    if (w->env->spec.chance_outcomes > 0) outcomes[0] = spawn_id(g->spawns), outcomes[1] = spawn_id(g->spawns + 2);
    return cm_env_reset_outcomes(w->env, w->state, outcomes);
}

/* One step whose chance is given by the file. */
static cm_status step_game(walk *w, const game *g, int ply, cm_env_outcome *out) {
    const double action = g->actions[ply];
    if (w->env->spec.chance_outcomes == 0) return step_both(w, ply, &action, out);
    double reward = 0.0;
    cm_status status = cm_env_afterstate(w->env, w->state, g->actions[ply], &reward);
    if (status == CM_OK) status = cm_env_chance(w->env, w->state, spawn_id(g->spawns + 2 * (ply + 2)), out);
    if (status != CM_OK) differ(w, ply, "expected a legal step, found: %.160s", cm_error_message());
    out->reward = reward;
    return status;
}

static cm_status play_game(walk *w, game *g) {
    CM_TRY(reset_game(w, g));
    double total = 0.0, last = 0.0;
    for (int ply = 0; ply < (int)g->plies && w->report->ok; ply++) {
        compare_position(w, ply, g);
        cm_env_outcome out = {0.0, false, false};
        if (step_game(w, g, ply, &out) != CM_OK) return CM_OK;
        const bool at_end = ply + 1 == (int)g->plies;
        if (out.terminated != at_end || out.truncated) {
            differ(w, ply, "terminated, truncated: expected %d, 0, found %d, %d", at_end, out.terminated,
                   out.truncated);
        }
        double expected = g->rewards ? g->rewards[ply] : at_end ? g->finals[ply % w->env->spec.players] : 0.0;
        if (out.reward != expected) differ(w, ply, "reward: expected %g, found %g", expected, out.reward);
        total += out.reward, last = out.reward;
        w->report->steps++;
    }
    if (!w->report->ok) return CM_OK;
    const int plies = (int)g->plies, mover = (plies - 1) % w->env->spec.players;
    compare_position(w, plies, g);
    if (g->legal || g->board) differ(w, plies, "the file lists positions after the end or out of order");
    for (int p = 0; p < w->env->spec.players; p++) {
        double found = w->env->spec.players == 1 ? total : p == mover ? last : -last;
        if (found != g->finals[p])
            differ(w, plies, "result of player %d: expected %d, found %g", p, g->finals[p], found);
    }
    return CM_OK;
}

static cm_status run_game(walk *w, const cm_json *object) {
    game g;
    memset(&g, 0, sizeof g);
    cm_status status = read_game(w, object, &g);
    if (status == CM_OK) status = play_game(w, &g);
    free(g.actions), free(g.spawns), free(g.finals), free(g.rewards);
    return status;
}

/* ---- files ---- */

static cm_status open_env(const cm_json *root, cm_env *env) {
    const cm_json *name, *options = cm_json_get(root, "options");
    cm_env_params params = cm_env_params_default();
    CM_TRY(cm_json_need(root, "environment", CM_JSON_STRING, &name));
    for (const cm_json *o = cm_json_first(options); o; o = cm_json_next(o)) {
        double fallback = cm_json_type(o) == CM_JSON_BOOL ? (double)cm_json_is_true(o) : (double)NAN;
        CM_TRY(cm_env_params_set(&params, cm_json_key(o), cm_json_number(o, fallback)));
    }
    CM_TRY(cm_env_open(env, cm_json_string(name), &params));
    int count;
    const cm_env_option *rows = cm_env_option_list(&count);
    for (int i = 0; i < count; i++) {
        if (cm_json_get(options, rows[i].name) && !(env->def->options >> i & 1)) {
            return cm_fail(CM_ERR_INPUT, "%s: has no option %s", env->spec.name, rows[i].name);
        }
    }
    int64_t limit = env->spec.max_steps;
    if (cm_json_get(root, "step_limit")) CM_TRY(cm_json_need_int(root, "step_limit", 1, INT32_MAX, &limit));
    if (limit == env->spec.max_steps) return CM_OK;
    params.max_steps = (int)limit;
    return cm_env_open(env, cm_json_string(name), &params);
}

static void alloc_buffers(walk *w, cm_arena *arena) {
    const cm_env_spec *spec = &w->env->spec;
    w->state = cm_arena_alloc(arena, spec->state_size);
    w->clone = cm_arena_alloc(arena, spec->state_size);
    w->observation = (float *)cm_arena_alloc(arena, (size_t)spec->observation_size * sizeof(float));
    w->cells = (int32_t *)cm_arena_alloc(arena, (size_t)spec->cells * sizeof(int32_t));
    w->mask = (uint8_t *)cm_arena_alloc(arena, (size_t)spec->actions);
}

static cm_status run_file(walk *w, cm_env *env, const cm_json *root) {
    CM_TRY(open_env(root, env));
    w->env = env;
    const cm_json *list = cm_json_get(root, "games");
    w->report->games = list != NULL;
    if (!list) CM_TRY(cm_json_need(root, "episodes", CM_JSON_ARRAY, &list));
    if (w->report->games ? env->spec.cells == 0 || env->spec.action_size > 0 : env->spec.rank != 1) {
        return cm_fail(CM_ERR_INPUT, "%s: cases of this kind do not fit it", env->spec.name);
    }
    cm_arena sizes = {NULL, SIZE_MAX, 0};
    alloc_buffers(w, &sizes);
    CM_TRY(cm_arena_create(&w->arena, sizes.used, "an environment case"));
    alloc_buffers(w, &w->arena);
    for (const cm_json *item = cm_json_first(list); item && w->report->ok; item = cm_json_next(item)) {
        cm_status status = w->report->games ? run_game(w, item) : run_episode(w, item);
        if (status != CM_OK) return cm_fail_in(status, "%s %d", w->report->games ? "game" : "episode", w->item);
        w->item++;
    }
    w->report->items = cm_json_size(list);
    return CM_OK;
}

cm_status cm_env_case_run(const cm_json *root, const char *name, cm_env_case_report *report) {
    memset(report, 0, sizeof *report);
    report->ok = true;
    if (!cm_env_case_is(root)) return cm_fail(CM_ERR_INPUT, "%s: is not of format cumind-environment-case-1", name);
    walk w;
    cm_env env;
    memset(&w, 0, sizeof w);
    w.name = name, w.report = report;
    cm_status status = run_file(&w, &env, root);
    cm_arena_destroy(&w.arena);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s", name);
}
