#include "env/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/text.h"
#include "env/board.h"
#include "env/drawing.h"

/* ---- boards ---- */

bool cm_board_read_stones(const cm_env *env, const void *state, int32_t cells[CM_BOARD_CELLS]) {
    const cm_env_spec *spec = &env->spec;
    if (!env->def->board || spec->players != 2 || spec->cells < 1 || spec->cells > CM_BOARD_CELLS) return false;
    cm_env_board(env, state, cells);
    for (int c = 0; c < spec->cells; c++)
        if (cells[c] < 0 || cells[c] > 2) return false;
    return true;
}

/* One whose rows and columns are those of the observation. */
static bool draw_board(const cm_env *env, const void *state, const cm_env_moment *moment, cm_scene *scene) {
    const int rows = env->spec.shape[0], columns = env->spec.shape[1];
    int32_t cells[CM_BOARD_CELLS];
    if (env->spec.cells != rows * columns || !cm_board_read_stones(env, state, cells)) return false;
    cm_drawing_squares(scene, rows, columns, cells, moment);
    return true;
}

cm_env_moment cm_env_moment_of(const cm_env *env, const void *before, int action, const void *after) {
    int32_t old[CM_BOARD_CELLS], new[CM_BOARD_CELLS];
    cm_env_moment moment = {.action = action, .player = before ? cm_env_to_play(env, before) : 0, .cell = -1};
    if (!before || !cm_board_read_stones(env, before, old) || !cm_board_read_stones(env, after, new)) return moment;
    int found = 0;
    for (int c = 0; c < env->spec.cells; c++)
        if (old[c] == 0 && new[c] != 0) moment.cell = c, found++;
    if (found > 1) moment.cell = -1;
    return moment;
}

/* ---- observations that are pictures ---- */

enum { LEAST_SIDE = 16 };

/* Of [H, W, C]: the last three channels are red, green and blue, or the last one is grey. */
static bool is_picture(const cm_env_spec *spec) {
    const int channels = spec->shape[2];
    return spec->rank == 3 && spec->observation_unit > 0.0f && spec->shape[0] >= LEAST_SIDE &&
           spec->shape[1] >= LEAST_SIDE && (channels <= 4 || channels % 3 == 0);
}

static void fill_pixels(const cm_env_spec *spec, const float *observation, uint8_t *rgb) {
    const int channels = spec->shape[2], pixels = spec->shape[0] * spec->shape[1];
    const bool is_coloured = channels % 3 == 0;
    float most = 1.0f;
    for (int i = 0; i < spec->observation_size; i++) most = fmaxf(most, observation[i] / spec->observation_unit);
    const float factor = (most > 1.5f ? 1.0f : 255.0f) / spec->observation_unit;
    for (int p = 0; p < pixels; p++)
        for (int k = 0; k < 3; k++) {
            const int channel = channels - (is_coloured ? 3 - k : 1);
            const float value = observation[(size_t)p * (size_t)channels + (size_t)channel] * factor;
            rgb[3 * p + k] = (uint8_t)(fmaxf(0.0f, fminf(255.0f, value)) + 0.5f);
        }
}

static bool draw_observation(const cm_env *env, const void *state, cm_scene *scene) {
    const cm_env_spec *spec = &env->spec;
    if (!is_picture(spec)) return false;
    float *observation = malloc((size_t)spec->observation_size * sizeof *observation);
    uint8_t *rgb = malloc(3 * (size_t)spec->shape[0] * (size_t)spec->shape[1]);
    if (observation && rgb) {
        cm_env_observe(env, state, observation);
        fill_pixels(spec, observation, rgb);
        scene->height = scene->width * spec->shape[0] / spec->shape[1];
        cm_scene_image(scene, 0.0, 0.0, scene->width, scene->height, rgb, spec->shape[1], spec->shape[0]);
    } else {
        scene->status = CM_ERR_MEMORY;
    }
    free(observation);
    free(rgb);
    return true;
}

/* ---- grids of letters ---- */

/* The colour of a letter of the picture, as cm_env_def.colours says; faint if it says none. */
static cm_colour colour_of(const char *colours, char letter) {
    static const cm_colour of_digit[] = {CM_COLOUR_FAINT, CM_COLOUR_RED,     CM_COLOUR_GREEN, CM_COLOUR_YELLOW,
                                         CM_COLOUR_BLUE,  CM_COLOUR_MAGENTA, CM_COLOUR_CYAN};
    for (; colours[0] && colours[1]; colours += 2)
        if (colours[0] == letter && colours[1] >= '1' && colours[1] <= '6') return of_digit[colours[1] - '0'];
    return CM_COLOUR_FAINT;
}

/* A point is an empty cell, a comma a trace of something, another letter the thing itself. */
static void draw_letter(const cm_drawn_grid *grid, const char *colours, char letter, int cell, cm_scene *scene) {
    const double share = letter == '.' ? 0.0 : letter == ',' ? 0.36 : 0.9, side = share * grid->cell;
    if (share > 0.0)
        cm_scene_rectangle(scene, cm_drawing_x(grid, cell) - 0.5 * side, cm_drawing_y(grid, cell) - 0.5 * side, side,
                           side, 0.12 * side, colour_of(colours, letter));
}

/* The lines of a row with colours are those of its grid: letters, with blanks between them. */
static bool draw_grid(const cm_env *env, const void *state, cm_scene *scene) {
    const int rows = env->spec.shape[0], columns = env->spec.shape[1], cells = rows * columns;
    char picture[CM_ENV_PICTURE_BYTES];
    if (!env->def->colours || env->spec.rank != 3) return false;
    const cm_drawn_grid grid = cm_drawing_grid(scene, rows, columns, 16.0);
    scene->background = CM_COLOUR_INK;
    cm_env_picture(env, state, picture, sizeof picture);
    int cell = 0;
    for (const char *at = picture; *at && cell < cells; at++)
        if (*at != ' ' && *at != '\n') draw_letter(&grid, env->def->colours, *at, cell++, scene);
    return true;
}

/* ---- text ---- */

/* Copies a line without what sets colours; returns what follows it. */
static const char *copy_line(const char *from, char *to, size_t size) {
    for (size_t used = 0; *from && *from != '\n';) {
        if (*from == '\033') {
            from += strcspn(from, "m\n");
            from += *from == 'm';
            continue;
        }
        if (used + 1 < size) to[used++] = *from, to[used] = '\0';
        from++;
    }
    return from + (*from == '\n');
}

static void draw_text(const cm_env *env, const void *state, cm_scene *scene) {
    const double margin = 16.0, largest = 14.0;
    char picture[CM_ENV_PICTURE_BYTES];
    int columns = 1, rows = 0;
    cm_env_picture(env, state, picture, sizeof picture);
    for (const char *at = picture; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL), rows++)
        columns = cm_text_line_width(at) > columns ? cm_text_line_width(at) : columns;
    const double size = fmin(largest, (scene->width - 2.0 * margin) / (columns * CM_TEXT_ADVANCE));
    scene->height = 2.0 * margin + 1.25 * size * (rows > 0 ? rows : 1);
    double y = margin + size;
    for (const char *at = picture; *at; y += 1.25 * size) {
        char line[512] = "";
        at = copy_line(at, line, sizeof line);
        cm_scene_text(scene, margin, y, size, CM_ANCHOR_START, CM_COLOUR_INK, line);
    }
}

/* ---- all ---- */

void cm_env_draw(const cm_env *env, const void *state, const cm_env_moment *moment, cm_scene *scene) {
    cm_scene_begin(scene, CM_ENV_DRAWN, CM_ENV_DRAWN, CM_COLOUR_PAPER);
    if (env->def->draw) env->def->draw(&env->params, cm_env_rules_of(state), moment, scene);
    if (scene->shapes > 0 || scene->status != CM_OK) return;
    if (draw_board(env, state, moment, scene) || draw_grid(env, state, scene)) return;
    if (draw_observation(env, state, scene)) return;
    draw_text(env, state, scene);
}

static void name_step(const cm_env *env, const void *state, const cm_env_moment *moment, char *text, size_t size) {
    const int steps = ((const cm_env_common *)state)->steps;
    char name[32] = "";
    if (moment->action >= 0) cm_env_action_name(env, moment->action, name, sizeof name);
    if (moment->action < 0 || steps == 0) {
        snprintf(text, size, "%s", env->spec.name);
    } else if (env->spec.players == 2) {
        snprintf(text, size, "move %d: %c %s", steps, "xo"[moment->player], name);
    } else {
        snprintf(text, size, "step %d: %s", steps, name);
    }
}

static void name_result(const cm_env *env, const void *state, double total, char *text, size_t size) {
    text[0] = '\0';
    if (env->spec.players == 1) {
        snprintf(text, size, "return %.6g", total);
    } else if (cm_env_ended(state)) {
        snprintf(text, size, "%s", total > 0.0 ? "x wins" : total < 0.0 ? "o wins" : "a draw");
    }
}

void cm_env_draw_caption(const cm_env *env, const void *state, const cm_env_moment *moment, double total,
                         cm_scene *scene) {
    const double high = 24.0, size = 11.0, margin = 10.0, base = scene->height + 16.0;
    char step[64], result[32];
    name_step(env, state, moment, step, sizeof step);
    name_result(env, state, total, result, sizeof result);
    cm_scene_rectangle(scene, 0.0, scene->height, scene->width, high, 0.0, CM_COLOUR_SHADE);
    cm_scene_rectangle(scene, 0.0, scene->height, scene->width, 1.0, 0.0, CM_COLOUR_FAINT);
    cm_scene_text(scene, margin, base, size, CM_ANCHOR_START, CM_COLOUR_INK, step);
    cm_scene_text(scene, scene->width - margin, base, size, CM_ANCHOR_END, CM_COLOUR_INK, result);
    scene->height += high;
}

double cm_env_draw_rate(const cm_env *env) {
    return env->spec.players == 2 ? 2.0 : env->def->colours ? 15.0 : env->spec.cells > 0 ? 5.0 : 30.0;
}

cm_status cm_env_render(const cm_env *env, const void *state, const cm_env_moment *moment, double scale,
                        cm_image *image) {
    cm_scene scene = {.status = CM_OK};
    cm_env_draw(env, state, moment, &scene);
    const cm_status status = cm_scene_render(&scene, scale, image);
    cm_scene_free(&scene);
    return status;
}
