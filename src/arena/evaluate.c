#include "arena/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/trace.h"

/* What ranks tell each other of an episode. */
typedef struct record {
    double result;
    int32_t length, theirs;
} record;

struct cm_evaluator {
    const cm_env *env;     /* borrowed */
    cm_match *match;       /* owned */
    cm_player *players[2]; /* the agent and, in games of two, its opponent; owned */
    cm_games games;        /* of all parts; owns its arrays, keeps no moves */
    int32_t *first;        /* actions of episode 0; owned; NULL: not kept */
    size_t bytes;          /* of these arrays */
    /* only with several ranks */
    cm_evaluation_ranks ranks;
    record *told; /* [parts, most of a part] owned */
};

static cm_status alloc_games(cm_evaluator *v, const cm_evaluator_config *c, int parts) {
    const size_t n = (size_t)c->episodes, most = parts > 1 ? (n + (size_t)parts - 1) / (size_t)parts : 0;
    if (parts > 1) {
        v->ranks = *c->ranks;
        CM_TRY(cm_alloc(&v->told, (size_t)parts * most, sizeof *v->told, "evaluation"));
    }
    CM_TRY(cm_alloc(&v->games.result, n, sizeof *v->games.result, "evaluation"));
    CM_TRY(cm_alloc(&v->games.length, n, sizeof *v->games.length, "evaluation"));
    CM_TRY(cm_alloc(&v->games.theirs, n, sizeof *v->games.theirs, "evaluation"));
    const int plies = c->env->spec.max_plies;
    const size_t steps = plies > 0 && plies < CM_MATCH_STEPS ? (size_t)plies : CM_MATCH_STEPS;
    const bool keeps = c->keeps_first && (!c->ranks || c->ranks->part == 0);
    if (keeps) CM_TRY(cm_alloc(&v->first, steps, sizeof *v->first, "evaluation"));
    v->bytes = keeps * steps * sizeof *v->first + (size_t)parts * most * sizeof *v->told +
               n * (sizeof *v->games.result + sizeof *v->games.length + sizeof *v->games.theirs);
    return CM_OK;
}

/* Of this process's part: batches as large as one process has, but work for every worker. */
static cm_match_shape shape_of(const cm_evaluator_config *c, int parts) {
    cm_match_shape shape = cm_match_shape_of(c->episodes, c->pool);
    const int workers = cm_pool_size(c->pool), own = (c->episodes + parts - 1) / parts;
    if (c->rows > 0 && c->rows < shape.rows) {
        shape.rows = c->rows, shape.shards = (own + c->rows - 1) / c->rows;
        shape.workers = shape.shards < workers ? shape.shards : workers;
        return shape;
    }
    if (parts == 1) return shape;
    shape.shards = (shape.shards + parts - 1) / parts;
    if (shape.shards < workers) shape.shards = own < workers ? own : workers;
    shape.rows = own < shape.rows * shape.shards ? (own + shape.shards - 1) / shape.shards : shape.rows;
    shape.workers = shape.shards < workers ? shape.shards : workers;
    return shape;
}

static cm_status open_evaluator(cm_evaluator *v, const cm_evaluator_config *c) {
    static const cm_opponent uniform = {.kind = CM_OPPONENT_RANDOM};
    const cm_opponent *opponent = c->opponent ? c->opponent : &uniform;
    const int parts = c->ranks ? c->ranks->parts : 1;
    v->env = c->env;
    CM_TRY(alloc_games(v, c, parts));
    cm_match_config match = {.env = c->env,
                             .pool = c->pool,
                             .games = c->episodes,
                             .part = c->ranks ? c->ranks->part : 0,
                             .parts = parts,
                             .shape = shape_of(c, parts),
                             .tally = c->tally,
                             .first = v->first,
                             .stop = c->stop};
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
    free(v->first);
    cm_games_free(&v->games);
    free(v);
}

size_t cm_evaluator_memory(const cm_evaluator *v) {
    if (!v) return 0;
    size_t bytes = v->bytes + cm_match_bytes(v->match) + v->players[0]->bytes;
    return v->players[1] ? bytes + v->players[1]->bytes : bytes;
}

const int32_t *cm_evaluator_first(const cm_evaluator *v, int *count) {
    *count = v->first ? cm_match_games(v->match)->length[0] : 0;
    return *count > 0 ? v->first : NULL;
}

static void put(cm_evaluator *v, int episode, const record *r) {
    v->games.result[episode] = r->result, v->games.length[episode] = r->length;
    v->games.theirs[episode] = (uint8_t)r->theirs;
}

/* The episodes of all parts, in the order of their numbers. */
static cm_status merge(cm_evaluator *v, int episodes) {
    const cm_games *own = cm_match_games(v->match);
    const int parts = v->told ? v->ranks.parts : 1, most = (episodes + parts - 1) / parts;
    record *mine = v->told ? v->told + (size_t)v->ranks.part * (size_t)most : NULL; /* NULL: they are all */
    for (int i = 0; i < own->count; i++) {
        const record r = {own->result[i], own->length[i], own->theirs[i]};
        if (mine)
            mine[i] = r;
        else
            put(v, i, &r);
    }
    v->games.count = episodes;
    if (!mine) return CM_OK;
    CM_TRY(v->ranks.gather(v->ranks.context, mine, (size_t)most * sizeof *mine, v->told));
    for (int i = 0; i < episodes; i++) put(v, i, &v->told[(size_t)(i % parts) * (size_t)most + (size_t)(i / parts)]);
    return CM_OK;
}

/* Leaves those that count, without gaps: all, unless they were broken off. */
static void keep_ended(cm_evaluator *v) {
    int kept = 0;
    for (int i = 0; i < v->games.count; i++) {
        const record r = {v->games.result[i], v->games.length[i], v->games.theirs[i]};
        if (r.length > 0) put(v, kept++, &r);
    }
    v->games.count = kept;
}

cm_status cm_evaluator_run(cm_evaluator *v, int episodes, uint64_t seed, double *returns, cm_evaluation *out) {
    cm_score score = {.all = {.episodes = 0}};
    CM_TRACE_BEGIN("evaluate");
    cm_status status = cm_match_run(v->match, episodes, seed, 0);
    CM_TRACE_END();
    if (v->told) status = v->ranks.agree(v->ranks.context, status);
    const bool is_broken = status == CM_ERR_INTERRUPTED;
    if (!is_broken) CM_TRY(status);
    CM_TRY(merge(v, episodes));
    keep_ended(v);
    if (v->games.count > 0) cm_games_score(&v->games, &score);
    cm_evaluation_clip(&v->env->spec, &score.all);
    *out = score.all;
    if (returns) memcpy(returns, v->games.result, (size_t)out->episodes * sizeof *returns);
    return is_broken ? cm_fail(CM_ERR_INTERRUPTED, "the games were interrupted") : CM_OK;
}
