#include "agent/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/trace.h"

struct cm_evaluator {
    cm_match *match;       /* owned */
    cm_player *players[2]; /* the agent and, in games of two, its opponent; owned */
};

static cm_status open_evaluator(cm_evaluator *v, const cm_evaluator_config *c) {
    static const cm_opponent uniform = {.kind = CM_OPPONENT_RANDOM};
    const cm_opponent *opponent = c->opponent ? c->opponent : &uniform;
    cm_match_config match = {.env = c->env,
                             .pool = c->pool,
                             .games = c->episodes,
                             .shape = cm_match_shape_of(c->episodes, c->pool),
                             .stop = c->stop};
    CM_TRY(cm_player_agent(c->agent, c->env, &match.shape, &v->players[0]));
    if (c->env->spec.players == 2) {
        CM_TRY(cm_opponent_player(opponent, NULL, c->env, &match.shape, &v->players[1]));
    }
    memcpy(match.players, v->players, sizeof v->players);
    return cm_match_create(&match, &v->match);
}

cm_status cm_evaluator_create(const cm_evaluator_config *config, cm_evaluator **out) {
    cm_evaluator *v = NULL;
    *out = NULL;
    if (config->episodes < 1) {
        return cm_fail(CM_ERR_INPUT, "an evaluation needs at least 1 episode, got %d", config->episodes);
    }
    CM_TRY(cm_alloc(&v, 1, sizeof *v, "evaluation"));
    cm_status status = open_evaluator(v, config);
    if (status == CM_OK) {
        *out = v;
    } else {
        cm_evaluator_destroy(v);
    }
    return status;
}

void cm_evaluator_destroy(cm_evaluator *v) {
    if (!v) return;
    cm_match_destroy(v->match);
    for (int i = 0; i < 2; i++) cm_player_destroy(v->players[i]);
    free(v);
}

size_t cm_evaluator_memory(const cm_evaluator *v) {
    if (!v) return 0;
    size_t bytes = cm_match_bytes(v->match) + v->players[0]->bytes;
    return v->players[1] ? bytes + v->players[1]->bytes : bytes;
}

cm_status cm_evaluator_run(cm_evaluator *v, int episodes, uint64_t seed, double *returns, cm_evaluation *out) {
    const cm_games *games = cm_match_games(v->match);
    cm_score score;
    CM_TRACE_BEGIN("evaluate");
    cm_status status = cm_match_run(v->match, episodes, seed, 0);
    CM_TRACE_END();
    CM_TRY(status);
    cm_games_score(games, &score);
    *out = score.all;
    if (returns) memcpy(returns, games->result, (size_t)episodes * sizeof *returns);
    return CM_OK;
}
