#include <stdlib.h>
#include <string.h>

#include "draw/vector.h"
#include "env/board.h"
#include "env/draw.h"
#include "serve/table.h"

/* The picture as the inside of an SVG element. */
static cm_status put_picture(const cm_scene *scene, cm_json_writer *json) {
    char *text = NULL;
    size_t size = 0;
    cm_status status = scene->status;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cm_fail(CM_ERR_MEMORY, "no memory for a picture");
    for (size_t i = 0; i < scene->shapes && status == CM_OK; i++) status = cm_vector_put_shape(out, scene, i);
    if (fclose(out) != 0 && status == CM_OK) status = cm_fail(CM_ERR_MEMORY, "no memory for a picture");
    if (status == CM_OK) {
        cm_json_put_double(json, "width", scene->width);
        cm_json_put_double(json, "height", scene->height);
        cm_json_put_int(json, "background", (int64_t)scene->background);
        cm_json_put_string(json, "picture", text);
    }
    free(text);
    return status;
}

/* The cell that an action fills; -1: none, or more than one. */
static int cell_of(cm_play_table *t, int action) {
    const cm_env *env = t->game.env;
    cm_env_outcome outcome;
    if (env->spec.players != 2 || env->spec.cells < 1) return -1;
    memcpy(t->game.scratch, t->game.state, env->spec.state_size);
    if (cm_env_step(env, t->game.scratch, action, &outcome) != CM_OK) return -1;
    return cm_env_moment_of(env, t->game.state, action, t->game.scratch).cell;
}

/* Of a game such as Othello, whose moves change many cells, the action is the cell. */
static int place_of(cm_play_table *t, int action, const cm_scene_cells *cells) {
    const int cell = cell_of(t, action), all = cells->rows * cells->columns;
    const bool are_cells = t->game.env->spec.actions >= all;
    if (cell >= 0 && cell < all) return cell;
    return are_cells && action < all ? action : -1;
}

static void put_legal(cm_play_table *t, int action, const cm_scene_cells *cells, cm_json_writer *json) {
    char name[32];
    cm_env_action_name(t->game.env, action, name, sizeof name);
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "action", action);
    cm_json_put_string(json, "name", name);
    const int cell = cells->columns > 0 ? place_of(t, action, cells) : -1;
    if (cell >= 0) {
        const int row = cell / cells->columns, column = cell % cells->columns;
        cm_json_put_double(json, "x", cells->x + column * cells->column[0] + row * cells->row[0]);
        cm_json_put_double(json, "y", cells->y + column * cells->column[1] + row * cells->row[1]);
    }
    cm_json_end_object(json);
}

static cm_status put_moves(cm_play_table *t, const cm_scene_cells *cells, cm_json_writer *json) {
    const cm_env_spec *spec = &t->game.env->spec;
    uint8_t *legal = calloc((size_t)spec->actions, 1);
    if (!legal) return cm_fail(CM_ERR_MEMORY, "no memory for the moves of a game");
    if (!cm_env_ended(t->game.state)) cm_env_legal(t->game.env, t->game.state, legal);
    cm_json_begin_array(json, "legal");
    for (int action = 0; action < spec->actions; action++)
        if (legal[action]) put_legal(t, action, cells, json);
    cm_json_end_array(json);
    free(legal);
    cm_json_begin_array(json, "moves");
    for (int i = 0; i < t->game.count; i++) {
        char name[32];
        cm_env_action_name(t->game.env, t->game.moves[i].action, name, sizeof name);
        cm_json_put_string(json, NULL, name);
    }
    cm_json_end_array(json);
    return CM_OK;
}

static void put_thought(const cm_play_table_thought *thought, cm_json_writer *json) {
    if (!thought->is_there) {
        cm_json_put_null(json, "thought");
        return;
    }
    cm_json_begin_object(json, "thought");
    cm_json_put_bool(json, "is_hint", thought->is_hint);
    cm_json_put_int(json, "player", thought->player);
    cm_json_put_int(json, "action", thought->action);
    cm_json_put_double(json, "value", thought->value);
    cm_json_put_int(json, "visits", thought->visits);
    cm_json_begin_array(json, "moves");
    for (int i = 0; i < thought->count; i++) {
        const cm_play_table_move *move = &thought->moves[i];
        cm_json_begin_object(json, NULL);
        cm_json_put_string(json, "name", move->name);
        cm_json_put_int(json, "action", move->action);
        cm_json_put_int(json, "visits", move->visits);
        cm_json_put_double(json, "q", move->q);
        cm_json_put_double(json, "prior", move->prior);
        cm_json_end_object(json);
    }
    cm_json_end_array(json);
    cm_json_end_object(json);
}

static void put_facts(const cm_play_table *t, cm_json_writer *json) {
    static const char *const sides[CM_PLAY_SIDES] = {"first", "second", "none"};
    const cm_env_spec *spec = &t->game.env->spec;
    cm_json_put_string(json, "environment", spec->name);
    cm_json_put_int(json, "players", spec->players);
    cm_json_put_string(json, "side", sides[t->config.side]);
    cm_json_put_int(json, "to_play", cm_game_to_play(&t->game));
    cm_json_put_bool(json, "ended", cm_env_ended(t->game.state));
    cm_json_put_bool(json, "waits", cm_play_table_waits(t));
    cm_json_put_double(json, "total", t->game.total);
    cm_json_put_int(json, "simulations", cm_agent_get_config(t->loaded.agent)->evaluation.num_simulations);
    cm_json_put_int(json, "trained_steps", t->loaded.facts.env_steps);
}

static cm_status put_table(cm_play_table *t, cm_json_writer *json) {
    cm_scene scene = {.status = CM_OK};
    cm_env_draw(t->game.env, t->game.state, &t->moment, &scene);
    cm_json_begin_object(json, NULL);
    put_facts(t, json);
    cm_status status = put_picture(&scene, json);
    cm_json_put_double(json, "cell", scene.cells.columns > 0 ? scene.cells.size : 0.0);
    cm_json_put_bool(json, "is_column", scene.cells.columns > 0 && t->game.env->spec.actions == scene.cells.columns);
    if (status == CM_OK) status = put_moves(t, &scene.cells, json);
    put_thought(&t->thought, json);
    cm_json_end_object(json);
    cm_scene_free(&scene);
    return status;
}

cm_status cm_play_table_tell(cm_play_table *t, char **out) {
    cm_json_writer *json = NULL;
    size_t size;
    *out = NULL;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_status status = put_table(t, json);
    const char *text = cm_json_writer_text(json, &size);
    if (status == CM_OK && text) *out = strndup(text, size);
    cm_json_writer_destroy(json);
    return status == CM_OK && !*out ? cm_fail(CM_ERR_MEMORY, "no memory for a game") : status;
}
