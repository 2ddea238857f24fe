/* A game as the Go Text Protocol knows it: moves of colours in any order, which may be taken back to the start.
 *
 * The environment's own state is made for the player who is to think. In Go it has a pass wherever a colour moves
 * twice in a row, and two passes in a row cancel each other: they end a game of the environment, but none of the
 * protocol. Go is judged by a board of its own (env/go.h), which knows all positions since the last setup.
 */
#ifndef CM_CLI_GTP_POSITION_H
#define CM_CLI_GTP_POSITION_H

#include "env/env.h"
#include "env/go.h"

enum { CM_GTP_VERTEX = 16, CM_GTP_COLUMNS = 25 };

typedef struct cm_gtp_move {
    int32_t player, action;
} cm_gtp_move;

typedef struct cm_gtp_position {
    const cm_env *env;  /* borrowed */
    void *state;        /* owned: that of the last cm_gtp_position_state */
    cm_go *go;          /* of Go: the board, owned; NULL: another game */
    int32_t *setup;     /* of Go: [cells], owned: stones before the first move, 0 empty, 1 black, 2 white */
    cm_gtp_move *moves; /* [count], owned */
    int count, capacity;
    int first; /* who moves first */
} cm_gtp_position;

/* Whether the protocol has words for such a game: of two, without chance, and listed. Errors: CM_ERR_INPUT. */
cm_status cm_gtp_check_game(const cm_env *env) CM_MUST_USE;

cm_status cm_gtp_position_open(cm_gtp_position *position, const cm_env *env) CM_MUST_USE;
void cm_gtp_position_close(cm_gtp_position *position); /* a zeroed one is fine */

void cm_gtp_position_clear(cm_gtp_position *position);

/* Go: stones[cells] (0 empty, 1 black, 2 white) in place of the game so far, with `first` to move. They are no moves,
 * so none are taken back. Errors: CM_ERR_INPUT if a chain of them has no liberty; the board is empty then. */
cm_status cm_gtp_position_set_up(cm_gtp_position *position, const int32_t *stones, int first) CM_MUST_USE;

/* A legal move of a player. Errors: CM_ERR_INPUT "illegal move: ..." says why; the position is as it was then. */
cm_status cm_gtp_position_play(cm_gtp_position *position, int player, int32_t action) CM_MUST_USE;

/* Takes back the last move. Errors: CM_ERR_INPUT "cannot undo" where there is none. */
cm_status cm_gtp_position_undo(cm_gtp_position *position) CM_MUST_USE;

int cm_gtp_position_to_play(cm_gtp_position *position); /* who has not moved last, or must move now */

/* The state of the environment in which `player` is to move, owned by the position until its next call; NULL: there is
 * none, as the game is over, or, in other games than Go, another one is to move. */
void *cm_gtp_position_state(cm_gtp_position *position, int player);

/* Go: the actions that lead to that state, "40,81,41", to be freed by the caller. Errors: CM_ERR_INPUT if the
 * environment has no such game; CM_ERR_MEMORY. */
cm_status cm_gtp_position_actions(cm_gtp_position *position, int player, char **text) CM_MUST_USE;

/* legal[A] of the player, all 0 where there is no state. */
void cm_gtp_position_legal(cm_gtp_position *position, int player, uint8_t *legal);

/* cells[spec.cells]: 0 empty, 1 black, 2 white. */
void cm_gtp_position_cells(cm_gtp_position *position, int32_t *cells);

/* Black's lead: in Go by area, without komi; in Othello of discs, where at
 * the end the winner gets the empty cells; else 1, 0 or -1. *is_over: the game has ended, by two
 * passes in Go. */
int cm_gtp_position_lead(cm_gtp_position *position, bool *is_over);

/* ---- vertices ---- */

/* The size of a board: its rows and columns. */
int cm_gtp_rows(const cm_env *env);
int cm_gtp_columns(const cm_env *env);

/* The cell in line `line` from the top, as rows of higher numbers stand above, and its row's number. */
int cm_gtp_cell(const cm_env *env, int line, int column);
int cm_gtp_row_number(const cm_env *env, int line);
char cm_gtp_letter(int column); /* A .. Z without I */

/* "D4", "pass", "swap-pieces": letters without I, and rows with the numbers that the game's moves have. */
void cm_gtp_vertex(const cm_env *env, int32_t action, char out[CM_GTP_VERTEX]);
/* The action; -1: it is none. */
int32_t cm_gtp_parse_vertex(const cm_env *env, const char *text);
#endif
