/* The games that visitors play, at tables that a thread of their own serves one after the other: the caller gives an
 * order and looks for its result later, so that the server never waits for a search. */
#ifndef CM_SERVE_PLAYS_H
#define CM_SERVE_PLAYS_H

#include "serve/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tables at a time, seconds without an order after which one is closed. */
enum { CM_PLAYS = 8, CM_PLAYS_IDLE = 1800 };

typedef enum cm_plays_order {
    CM_PLAYS_MOVE,
    CM_PLAYS_STEP,
    CM_PLAYS_HINT,
    CM_PLAYS_UNDO,
    CM_PLAYS_TREE
} cm_plays_order;

typedef struct cm_plays cm_plays;

/* Starts the thread. The caller owns it. Errors: CM_ERR_MEMORY, CM_ERR_IO. */
cm_status cm_plays_create(cm_plays **out) CM_MUST_USE;
void cm_plays_destroy(cm_plays *plays); /* ends searches early; NULL is allowed */

int cm_plays_file(const cm_plays *plays); /* an eventfd: a table has changed */
void cm_plays_tick(cm_plays *plays);      /* closes tables that are not used */

/* Opens a table, in place of the one that was used longest ago where all are taken. Its number in *game. Errors:
 * CM_ERR_STATE if all are busy. What is wrong with the run is told by the table. */
cm_status cm_plays_begin(cm_plays *plays, const cm_play_table_config *config, int *game) CM_MUST_USE;

/* Gives an order; `action` of CM_PLAYS_MOVE. Errors: CM_ERR_INPUT if there is no such table, CM_ERR_STATE while it is
 * busy. */
cm_status cm_plays_order_of(cm_plays *plays, int game, cm_plays_order order, int action) CM_MUST_USE;

/* {game, version, busy, error, table} as JSON of malloc(), `table` as cm_play_table_tell has it, null before it is
 * open; with `tree` what the last CM_PLAYS_TREE has found in its place. Errors: CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_plays_tell(cm_plays *plays, int game, bool tree, char **out) CM_MUST_USE;

/* Puts the array "games": {game, version, busy} of each. */
void cm_plays_put(cm_plays *plays, cm_json_writer *json);

#ifdef __cplusplus
}
#endif
#endif
