#include "arena/games.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/json.h"

void cm_evaluation_summarise(const double *results, int n, cm_evaluation *out) {
    *out = (cm_evaluation){.episodes = n, .min = results[0], .max = results[0]};
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++) {
        sum += results[i];
        out->min = fmin(out->min, results[i]);
        out->max = fmax(out->max, results[i]);
        out->wins += results[i] > 0.0;
        out->losses += results[i] < 0.0;
    }
    out->draws = n - out->wins - out->losses;
    out->mean = sum / n;
    for (int i = 0; i < n; i++) squares += (results[i] - out->mean) * (results[i] - out->mean);
    out->std = n > 1 ? sqrt(squares / (n - 1)) : 0.0;
    double half = 1.96 * out->std / sqrt((double)n);
    out->low = out->mean - half;
    out->high = out->mean + half;
}

/* Of `steps` steps. */
static void bound(const cm_env_spec *spec, double steps, double *low, double *high) {
    const bool is_game = spec->players == 2;
    const double most = is_game ? fmax(spec->reward_high, -spec->reward_low) : spec->reward_high;
    const double least = is_game ? -most : spec->reward_low;
    *low = least < 0.0 ? least * steps : least;
    *high = most > 0.0 ? most * steps : most;
}

void cm_evaluation_bounds(const cm_env_spec *spec, double *low, double *high) {
    bound(spec, spec->max_plies > 0 ? spec->max_plies : (double)INFINITY, low, high);
}

void cm_evaluation_clip(const cm_env_spec *spec, cm_evaluation *e) {
    double low, high;
    bound(spec, 1.0, &low, &high);
    if (e->min < low || e->max > high) cm_evaluation_bounds(spec, &low, &high);
    e->low = fmax(e->low, fmin(low, e->min));
    e->high = fmin(e->high, fmax(high, e->max));
}

void cm_games_score(const cm_games *games, cm_score *out) {
    memset(out, 0, sizeof *out);
    cm_evaluation_summarise(games->result, games->count, &out->all);
    for (int i = 0; i < games->count; i++) {
        cm_side_score *side = games->theirs[i] ? &out->second : &out->first;
        side->games++;
        side->wins += games->result[i] > 0.0;
        side->losses += games->result[i] < 0.0;
        side->draws += games->result[i] == 0.0;
        out->all.steps += games->length[i];
    }
    out->all.mean_length = (double)out->all.steps / games->count;
}

/* ---- files ---- */

static cm_status append_game(const cm_games *games, int i, const char *first, cm_file_writer *file) {
    cm_json_writer *json = NULL;
    double result = games->theirs[i] ? 0.0 - games->result[i] : games->result[i]; /* never -0 */
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_begin_array(json, "moves");
    for (int k = 0; k < games->length[i]; k++) {
        cm_json_put_int(json, NULL, games->moves[(size_t)i * (size_t)games->stride + (size_t)k]);
    }
    cm_json_end_array(json);
    cm_json_put_string(json, "first", first);
    cm_json_begin_array(json, "rewards");
    cm_json_put_double(json, NULL, result);
    cm_json_put_double(json, NULL, 0.0 - result);
    cm_json_end_array(json);
    cm_json_end_object(json);
    cm_status status = cm_json_writer_append(json, file);
    cm_json_writer_destroy(json);
    return status;
}

cm_status cm_games_save(const cm_games *games, const char *ours, const char *theirs, const char *path) {
    cm_file_writer *file = NULL;
    if (games->stride == 0) return cm_fail(CM_ERR_STATE, "%s: the moves of these games were not kept", path);
    CM_TRY(cm_file_begin(path, &file));
    for (int i = 0; i < games->count; i++) {
        cm_status status = append_game(games, i, games->theirs[i] ? theirs : ours, file);
        if (status == CM_OK) continue;
        cm_file_abandon(file);
        return status;
    }
    return cm_file_commit(file);
}

/* ---- reading ---- */

typedef struct reader {
    const cm_env *env;
    cm_games *games;
    void *state; /* owned */
} reader;

static cm_status count_game(void *context, const cm_json *line) {
    (void)line;
    ((reader *)context)->games->count++;
    return CM_OK;
}

static cm_status alloc_games(cm_games *games) {
    const size_t n = (size_t)games->count;
    CM_TRY(cm_alloc(&games->moves, n, (size_t)games->stride * sizeof *games->moves, "games"));
    CM_TRY(cm_alloc(&games->length, n, sizeof *games->length, "games"));
    CM_TRY(cm_alloc(&games->opening, n, sizeof *games->opening, "games"));
    CM_TRY(cm_alloc(&games->theirs, n, 1, "games"));
    return cm_alloc(&games->result, n, sizeof *games->result, "games");
}

static cm_status read_game(void *context, const cm_json *line) {
    reader *r = context;
    cm_games *games = r->games;
    const int game = games->count++;
    int32_t *length = &games->length[game];
    const cm_json *moves, *rewards;
    double reward[2];
    cm_env_outcome outcome;
    CM_TRY(cm_json_need(line, "moves", CM_JSON_ARRAY, &moves));
    CM_TRY(cm_json_need(line, "rewards", CM_JSON_ARRAY, &rewards));
    CM_TRY(cm_json_doubles(rewards, "rewards", 2, reward));
    games->result[game] = reward[0];
    cm_env_reset(r->env, r->state, 0);
    for (const cm_json *move = cm_json_first(moves); move; move = cm_json_next(move)) {
        if (!cm_json_is_integer(move, 0, r->env->spec.actions - 1)) {
            return cm_fail(CM_ERR_INPUT, "moves: must be actions, 0 to %d", r->env->spec.actions - 1);
        }
        const int action = (int)cm_json_number(move, 0.0);
        cm_status status = cm_env_step(r->env, r->state, action, &outcome);
        if (status != CM_OK) return cm_fail_in(CM_ERR_INPUT, "move %d", *length + 1);
        games->moves[(size_t)game * (size_t)games->stride + (size_t)(*length)++] = (int16_t)action;
    }
    return CM_OK;
}

cm_status cm_games_read(const char *path, const cm_env *env, cm_games *out) {
    reader r = {.env = env, .games = out};
    *out = (cm_games){.stride = env->spec.max_plies};
    if (out->stride == 0) return cm_fail(CM_ERR_INPUT, "%s: its games have no bound on their length", env->spec.name);
    CM_TRY(cm_json_read_lines(path, count_game, &r));
    cm_status status = cm_alloc(&r.state, 1, env->spec.state_size, "games");
    if (status == CM_OK) status = alloc_games(out);
    out->count = 0;
    if (status == CM_OK) status = cm_json_read_lines(path, read_game, &r);
    free(r.state);
    if (status != CM_OK) cm_games_free(out);
    return status;
}

void cm_games_free(cm_games *games) {
    free(games->moves);
    free(games->length);
    free(games->opening);
    free(games->theirs);
    free(games->result);
    *games = (cm_games){.count = 0};
}
