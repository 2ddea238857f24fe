#include "env/othello.h"

#include "env/board.h"
#include "env/drawing.h"

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    cm_board_describe(spec, 8, 8, CM_OTHELLO_ACTIONS);
    spec->symmetries = 4;  /* those that leave the start as it is */
    spec->max_plies = 120; /* a pass is always followed by one of at most 60 discs */
    spec->rules_size = sizeof(cm_othello);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params, (void)random;
    cm_othello_reset((cm_othello *)rules);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    int result;
    bool ended = cm_othello_play((cm_othello *)rules, action, &result);
    return cm_board_outcome(ended, result);
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return (int)(((const cm_othello *)rules)->ply & 1);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    const cm_othello *s = (const cm_othello *)rules;
    int mover = to_play(params, rules);
    uint64_t moves = cm_othello_moves(s->discs[mover], s->discs[1 - mover]);
    for (int a = 0; a < 64; a++) mask[a] = moves >> a & 1;
    mask[CM_OTHELLO_PASS] = moves == 0;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    (void)params;
    const cm_othello *s = (const cm_othello *)rules;
    for (int c = 0; c < 64; c++) cells[c] = (int)(s->discs[0] >> c & 1) + 2 * (int)(s->discs[1] >> c & 1);
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    const cm_othello *s = (const cm_othello *)rules;
    int32_t cells[64];
    board(params, rules, cells);
    cm_board_picture(cells, 8, 8, 0, text, size);
    cm_picture_line(text, size, "x %d  o %d", cm_othello_count(s->discs[0]), cm_othello_count(s->discs[1]));
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    (void)params;
    const int dihedral[4] = {0, 2, 5, 7}; /* identity, half turn, both diagonals */
    cm_board_dihedral(dihedral[index], 8, CM_OTHELLO_ACTIONS, cell_map, action_map);
}

/* A pass is followed by a disc, so that at most as many plies were passes as discs were placed, or one less where a
 * pass is due. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)params;
    const cm_othello *s = (const cm_othello *)rules;
    const uint64_t first = s->discs[0], second = s->discs[1];
    CM_TRY(cm_env_check_int("its ply", s->ply, steps, steps));
    if (first & second) return cm_fail(CM_ERR_INPUT, "a cell of it has discs of both players");
    const int mover = steps % 2, placed = cm_othello_count(first | second) - 4;
    const bool must_pass = !ended && cm_othello_moves(s->discs[mover], s->discs[1 - mover]) == 0;
    CM_TRY(cm_env_check_int("the number of discs that were placed", placed, (steps + 1 + must_pass) / 2, steps));
    const bool is_over = cm_othello_moves(first, second) == 0 && cm_othello_moves(second, first) == 0;
    return cm_board_check_end(is_over, ended);
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    enum { BOARD = 0x2f8f5b, LINE = 0x1c6b41, BLACK = 0x22262b, WHITE = 0xfbfbf8 };
    const cm_drawn_grid grid = cm_drawing_grid(scene, 8, 8, 22.0);
    int32_t cells[64];
    board(params, rules, cells);
    cm_drawing_labels(scene, &grid, CM_COLOUR_GREY);
    cm_scene_rectangle(scene, grid.x - 3.0, grid.y - 3.0, 8.0 * grid.cell + 6.0, 8.0 * grid.cell + 6.0, 4.0, BOARD);
    cm_drawing_lines(scene, &grid, false, LINE);
    for (int cell = 0; cell < 64; cell++)
        if (cells[cell] > 0) cm_drawing_stone(scene, &grid, cell, cells[cell] == 1 ? BLACK : WHITE);
    cm_drawing_mark(scene, &grid, moment, CM_COLOUR_RED);
}

CM_ENV_DEF(cm_env_othello, check, .name = "othello", .about = "Turn over the opponent's discs on 8 x 8",
           .describe = describe, .reset = reset, .step = step, .legal = legal, .to_play = to_play, .picture = picture,
           .board = board, .symmetry = symmetry, .draw = draw);
