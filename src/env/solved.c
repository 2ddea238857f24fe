#include "env/solved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/json.h"
#include "env/solver.h"

const char *const cm_solved_source_names[CM_SOLVED_SOURCES] = {"random", "games"};

static int16_t *moves_of(const cm_solved *solved, int i) { return solved->moves + (size_t)i * (size_t)solved->stride; }

static cm_status alloc_arrays(cm_solved *out) {
    const size_t n = (size_t)out->capacity;
    CM_TRY(cm_alloc(&out->moves, n, (size_t)out->stride * sizeof *out->moves, "solved positions"));
    CM_TRY(cm_alloc(&out->values, n, (size_t)out->actions, "solved positions"));
    CM_TRY(cm_alloc(&out->ply, n, sizeof *out->ply, "solved positions"));
    return cm_alloc(&out->source, n, 1, "solved positions");
}

cm_status cm_solved_create(const cm_env *env, int capacity, cm_solved *out) {
    *out = (cm_solved){.capacity = capacity, .actions = env->spec.actions, .stride = env->spec.max_plies};
    if (capacity < 1 || capacity > CM_SOLVED_MOST) {
        return cm_fail(CM_ERR_INPUT, "a file of solved positions has 1 to %d of them, not %d", CM_SOLVED_MOST,
                       capacity);
    }
    if (out->stride < 1) return cm_fail(CM_ERR_INPUT, "%s: its games have no bound on their length", env->spec.name);
    cm_status status = alloc_arrays(out);
    if (status != CM_OK) cm_solved_free(out);
    return status;
}

void cm_solved_free(cm_solved *solved) {
    free(solved->moves);
    free(solved->ply);
    free(solved->source);
    free(solved->values);
    *solved = (cm_solved){.count = 0};
}

cm_status cm_solved_play(const cm_solved *solved, const cm_env *env, int i, void *state) {
    cm_env_outcome outcome;
    cm_env_reset(env, state, 0);
    for (int k = 0; k < solved->ply[i]; k++) CM_TRY(cm_env_step(env, state, moves_of(solved, i)[k], &outcome));
    return CM_OK;
}

/* ---- reading ---- */

typedef struct reader {
    const cm_env *env;
    cm_solved *solved;
    void *state; /* owned */
    int lines;
} reader;

static cm_status read_header(reader *r, const cm_json *line) {
    const char *game, *about;
    int64_t count;
    CM_TRY(cm_json_need_string(line, "game", &game));
    if (strcmp(game, r->env->spec.name) != 0) {
        return cm_fail(CM_ERR_INPUT, "positions of %.64s, and not of %s", game, r->env->spec.name);
    }
    CM_TRY(cm_json_need_int(line, "positions", 1, CM_SOLVED_MOST, &count));
    CM_TRY(cm_solved_create(r->env, (int)count, r->solved));
    for (int i = 0; i < CM_SOLVED_SOURCES; i++) {
        CM_TRY(cm_json_need_string(line, cm_solved_source_names[i], &about));
        snprintf(r->solved->about[i], CM_SOLVED_ABOUT, "%s", about);
    }
    return CM_OK;
}

static cm_status read_moves(const reader *r, const cm_json *line, int i) {
    const cm_json *array;
    CM_TRY(cm_json_need(line, "moves", CM_JSON_ARRAY, &array));
    const int plies = cm_json_size(array);
    if (plies > r->solved->stride) return cm_fail(CM_ERR_INPUT, "moves: %d are more than a game has", plies);
    for (const cm_json *move = cm_json_first(array); move; move = cm_json_next(move)) {
        if (!cm_json_is_integer(move, 0, r->env->spec.actions - 1)) {
            return cm_fail(CM_ERR_INPUT, "moves: must be actions, 0 to %d", r->env->spec.actions - 1);
        }
        moves_of(r->solved, i)[r->solved->ply[i]++] = (int16_t)cm_json_number(move, 0.0);
    }
    CM_TRY(cm_solved_play(r->solved, r->env, i, r->state));
    return cm_env_ended(r->state) ? cm_fail(CM_ERR_INPUT, "moves: the game is over, there is nothing to solve") : CM_OK;
}

static cm_status read_source(const reader *r, const cm_json *line, int i) {
    const char *name;
    CM_TRY(cm_json_need_string(line, "source", &name));
    for (int k = 0; k < CM_SOLVED_SOURCES; k++) {
        if (strcmp(name, cm_solved_source_names[k]) != 0) continue;
        r->solved->source[i] = (uint8_t)k;
        return CM_OK;
    }
    return cm_fail(CM_ERR_INPUT, "source: must be \"random\" or \"games\", got \"%.40s\"", name);
}

static cm_status read_values(const reader *r, const cm_json *line, int i) {
    const int actions = r->env->spec.actions;
    int8_t *values = r->solved->values + (size_t)i * (size_t)actions;
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    const cm_json *array;
    int a = 0;
    CM_TRY(cm_json_need(line, "values", CM_JSON_ARRAY, &array));
    if (cm_json_size(array) != actions) {
        return cm_fail(CM_ERR_INPUT, "values: must be one per action, %d, got %d", actions, cm_json_size(array));
    }
    cm_env_legal(r->env, r->state, legal);
    for (const cm_json *value = cm_json_first(array); value; value = cm_json_next(value), a++) {
        const bool is_null = cm_json_type(value) == CM_JSON_NULL;
        if (is_null == (legal[a] != 0) || (!is_null && !cm_json_is_integer(value, -1, 1))) {
            return cm_fail(CM_ERR_INPUT, "values: action %d is %s", a,
                           legal[a] ? "legal: its value must be -1, 0 or 1" : "illegal: its value must be null");
        }
        values[a] = (int8_t)cm_json_number(value, CM_SOLVER_ILLEGAL);
    }
    return CM_OK;
}

static cm_status read_position(const reader *r, const cm_json *line) {
    if (r->solved->count == r->solved->capacity) {
        return cm_fail(CM_ERR_INPUT, "more positions than the %d of the first line", r->solved->capacity);
    }
    const int i = r->solved->count++;
    CM_TRY(read_moves(r, line, i));
    CM_TRY(read_source(r, line, i));
    return read_values(r, line, i);
}

static cm_status read_line(void *context, const cm_json *line) {
    reader *r = context;
    return r->lines++ == 0 ? read_header(r, line) : read_position(r, line);
}

cm_status cm_solved_read(const char *path, const cm_env *env, cm_solved *out) {
    reader r = {.env = env, .solved = out};
    *out = (cm_solved){.count = 0};
    CM_TRY(cm_alloc(&r.state, 1, env->spec.state_size, "solved positions"));
    cm_status status = cm_json_read_lines(path, read_line, &r);
    free(r.state);
    if (status == CM_OK && out->count < (r.lines == 0 ? 1 : out->capacity)) {
        status =
            cm_fail(CM_ERR_INPUT, "%s: holds %d positions, its first line says %d", path, out->count, out->capacity);
    }
    if (status != CM_OK) cm_solved_free(out);
    return status;
}

/* ---- writing ---- */

static void put_header(cm_json_writer *json, const cm_solved *solved, const cm_env *env) {
    cm_json_put_string(json, "game", env->spec.name);
    cm_json_put_int(json, "positions", solved->count);
    for (int i = 0; i < CM_SOLVED_SOURCES; i++) {
        cm_json_put_string(json, cm_solved_source_names[i], solved->about[i]);
    }
}

static void put_position(cm_json_writer *json, const cm_solved *solved, int i) {
    const int8_t *values = cm_solved_values(solved, i);
    cm_json_begin_array(json, "moves");
    for (int k = 0; k < solved->ply[i]; k++) cm_json_put_int(json, NULL, moves_of(solved, i)[k]);
    cm_json_end_array(json);
    cm_json_put_string(json, "source", cm_solved_source_names[solved->source[i]]);
    cm_json_begin_array(json, "values");
    for (int a = 0; a < solved->actions; a++) {
        if (values[a] == CM_SOLVER_ILLEGAL) cm_json_put_null(json, NULL);
        if (values[a] != CM_SOLVER_ILLEGAL) cm_json_put_int(json, NULL, values[a]);
    }
    cm_json_end_array(json);
}

/* Line -1 is the header. */
static cm_status write_line(const cm_solved *solved, const cm_env *env, int i, cm_file_writer *file) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    if (i < 0) put_header(json, solved, env);
    if (i >= 0) put_position(json, solved, i);
    cm_json_end_object(json);
    cm_status status = cm_json_writer_append(json, file);
    cm_json_writer_destroy(json);
    return status;
}

cm_status cm_solved_save(const cm_solved *solved, const cm_env *env, const char *path) {
    cm_file_writer *file = NULL;
    cm_status status = CM_OK;
    CM_TRY(cm_file_begin(path, &file));
    for (int i = -1; i < solved->count && status == CM_OK; i++) status = write_line(solved, env, i, file);
    if (status == CM_OK) return cm_file_commit(file);
    cm_file_abandon(file);
    return status;
}
