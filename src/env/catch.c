/* Catch (bsuite): a ball falls down a grid, a paddle in the last row must stand under it. The ball's column is chance.
 */
#include <string.h>

#include "env/board.h"
#include "env/control.h"
#include "env/drawing.h"

typedef struct cm_catch {
    int32_t ball_row, ball_column, paddle, unused;
} cm_catch;

static const char *const channels[] = {"ball or paddle"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    if (params->rows == 0) params->rows = 10;
    if (params->columns == 0) params->columns = 5;
    spec->rank = 3;
    spec->shape[0] = params->rows, spec->shape[1] = params->columns, spec->shape[2] = 1;
    spec->observation_unit = 1.0f;
    spec->channels = channels;
    spec->cells = params->rows * params->columns;
    spec->actions = 3;
    spec->max_plies = params->rows - 1;
    spec->reward_threshold = 1.0;
    spec->symmetries = params->columns % 2 == 1 ? 2 : 1; /* the paddle starts in the middle */
    spec->reset_outcomes = 1;
    spec->rules_size = sizeof(cm_catch);
    return CM_OK;
}

static void place(const cm_env_params *params, cm_catch *s, int column) {
    s->ball_row = 0, s->ball_column = column;
    s->paddle = params->columns / 2, s->unused = 0;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    place(params, (cm_catch *)rules, cm_pcg64_below(random, params->columns));
}

static cm_status reset_with(const cm_env_params *params, void *rules, const int32_t *outcomes) {
    if (outcomes[0] < 0 || outcomes[0] >= params->columns) {
        return cm_fail(CM_ERR_INPUT, "the ball's column must be in [0, %d), got %d", params->columns, outcomes[0]);
    }
    place(params, (cm_catch *)rules, outcomes[0]);
    return CM_OK;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    cm_catch *s = (cm_catch *)rules;
    int paddle = s->paddle + action - 1;
    s->paddle = paddle < 0 ? 0 : paddle >= params->columns ? params->columns - 1 : paddle;
    s->ball_row++;
    return cm_board_outcome(s->ball_row == params->rows - 1, s->ball_column == s->paddle ? 1 : -1);
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const cm_catch *s = (const cm_catch *)rules;
    memset(observation, 0, (size_t)(params->rows * params->columns) * sizeof *observation);
    observation[s->ball_row * params->columns + s->ball_column] = 1.0f;
    observation[(params->rows - 1) * params->columns + s->paddle] = 1.0f;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    const cm_catch *s = (const cm_catch *)rules;
    memset(cells, 0, (size_t)(params->rows * params->columns) * sizeof *cells);
    cells[s->ball_row * params->columns + s->ball_column] = 2;
    cells[(params->rows - 1) * params->columns + s->paddle] = 1;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    const cm_catch *s = (const cm_catch *)rules;
    text[0] = '\0';
    for (int r = 0; r < params->rows; r++) {
        char line[65] = "";
        memset(line, '.', (size_t)params->columns);
        if (r == params->rows - 1) line[s->paddle] = '=';
        if (r == s->ball_row) line[s->ball_column] = 'o';
        cm_picture_line(text, size, "%s", line);
    }
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    const char *const names[] = {"left", "stay", "right"};
    cm_name_pick(text, size, names[action]);
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    (void)index;
    int columns = params->columns;
    for (int cell = 0; cell < params->rows * columns; cell++) {
        cell_map[cell] = cell - cell % columns + columns - 1 - cell % columns;
    }
    for (int action = 0; action < 3; action++) action_map[action] = 2 - action;
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)ended; /* just where the ball is in the last row, as max_plies says */
    const cm_catch *s = (const cm_catch *)rules;
    CM_TRY(cm_env_check_int("its ball's row", s->ball_row, steps, steps));
    CM_TRY(cm_env_check_int("its ball's column", s->ball_column, 0, params->columns - 1));
    return cm_env_check_int("its paddle's column", s->paddle, 0, params->columns - 1);
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_catch *s = (const cm_catch *)rules;
    const cm_drawn_grid grid = cm_drawing_grid(scene, params->rows, params->columns, 16.0);
    const double gap = 0.05 * grid.cell, side = grid.cell - 2.0 * gap;
    const int ball = s->ball_row * params->columns + s->ball_column, cells = params->rows * params->columns;
    const int paddle = cells - params->columns + s->paddle;
    (void)moment;
    for (int cell = 0; cell < cells; cell++)
        cm_scene_rectangle(scene, cm_drawing_x(&grid, cell) - 0.5 * side, cm_drawing_y(&grid, cell) - 0.5 * side, side,
                           side, 0.1 * side, CM_COLOUR_SHADE);
    cm_scene_rectangle(scene, cm_drawing_x(&grid, paddle) - 0.5 * side, cm_drawing_y(&grid, paddle) + 0.2 * side, side,
                       0.3 * side, 0.1 * side, CM_COLOUR_BLUE);
    cm_scene_circle(scene, cm_drawing_x(&grid, ball), cm_drawing_y(&grid, ball) - 0.12 * side, 0.3 * side,
                    CM_COLOUR_ORANGE);
}

CM_ENV_DEF(cm_env_catch, check, .name = "catch", .about = "Move a paddle under a falling ball",
           .options = CM_ENV_ROWS | CM_ENV_COLUMNS, .describe = describe, .reset = reset, .step = step,
           .observe = observe, .picture = picture, .action_name = action_name, .board = board, .symmetry = symmetry,
           .reset_with = reset_with, .draw = draw);
