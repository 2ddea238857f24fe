/* Positions as people read them: the board, and the moves that an agent considers. Players 0 and 1 are x and o. */
#ifndef CM_CLI_VIEW_H
#define CM_CLI_VIEW_H

#include "arena/analyse.h"
#include "cli/command.h"
#include "core/text.h"

enum { CM_VIEW_LEAST = 24 }; /* no output is made for less */

typedef struct cm_view {
    bool tty;    /* stdout is a terminal; else neither colours nor anything that redraws */
    bool colour; /* on a terminal, unless NO_COLOR is set */
    bool utf8;   /* bars of block characters; else of # */
    int columns; /* that a line may have: those of the terminal less one, 79 where there is none; at least CM_VIEW_LEAST
                  */
    int rows;    /* of the terminal; 0: unknown */
} cm_view;

/* How stdout wants to be written to. */
cm_view cm_view_of_stdout(const cm_arguments *arguments);

/* Errors: CM_ERR_INPUT "play: needs a terminal of at least 58 columns, this one has 40" if stdout is a terminal that
 * has fewer than `columns`. */
cm_status cm_view_need_columns(const char *command, int columns) CM_MUST_USE;

/* Columns that positions and tables of moves take at least; `state` is one of them. */
int cm_view_least_columns(const cm_env *env, const void *state);

/* "x" or "o" with the colour of the player's stones. */
const char *cm_view_player(const cm_view *view, int player);

/* The one cell that is empty in `before` and not in `after`; -1 if there is none, or more than one. */
int cm_view_new_cell(const cm_env *env, const void *before, const void *after);

/* The actions that the search could choose from, best first: order[A]. By visits, among equals the agent's move and
 * then by prior. Returns how many. */
int cm_view_order(const cm_env *env, const cm_analysis *analysis, int32_t *order);

/* The cell that an action would fill, -1 if there is none. `scratch`, a state block [spec.state_size], is overwritten.
 */
int cm_view_cell(const cm_env *env, const void *state, int32_t action, void *scratch);

/* Adds the picture of a position. A grid has the colours of its row (env/env.h). On a board of two players stones are
 * coloured, that on cell `last` stands out, and a star marks the empty cell `best`; -1: none. */
void cm_view_board(const cm_view *view, const cm_env *env, const void *state, int last, int best, cm_text *out);

/* A value for people: "+0.31", "+195". */
void cm_view_value(double value, char out[16]);

/* Adds a table of the `most` best moves: name, visits and their share as a number and a bar, Q, prior. A star marks the
 * agent's move; where actions were drawn a last line says how many of the legal ones. A line has at most `columns`
 * columns. */
void cm_view_moves(const cm_view *view, const cm_env *env, const cm_analysis *analysis, int columns, int most,
                   cm_text *out);

/* Adds board and table, side by side where the width allows it for a table of at least `least` columns, those of the
 * widest one that is to stand on this side of the board. */
void cm_view_together(const cm_view *view, const cm_text *board, const cm_text *table, int least, cm_text *out);

/* Columns for a table that stands next to (or below) this board. */
int cm_view_table_columns(const cm_view *view, const cm_text *board);
#endif
