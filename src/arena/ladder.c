#include "arena/ladder.h"

#include <stdlib.h>
#include <string.h>

#include "arena/elo.h"
#include "core/arena.h"

double cm_side_points(const cm_side_score *score) {
    return score->games > 0 ? (score->wins + 0.5 * score->draws) / score->games : 0.0;
}

static cm_status alloc_players(cm_ladder *l, int players) {
    size_t n = (size_t)players;
    l->count = players;
    CM_TRY(cm_alloc(&l->pair, n * n, sizeof *l->pair, "a ladder"));
    CM_TRY(cm_alloc(&l->sum, n, sizeof *l->sum, "a ladder"));
    CM_TRY(cm_alloc(&l->rating, n, sizeof *l->rating, "a ladder"));
    CM_TRY(cm_alloc(&l->interval, n, sizeof *l->interval, "a ladder"));
    return cm_alloc(&l->order, n, sizeof *l->order, "a ladder");
}

void cm_ladder_free(cm_ladder *ladder) {
    free(ladder->pair);
    free(ladder->sum);
    free(ladder->rating);
    free(ladder->interval);
    free(ladder->order);
    memset(ladder, 0, sizeof *ladder);
}

/* ---- the games ---- */

static void add_score(cm_side_score *sum, const cm_side_score *part) {
    sum->games += part->games;
    sum->wins += part->wins;
    sum->draws += part->draws;
    sum->losses += part->losses;
}

static void note(cm_ladder *l, int i, int j, const cm_evaluation *result) {
    cm_side_score ours = {result->episodes, result->wins, result->draws, result->losses};
    cm_side_score theirs = {result->episodes, result->losses, result->draws, result->wins};
    l->pair[i * l->count + j] = ours;
    l->pair[j * l->count + i] = theirs;
    add_score(&l->sum[i], &ours);
    add_score(&l->sum[j], &theirs);
}

static cm_status play_pair(const cm_ladder_config *config, cm_ladder *l, int i, int j) {
    cm_match_config match = config->match;
    cm_match *played = NULL;
    cm_score score;
    match.players[0] = config->players[i];
    match.players[1] = config->players[j];
    CM_TRY(cm_match_create(&match, &played));
    cm_status status = cm_match_run(played, match.games, config->seed, config->opening);
    if (status == CM_OK || (status == CM_ERR_INTERRUPTED && cm_match_keep_ended(played) > 0)) {
        cm_games_score(cm_match_games(played), &score);
        note(l, i, j, &score.all);
        if (config->report) config->report(config->context, i, j, &l->pair[i * l->count + j]);
    }
    cm_match_destroy(played);
    return status;
}

/* ---- the ratings ---- */

static cm_status rate(cm_ladder *l) {
    size_t n = (size_t)l->count;
    double *points = NULL;
    CM_TRY(cm_alloc(&points, 2 * n * n, sizeof *points, "a ladder"));
    double *games = points + n * n;
    for (size_t k = 0; k < n * n; k++) {
        points[k] = l->pair[k].wins + 0.5 * l->pair[k].draws;
        games[k] = l->pair[k].games;
    }
    cm_status status = cm_elo_fit(l->count, points, games, l->rating, l->interval, &l->padded);
    free(points);
    return status;
}

/* Insertion: few players, and equal ones keep their order. */
static void sort_players(cm_ladder *l) {
    for (int i = 0; i < l->count; i++) {
        int at = i;
        for (; at > 0 && l->rating[l->order[at - 1]] < l->rating[i]; at--) l->order[at] = l->order[at - 1];
        l->order[at] = i;
    }
}

static cm_status play_all(const cm_ladder_config *config, cm_ladder *l) {
    for (int i = 0; i < config->count; i++) {
        for (int j = i + 1; j < config->count; j++) CM_TRY(play_pair(config, l, i, j));
    }
    return CM_OK;
}

static cm_status run(const cm_ladder_config *config, cm_ladder *l) {
    CM_TRY(alloc_players(l, config->count));
    const cm_status status = play_all(config, l);
    if (status != CM_OK && status != CM_ERR_INTERRUPTED) return status;
    CM_TRY(rate(l));
    sort_players(l);
    return status == CM_OK ? CM_OK : cm_fail(status, "the games were interrupted");
}

cm_status cm_ladder_run(const cm_ladder_config *config, cm_ladder *out) {
    memset(out, 0, sizeof *out);
    if (config->count < 2 || config->count > CM_ELO_MOST_PLAYERS) {
        return cm_fail(CM_ERR_INPUT, "a ladder: 2 to %d players, got %d", CM_ELO_MOST_PLAYERS, config->count);
    }
    cm_status status = run(config, out);
    if (status != CM_OK && status != CM_ERR_INTERRUPTED) cm_ladder_free(out);
    return status;
}
