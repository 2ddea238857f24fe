#include "env/gomoku.h"

#include <string.h>

#include "env/board.h"
#include "env/drawing.h"

enum { CELLS = CM_GOMOKU_SIZE * CM_GOMOKU_SIZE };

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    const int n = params->size;
    cm_board_describe(spec, n, n, n * n);
    spec->symmetries = 8;
    spec->rules_size = cm_gomoku_bytes(n);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)random;
    memset(rules, 0, cm_gomoku_bytes(params->size));
    ((cm_gomoku *)rules)->n = params->size;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    int result;
    bool ended = cm_gomoku_play((cm_gomoku *)rules, action, params->exactly_five, &result);
    return cm_board_outcome(ended, result);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    const uint8_t *cell = ((const cm_gomoku *)rules)->cell;
    for (int a = 0; a < params->size * params->size; a++) mask[a] = cell[a] == 0;
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return ((const cm_gomoku *)rules)->ply % 2;
}

static void board(const cm_env_params *params, const void *rules, int32_t *cells) {
    const uint8_t *cell = ((const cm_gomoku *)rules)->cell;
    for (int c = 0; c < params->size * params->size; c++) cells[c] = cell[c];
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    int32_t cells[CELLS];
    board(params, rules, cells);
    cm_board_points_picture(cells, params->size, text, size);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    cm_board_point_name(action, params->size, text, size);
}

static void symmetry(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map) {
    cm_board_dihedral(index, params->size, params->size * params->size, cell_map, action_map);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_gomoku *s = (const cm_gomoku *)rules;
    int64_t stones[3] = {0, 0, 0};
    CM_TRY(cm_env_check_int("its size", s->n, params->size, params->size));
    CM_TRY(cm_env_check_int("its ply", s->ply, steps, steps));
    for (int c = 0; c < params->size * params->size; c++) {
        CM_TRY(cm_env_check_int("a cell of it", s->cell[c], 0, 2));
        stones[s->cell[c]]++;
    }
    CM_TRY(cm_env_check_int("the number of player 0's stones", stones[1], (steps + 1) / 2, (steps + 1) / 2));
    CM_TRY(cm_env_check_int("the number of player 1's stones", stones[2], steps / 2, steps / 2));
    bool is_over = steps == params->size * params->size;
    for (int c = 0; c < params->size * params->size; c++)
        is_over |= s->cell[c] && cm_gomoku_wins(s, c, params->exactly_five);
    return cm_board_check_end(is_over, ended);
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    int32_t cells[CELLS];
    board(params, rules, cells);
    cm_drawing_crossings(scene, params->size, cells, moment);
}

CM_ENV_DEF(cm_env_gomoku, check, .name = "gomoku", .about = "Five in a row on n x n", .min_size = 5,
           .max_size = CM_GOMOKU_SIZE, .default_size = 15, .options = CM_ENV_SIZE | CM_ENV_EXACTLY_FIVE,
           .describe = describe, .reset = reset, .step = step, .legal = legal, .to_play = to_play, .picture = picture,
           .action_name = action_name, .board = board, .symmetry = symmetry, .draw = draw);
