#include "cli/gtp_sgf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

/* Stones that were put there and not yet set up. */
typedef struct edit {
    int32_t stones[CM_GO_POINTS];
    bool is_due;
    int first;       /* to move; -1: not told */
    bool only_black; /* a handicap, after which White moves */
} edit;

static cm_status fit(const cm_gtp_position *p, const cm_sgf *sgf) {
    const int n = p->env->params.size;
    if (sgf->size == n) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its board is %d x %d, and the network of the run is for %d x %d", sgf->size,
                   sgf->size, n, n);
}

static void change(cm_gtp_position *p, edit *e, const cm_sgf_item *item) {
    if (!e->is_due) {
        *e = (edit){.is_due = true, .first = -1, .only_black = p->count == 0};
        cm_gtp_position_cells(p, e->stones);
    }
    if (item->kind == CM_SGF_TURN) e->first = item->player;
    if (item->kind == CM_SGF_ADD) e->stones[item->point] = 1 + item->player;
    if (item->kind == CM_SGF_CLEAR) e->stones[item->point] = 0;
    e->only_black &= item->kind == CM_SGF_ADD && item->player == 0;
}

static cm_status set_up(cm_gtp_position *p, edit *e) {
    if (!e->is_due) return CM_OK;
    e->is_due = false;
    const int first = e->first >= 0 ? e->first : e->only_black ? 1 : cm_gtp_position_to_play(p);
    return cm_gtp_position_set_up(p, e->stones, first);
}

static cm_status play_items(cm_gtp_position *p, const cm_sgf *sgf, int before) {
    edit e = {.is_due = false};
    int moves = 0;
    for (int i = 0; i < sgf->count; i++) {
        const cm_sgf_item *item = &sgf->items[i];
        if (item->kind != CM_SGF_MOVE) {
            change(p, &e, item);
            continue;
        }
        if (++moves == before) return set_up(p, &e);
        CM_TRY(set_up(p, &e));
        const cm_status status = cm_gtp_position_play(p, item->player, item->point);
        if (status != CM_OK) return cm_fail_in(status, "move %d", moves);
    }
    if (before > moves + 1) return cm_fail(CM_ERR_INPUT, "it has %d moves, there is none before %d", moves, before);
    return set_up(p, &e);
}

cm_status cm_gtp_sgf_play(cm_gtp_position *p, const cm_sgf *sgf, int before) {
    cm_gtp_position loaded;
    CM_TRY(fit(p, sgf));
    cm_status status = cm_gtp_position_open(&loaded, p->env);
    if (status == CM_OK) status = play_items(&loaded, sgf, before);
    if (status != CM_OK) {
        cm_gtp_position_close(&loaded);
        return status;
    }
    cm_gtp_position_close(p);
    *p = loaded;
    return CM_OK;
}

cm_status cm_gtp_sgf_moves(const cm_env *env, const char *path, int move, char **text) {
    cm_sgf sgf;
    cm_gtp_position position;
    *text = NULL;
    if (!cm_sgf_serves(env)) return cm_fail(CM_ERR_INPUT, "--sgf: is for runs of go, not of %s", env->spec.name);
    CM_TRY(cm_sgf_read(path, &sgf));
    cm_status status = cm_gtp_position_open(&position, env);
    if (status == CM_OK) {
        status = cm_gtp_sgf_play(&position, &sgf, move + 1);
        if (status != CM_OK) status = cm_fail_in(status, "--sgf %s", path);
    }
    if (status == CM_OK) status = cm_gtp_position_actions(&position, cm_gtp_position_to_play(&position), text);
    cm_gtp_position_close(&position);
    cm_sgf_free(&sgf);
    return status;
}
