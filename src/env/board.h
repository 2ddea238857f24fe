/* What board games share: observation planes, pictures, cell names, symmetries. Cells are row-major, cell r * n + c;
 * row 0 is drawn on top; cell values are 0 empty, 1 player 0, 2 player 1. */
#ifndef CM_ENV_BOARD_H
#define CM_ENV_BOARD_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_BOARD_PLANES = 4 };
enum { CM_BOARD_CELLS = 1024, CM_BOARD_LETTERS = 26 };     /* cells and columns at most, where functions are left out */
extern const char *const cm_board_planes[CM_BOARD_PLANES]; /* own, opponent, player 0 to move, player 1 to move */

/* Fills what every two-player board game has in common: shape [rows, columns, 4], players, cells, rewards, plies. */
void cm_board_describe(cm_env_spec *spec, int rows, int columns, int actions);

/* observation[cells, 4] from cells[cells] (MiniZero's planes: own is the player to move). */
void cm_board_observe(const int32_t *cells, int count, int to_play, float *observation);

/* The eight maps of an n x n square: 0 identity, 1..3 turns by 90 degrees clockwise, 4..7 the mirror left-right and its
 * turns. cell_map[n * n]; more actions than cells (a pass) stay what they are. action_map [actions]. */
void cm_board_dihedral(int index, int n, int actions, int32_t *cell_map, int32_t *action_map);

/* Whether a row that leaves out `observe` (needs_planes), or `picture` and names, has what the functions below need in
 * its place: two players, `board` with a cell for each place of the planes of cm_board_describe, and not too many. */
bool cm_board_serves(const cm_env_def *def, const cm_env_spec *spec, bool needs_planes);

/* Of what cm_board_serves: "c4", or the letter of a column where actions are columns, or "pass" after the last cell;
 * false: it is none of these, as actions are neither columns nor cells (and a pass). */
bool cm_board_action_name(const cm_env_spec *spec, int action, char *text, size_t size);

/* Rows with numbers, columns with letters, ". x o" as cells; row r starts r * slant columns further right. */
void cm_board_picture(const int32_t *cells, int rows, int columns, int slant, char *text, size_t size);

/* The same of n x n crossings as Go names them: rows count from the bottom, and the letters have no i. */
void cm_board_points_picture(const int32_t *cells, int n, char *text, size_t size);

/* Adds a printf line to a picture; no end of line is needed. */
void cm_picture_line(char *text, size_t size, const char *format, ...) CM_PRINTF(3, 4);

/* "c4": column letter and row number from 1 at the top. */
void cm_board_cell_name(int cell, int columns, char *text, size_t size);

/* Of n x n crossings: "c4" as in cm_board_points_picture; n * n: "pass". As the Go Text Protocol names them. */
void cm_board_point_name(int point, int n, char *text, size_t size);

void cm_name_pick(char *text, size_t size, const char *name); /* copies a name, cut to size */

/* For `check` of a row: whether the stones of two players, one bit each, are on different bits of `cells`, and as many
 * as the two who alternate, player 0 first, put there in `steps` moves. Errors: CM_ERR_INPUT. */
cm_status cm_board_check_stones(uint64_t first, uint64_t second, uint64_t cells, int steps) CM_MUST_USE;

/* The same of an episode: whether it has ended just where its game is over. */
cm_status cm_board_check_end(bool is_over, bool ended) CM_MUST_USE;

/* The result for the mover: 1, 0 or -1 when `ended`, else 0. */
static inline cm_env_outcome cm_board_outcome(bool ended, int result) {
    cm_env_outcome out = {ended ? (double)result : 0.0, ended, false};
    return out;
}

#ifdef __cplusplus
}
#endif
#endif
