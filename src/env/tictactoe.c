#include "env/tictactoe.h"

#include <string.h>

#include "env/board.h"
#include "env/drawing.h"
#include "env/solver.h"

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    cm_board_describe(spec, 3, 3, 9);
    spec->symmetries = 8;
    spec->rules_size = sizeof(cm_tictactoe);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    memset(rules, 0, sizeof(cm_tictactoe));
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    int result;
    bool ended = cm_tictactoe_play((cm_tictactoe *)rules, action, &result);
    return cm_board_outcome(ended, result);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    (void)params;
    for (int a = 0; a < 9; a++) mask[a] = cm_tictactoe_is_legal((const cm_tictactoe *)rules, a);
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return ((const cm_tictactoe *)rules)->ply % 2;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    (void)params;
    const cm_tictactoe *s = (const cm_tictactoe *)rules;
    for (int c = 0; c < 9; c++) cells[c] = (s->stones[0] >> c & 1) + 2 * (s->stones[1] >> c & 1);
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    (void)params;
    cm_board_dihedral(index, 3, 9, cell_map, action_map);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)params;
    const cm_tictactoe *s = (const cm_tictactoe *)rules;
    CM_TRY(cm_env_check_int("its ply", s->ply, steps, steps));
    CM_TRY(cm_board_check_stones(s->stones[0], s->stones[1], 0777, steps));
    const bool is_won = cm_tictactoe_has_line(s->stones[0]) || cm_tictactoe_has_line(s->stones[1]);
    return cm_board_check_end(is_won || steps == 9, ended);
}

static void draw_stone(cm_scene *scene, const cm_drawn_grid *grid, int cell, int player) {
    const double x = cm_drawing_x(grid, cell), y = cm_drawing_y(grid, cell), reach = 0.26 * grid->cell;
    const double thickness = 0.12 * grid->cell;
    if (player == 0) {
        cm_scene_line(scene, x - reach, y - reach, x + reach, y + reach, thickness, CM_COLOUR_RED);
        cm_scene_line(scene, x - reach, y + reach, x + reach, y - reach, thickness, CM_COLOUR_RED);
    } else {
        cm_scene_ring(scene, x, y, 1.1 * reach, thickness, CM_COLOUR_BLUE, CM_COLOUR_PAPER);
    }
}

/* The last one's cell is underlined. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_drawn_grid grid = cm_drawing_grid(scene, 3, 3, 24.0);
    int32_t cells[9];
    board(params, rules, cells);
    cm_drawing_labels(scene, &grid, CM_COLOUR_GREY);
    for (int i = 1; i < 3; i++) {
        const double at = i * grid.cell, end = 3.0 * grid.cell;
        cm_scene_line(scene, grid.x + at, grid.y, grid.x + at, grid.y + end, 3.0, CM_COLOUR_FAINT);
        cm_scene_line(scene, grid.x, grid.y + at, grid.x + end, grid.y + at, 3.0, CM_COLOUR_FAINT);
    }
    for (int cell = 0; cell < 9; cell++)
        if (cells[cell] > 0) draw_stone(scene, &grid, cell, cells[cell] - 1);
    if (moment->cell < 0) return;
    const double x = cm_drawing_x(&grid, moment->cell), y = cm_drawing_y(&grid, moment->cell) + 0.43 * grid.cell;
    cm_scene_line(scene, x - 0.2 * grid.cell, y, x + 0.2 * grid.cell, y, 3.0, CM_COLOUR_YELLOW);
}

CM_ENV_DEF(cm_env_tictactoe, check, .name = "tictactoe", .about = "Three in a row on 3 x 3", .describe = describe,
           .reset = reset, .step = step, .legal = legal, .to_play = to_play, .board = board, .symmetry = symmetry,
           .solver = &cm_solver_tictactoe, .draw = draw);
