#include "agent/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/trace.h"

/* What peers tell each other of an episode. */
typedef struct record {
    double result;
    int32_t length, theirs;
} record;

struct cm_evaluator {
    cm_match *match;       /* owned */
    cm_player *players[2]; /* the agent and, in games of two, its opponent; owned */
    /* only with peers */
    cm_evaluation_peers peers;
    record *told;  /* [parts, most of a part] owned */
    cm_games both; /* games of all parts; owns its arrays, keeps no moves */
    size_t bytes;  /* of these arrays */
};

static cm_status take_games(cm_evaluator *v, const cm_evaluator_config *c) {
    const size_t parts = (size_t)c->peers->parts, n = (size_t)c->episodes, most = (n + parts - 1) / parts;
    v->peers = *c->peers;
    CM_TRY(cm_alloc(&v->told, parts * most, sizeof *v->told, "evaluation"));
    CM_TRY(cm_alloc(&v->both.result, n, sizeof *v->both.result, "evaluation"));
    CM_TRY(cm_alloc(&v->both.length, n, sizeof *v->both.length, "evaluation"));
    CM_TRY(cm_alloc(&v->both.theirs, n, sizeof *v->both.theirs, "evaluation"));
    v->bytes =
        parts * most * sizeof *v->told + n * (sizeof *v->both.result + sizeof *v->both.length + sizeof *v->both.theirs);
    return CM_OK;
}

/* Of this process's part: batches as large as one process has, but work for every worker. */
static cm_match_shape shape_of(const cm_evaluator_config *c, int parts) {
    cm_match_shape shape = cm_match_shape_of(c->episodes, c->pool);
    const int workers = cm_pool_size(c->pool), own = (c->episodes + parts - 1) / parts;
    if (parts == 1) return shape;
    shape.shards = (shape.shards + parts - 1) / parts;
    if (shape.shards < workers) shape.shards = own < workers ? own : workers;
    shape.rows = own < shape.rows * shape.shards ? (own + shape.shards - 1) / shape.shards : shape.rows;
    shape.lanes = shape.shards < workers ? shape.shards : workers;
    return shape;
}

static cm_status open_evaluator(cm_evaluator *v, const cm_evaluator_config *c) {
    static const cm_opponent uniform = {.kind = CM_OPPONENT_RANDOM};
    const cm_opponent *opponent = c->opponent ? c->opponent : &uniform;
    const int parts = c->peers ? c->peers->parts : 1;
    cm_match_config match = {.env = c->env,
                             .pool = c->pool,
                             .games = c->episodes,
                             .part = c->peers ? c->peers->part : 0,
                             .parts = parts,
                             .shape = shape_of(c, parts),
                             .tally = c->tally,
                             .stop = c->stop};
    if (parts > 1) CM_TRY(take_games(v, c));
    CM_TRY(c->agent ? cm_player_agent(c->agent, c->env, &match.shape, &v->players[0])
                    : cm_opponent_player(&uniform, NULL, c->env, &match.shape, &v->players[0]));
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
    free(v->told);
    cm_games_free(&v->both);
    free(v);
}

size_t cm_evaluator_memory(const cm_evaluator *v) {
    if (!v) return 0;
    size_t bytes = v->bytes + cm_match_bytes(v->match) + v->players[0]->bytes;
    return v->players[1] ? bytes + v->players[1]->bytes : bytes;
}

/* The episodes of all parts, in the order of their numbers. */
static cm_status merge(cm_evaluator *v, int episodes) {
    const cm_games *own = cm_match_games(v->match);
    const int parts = v->peers.parts, most = (episodes + parts - 1) / parts;
    record *mine = v->told + (size_t)v->peers.part * (size_t)most;
    for (int i = 0; i < own->count; i++) mine[i] = (record){own->result[i], own->length[i], own->theirs[i]};
    CM_TRY(v->peers.gather(v->peers.context, mine, (size_t)most * sizeof *mine, v->told));
    v->both.count = episodes;
    for (int i = 0; i < episodes; i++) {
        const record *told = &v->told[(size_t)(i % parts) * (size_t)most + (size_t)(i / parts)];
        v->both.result[i] = told->result;
        v->both.length[i] = told->length;
        v->both.theirs[i] = (uint8_t)told->theirs;
    }
    return CM_OK;
}

cm_status cm_evaluator_run(cm_evaluator *v, int episodes, uint64_t seed, double *returns, cm_evaluation *out) {
    const bool has_peers = v->told != NULL;
    const cm_games *games = has_peers ? &v->both : cm_match_games(v->match);
    cm_score score;
    CM_TRACE_BEGIN("evaluate");
    cm_status status = cm_match_run(v->match, episodes, seed, 0);
    CM_TRACE_END();
    if (has_peers) status = v->peers.agree(v->peers.context, status);
    CM_TRY(status);
    if (has_peers) CM_TRY(merge(v, episodes));
    cm_games_score(games, &score);
    *out = score.all;
    if (returns) memcpy(returns, games->result, (size_t)episodes * sizeof *returns);
    return CM_OK;
}
