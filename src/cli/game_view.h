/* A game that is played at the command line, as text. */
#ifndef CM_CLI_GAME_VIEW_H
#define CM_CLI_GAME_VIEW_H

#include "arena/game.h"
#include "cli/view.h"

/* Adds the position, with `note` next to it, or below it once that was too wide to stand next to it. A star marks the
 * empty cell `best`; -1: none. */
void cm_game_draw(cm_game *game, const cm_view *view, int best, const cm_text *note, cm_text *out);

/* Adds to a note for cm_game_draw: "WHO b2, expects +0.31" (the Q of the action) and the table of the moves that the
 * agent has considered; without an analysis (NULL): "WHO b2, at random". */
void cm_game_tell_move(const cm_game *game, const cm_view *view, const char *who, int32_t action,
                       const cm_analysis *analysis, cm_text *note);
#endif
