/* GoGui's commands by which it learns the rules of a game that is not Go (its manual, "Rules of Other Games"). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/gtp.h"

static cm_status run_game_id(cm_gtp *gtp) {
    char name[sizeof gtp->env->spec.name];
    snprintf(name, sizeof name, "%s", gtp->env->def->name);
    name[0] = (char)toupper((unsigned char)name[0]);
    cm_text_add(&gtp->answer, "%s", name);
    return CM_OK;
}

static cm_status run_board(cm_gtp *gtp) {
    int32_t cells[CM_ENV_MAX_SEARCHED];
    const cm_env *env = gtp->env;
    cm_gtp_position_cells(&gtp->game, cells);
    for (int line = 0; line < cm_gtp_rows(env); line++) {
        for (int c = 0; c < cm_gtp_columns(env); c++)
            cm_text_add(&gtp->answer, "%s%c",
                        c > 0      ? " "
                        : line > 0 ? "\n"
                                   : "",
                        ".XO"[cells[cm_gtp_cell(env, line, c)]]);
    }
    return CM_OK;
}

static cm_status run_board_size(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "%d", cm_gtp_columns(gtp->env));
    return CM_OK;
}

/* None after the end. */
static cm_status run_legal_moves(cm_gtp *gtp) {
    uint8_t legal[CM_ENV_MAX_SEARCHED];
    bool is_over;
    (void)cm_gtp_position_lead(&gtp->game, &is_over);
    cm_gtp_position_legal(&gtp->game, cm_gtp_position_to_play(&gtp->game), legal);
    for (int a = 0; !is_over && a < gtp->env->spec.actions; a++) {
        char name[CM_GTP_VERTEX];
        if (!legal[a]) continue;
        cm_gtp_vertex(gtp->env, a, name);
        cm_text_add(&gtp->answer, "%s%s", gtp->answer.used ? " " : "", name);
    }
    return CM_OK;
}

static cm_status run_side_to_move(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "%s", cm_gtp_position_to_play(&gtp->game) == 0 ? "black" : "white");
    return CM_OK;
}

/* Nothing while the game goes on. */
static cm_status run_final_result(cm_gtp *gtp) {
    bool is_over;
    const double lead = cm_gtp_position_lead(&gtp->game, &is_over) - (gtp->game.go ? gtp->env->params.komi : 0.0);
    if (is_over) cm_text_add(&gtp->answer, "%s", lead > 0.0 ? "Black wins" : lead < 0.0 ? "White wins" : "Draw");
    return CM_OK;
}

const cm_gtp_command cm_gtp_gogui[] = {
    {"gogui-rules_game_id", 0, false, run_game_id},
    {"gogui-rules_board", 0, false, run_board},
    {"gogui-rules_board_size", 0, false, run_board_size},
    {"gogui-rules_legal_moves", 0, false, run_legal_moves},
    {"gogui-rules_side_to_move", 0, false, run_side_to_move},
    {"gogui-rules_final_result", 0, false, run_final_result},
    CM_GTP_END,
};
