#include "arena/move_scores.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { BLOCKS_PER_WORKER = 4 };

typedef struct scoring {
    const cm_games *games;
    const cm_env *env;
    cm_exact *exact;
    cm_tally *tally;
    const cm_stop *stop;
    int workers, blocks;
    char *states;          /* [workers, state_size], owned */
    cm_move_scores *found; /* [blocks], owned              */
} scoring;

static void count_move(cm_value_keeping *keeping, const cm_exact_values *values, int action) {
    cm_value_keeping_count(keeping, values->legal > values->keeping, values->value[action] == values->best);
}

static cm_status score_game(const scoring *c, int worker, int game, cm_move_scores *found) {
    const cm_games *g = c->games;
    const int16_t *moves = g->moves + (size_t)game * (size_t)g->stride;
    char *state = c->states + (size_t)worker * c->env->spec.state_size;
    cm_env_outcome outcome;
    cm_exact_values values;
    cm_env_reset(c->env, state, 0);
    for (int ply = 0; ply < g->length[game]; ply++) {
        bool is_ours = ply >= g->opening[game] && cm_env_to_play(c->env, state) == g->theirs[game];
        if (cm_stop_asked(c->stop)) return cm_fail(CM_ERR_INTERRUPTED, "judging was broken off");
        if (is_ours) CM_TRY(cm_exact_solve(c->exact, worker, state, c->stop, &values));
        CM_TRY(cm_env_step(c->env, state, moves[ply], &outcome));
        if (!is_ours) continue;
        count_move(&found->all, &values, moves[ply]);
        count_move(&found->phase[cm_phase_of(c->env, ply)], &values, moves[ply]);
        cm_tally_add(c->tally, 0, 1);
    }
    cm_tally_add(c->tally, 1, 0);
    return CM_OK;
}

static cm_status score_block(void *context, int task, int worker) {
    scoring *c = context;
    int64_t games = c->games->count, first = games * task / c->blocks, end = games * (task + 1) / c->blocks;
    for (int64_t i = first; i < end; i++) CM_TRY(score_game(c, worker, (int)i, &c->found[task]));
    return CM_OK;
}

static void add_keeping(cm_value_keeping *sum, const cm_value_keeping *part) {
    sum->moves += part->moves;
    sum->keeping += part->keeping;
    sum->choices += part->choices;
    sum->keeping_choices += part->keeping_choices;
}

cm_status cm_games_score_moves(const cm_games *games, const cm_env *env, cm_exact *exact, cm_pool *pool,
                               cm_tally *tally, const cm_stop *stop, cm_move_scores *out) {
    scoring c = {
        .games = games, .env = env, .exact = exact, .tally = tally, .stop = stop, .workers = cm_pool_size(pool)};
    c.blocks = c.workers * BLOCKS_PER_WORKER;
    memset(out, 0, sizeof *out);
    cm_status status = cm_alloc(&c.states, (size_t)c.workers, env->spec.state_size, "scores of moves");
    if (status == CM_OK) status = cm_alloc(&c.found, (size_t)c.blocks, sizeof *c.found, "scores of moves");
    if (status == CM_OK) status = cm_pool_run(pool, c.blocks, score_block, &c);
    for (int i = 0; i < c.blocks && status == CM_OK; i++) {
        add_keeping(&out->all, &c.found[i].all);
        for (int p = 0; p < CM_PHASES; p++) add_keeping(&out->phase[p], &c.found[i].phase[p]);
    }
    free(c.states);
    free(c.found);
    return status;
}
