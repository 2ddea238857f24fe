#include "cli/game_view.h"

#include <stdio.h>

enum { TABLE_ROWS = 6 };

void cm_game_tell_move(const cm_game *game, const cm_view *view, const char *who, int32_t action,
                       const cm_analysis *analysis, cm_text *note) {
    char name[16], q[16], line[160];
    cm_text board = {0};
    cm_env_action_name(game->env, action, name, sizeof name);
    if (!analysis) {
        cm_text_add(note, "%s %s, at random\n", who, name);
        return;
    }
    cm_view_value((double)analysis->q[action], q);
    snprintf(line, sizeof line, "%s %s, expects %s", who, name, q);
    cm_text_wrap(note, view->columns, line);
    cm_view_board(view, game->env, game->state, -1, -1, &board);
    cm_view_moves(view, game->env, analysis, cm_view_table_columns(view, &board), TABLE_ROWS, note);
}

void cm_game_draw(cm_game *game, const cm_view *view, int best, const cm_text *note, cm_text *out) {
    const int width = cm_text_width(note);
    cm_text board = {0};
    if (width > game->note_width) game->note_width = width;
    cm_view_board(view, game->env, game->state, game->last_cell, best, &board);
    cm_view_together(view, &board, note, game->note_width, out);
}
