#include "env/connect4.h"

#include <string.h>

#include "env/board.h"
#include "env/drawing.h"
#include "env/solver.h"

enum { ROWS = CM_CONNECT4_ROWS, COLUMNS = CM_CONNECT4_COLUMNS, CELLS = CM_CONNECT4_CELLS };

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    cm_board_describe(spec, ROWS, COLUMNS, COLUMNS);
    spec->symmetries = 2;
    spec->rules_size = sizeof(cm_connect4);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    memset(rules, 0, sizeof(cm_connect4));
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    int result;
    bool ended = cm_connect4_play((cm_connect4 *)rules, action, &result);
    return cm_board_outcome(ended, result);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)params;
    for (int a = 0; a < COLUMNS; a++) mask[a] = cm_connect4_is_legal((const cm_connect4 *)rules, a);
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return (int)(((const cm_connect4 *)rules)->ply & 1);
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    (void)params;
    const cm_connect4 *s = (const cm_connect4 *)rules;
    for (int cell = 0; cell < CELLS; cell++) {
        int bit = 7 * (cell % COLUMNS) + ROWS - 1 - cell / COLUMNS;
        cells[cell] = (int)(s->stones[0] >> bit & 1) + 2 * (int)(s->stones[1] >> bit & 1);
    }
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    (void)params, (void)index;
    for (int cell = 0; cell < CELLS; cell++) cell_map[cell] = cell - cell % COLUMNS + COLUMNS - 1 - cell % COLUMNS;
    for (int action = 0; action < COLUMNS; action++) action_map[action] = COLUMNS - 1 - action;
}

/* Stones lie on each other: what is one above the highest of a column is the columns' bottoms and stones, added. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)params;
    const cm_connect4 *s = (const cm_connect4 *)rules;
    uint64_t cells = 0, bottoms = 0;
    for (int c = 0; c < COLUMNS; c++) cells |= (uint64_t)0x3f << 7 * c, bottoms |= (uint64_t)1 << 7 * c;
    CM_TRY(cm_env_check_int("its ply", s->ply, steps, steps));
    CM_TRY(cm_board_check_stones(s->stones[0], s->stones[1], cells, steps));
    const uint64_t all = s->stones[0] | s->stones[1];
    if ((all + bottoms) & all) return cm_fail(CM_ERR_INPUT, "a stone of it lies on an empty cell");
    const bool is_won = cm_connect4_has_four(s->stones[0]) || cm_connect4_has_four(s->stones[1]);
    return cm_board_check_end(is_won || steps == CELLS, ended);
}

/* Discs behind a board with holes. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_drawn_grid grid = cm_drawing_grid(scene, ROWS, COLUMNS, 22.0);
    int32_t cells[CELLS];
    board(params, rules, cells);
    cm_drawing_labels(scene, &grid, CM_COLOUR_GREY);
    cm_scene_rectangle(scene, grid.x - 2.0, grid.y - 2.0, COLUMNS * grid.cell + 4.0, ROWS * grid.cell + 4.0, 8.0,
                       CM_COLOUR_BLUE);
    for (int cell = 0; cell < CELLS; cell++) {
        static const cm_colour colours[] = {CM_COLOUR_PAPER, CM_COLOUR_RED, CM_COLOUR_YELLOW};
        cm_scene_circle(scene, cm_drawing_x(&grid, cell), cm_drawing_y(&grid, cell), 0.41 * grid.cell,
                        colours[cells[cell]]);
    }
    cm_drawing_mark(scene, &grid, moment, CM_COLOUR_INK);
}

CM_ENV_DEF(cm_env_connect4, check, .name = "connect4", .about = "Four in a row with falling stones on 6 x 7",
           .describe = describe, .reset = reset, .step = step, .legal = legal, .to_play = to_play, .board = board,
           .symmetry = symmetry, .solver = &cm_solver_connect4, .draw = draw);
