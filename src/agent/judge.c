#include "agent/judge.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "env/solver.h"

enum { BLOCKS_PER_WORKER = 4 };

/* What is known of the move at a ply. */
typedef enum verdict { UNKNOWN, LOST, KEPT, LOST_CHOICE, KEPT_CHOICE } verdict;

/* Of one worker. */
typedef struct bench {
    cm_solver *solver; /* owned                                                   */
    char *state;       /* [state_size], owned                                     */
    uint8_t *verdicts; /* [stride] of the moves of the game judged last, owned     */
} bench;

typedef struct court {
    const cm_games *games;
    const cm_env *env;
    int *order; /* [games] sorted by moves: neighbours share their first moves, which are judged once; owned */
    int workers, blocks;
    bench *benches;             /* [workers], owned */
    cm_judgement *blocks_found; /* [blocks], owned */
} court;

static const int16_t *moves_of(const cm_games *games, int game) {
    return games->moves + (size_t)game * (size_t)games->stride;
}

/* Number of first moves that two games share. */
static int shared_moves(const cm_games *games, int a, int b) {
    const int16_t *x = moves_of(games, a), *y = moves_of(games, b);
    int most = games->length[a] < games->length[b] ? games->length[a] : games->length[b], n = 0;
    while (n < most && x[n] == y[n]) n++;
    return n;
}

static int compare_games(const void *a, const void *b, void *context) {
    const cm_games *games = context;
    int x = *(const int *)a, y = *(const int *)b, n = shared_moves(games, x, y);
    if (n == games->length[x] || n == games->length[y]) return games->length[x] - games->length[y];
    return moves_of(games, x)[n] - moves_of(games, y)[n];
}

static cm_status judge_move(const court *c, bench *b, int16_t action, uint8_t *out) {
    int8_t value[CM_ENV_MAX_ACTIONS];
    int best = CM_SOLVER_ILLEGAL, legal = 0, keeping = 0;
    CM_TRY(cm_solver_solve(b->solver, b->state, value));
    for (int a = 0; a < c->env->spec.actions; a++) best = value[a] > best ? value[a] : best;
    for (int a = 0; a < c->env->spec.actions; a++) {
        legal += value[a] != CM_SOLVER_ILLEGAL;
        keeping += value[a] == best;
    }
    bool kept = value[action] == best;
    if (legal > keeping) {
        *out = kept ? KEPT_CHOICE : LOST_CHOICE;
    } else {
        *out = kept ? KEPT : LOST;
    }
    return CM_OK;
}

static void count_move(cm_kept *kept, verdict v) {
    kept->moves++;
    kept->kept += v == KEPT || v == KEPT_CHOICE;
    kept->choices += v == LOST_CHOICE || v == KEPT_CHOICE;
    kept->kept_choices += v == KEPT_CHOICE;
}

/* Judges our moves of one game; verdicts before ply `known` are those of the same moves. */
static cm_status judge_game(const court *c, bench *b, int game, int known, cm_judgement *found) {
    const cm_games *g = c->games;
    cm_env_outcome outcome;
    memset(b->verdicts + known, UNKNOWN, (size_t)(g->stride - known));
    cm_env_reset(c->env, b->state, 0);
    for (int ply = 0; ply < g->length[game]; ply++) {
        int16_t action = moves_of(g, game)[ply];
        uint8_t *v = &b->verdicts[ply];
        if (ply >= g->opening[game] && cm_env_to_play(c->env, b->state) == g->theirs[game]) {
            if (*v == UNKNOWN) CM_TRY(judge_move(c, b, action, v));
            count_move(&found->all, (verdict)*v);
            count_move(&found->phase[CM_PHASES * ply / c->env->spec.max_plies], (verdict)*v);
        }
        CM_TRY(cm_env_step(c->env, b->state, action, &outcome));
    }
    return CM_OK;
}

static cm_status judge_block(void *context, int task, int worker) {
    court *c = context;
    bench *b = &c->benches[worker];
    int64_t games = c->games->count, first = games * task / c->blocks, end = games * (task + 1) / c->blocks;
    for (int64_t i = first; i < end; i++) {
        int known = i == first ? 0 : shared_moves(c->games, c->order[i - 1], c->order[i]);
        CM_TRY(judge_game(c, b, c->order[i], known, &c->blocks_found[task]));
    }
    return CM_OK;
}

static cm_status open_court(court *c) {
    CM_TRY(cm_alloc(&c->order, (size_t)c->games->count, sizeof *c->order, "a judgement"));
    CM_TRY(cm_alloc(&c->blocks_found, (size_t)c->blocks, sizeof *c->blocks_found, "a judgement"));
    CM_TRY(cm_alloc(&c->benches, (size_t)c->workers, sizeof *c->benches, "a judgement"));
    for (int i = 0; i < c->games->count; i++) c->order[i] = i;
    qsort_r(c->order, (size_t)c->games->count, sizeof *c->order, compare_games, (void *)c->games);
    for (int i = 0; i < c->workers; i++) {
        CM_TRY(cm_solver_create(c->env, &c->benches[i].solver));
        CM_TRY(cm_alloc(&c->benches[i].state, 1, c->env->spec.state_size, "a judgement"));
        CM_TRY(cm_alloc(&c->benches[i].verdicts, (size_t)c->games->stride + 1, 1, "a judgement"));
    }
    return CM_OK;
}

static void close_court(court *c) {
    for (int i = 0; c->benches && i < c->workers; i++) {
        cm_solver_destroy(c->benches[i].solver);
        free(c->benches[i].state);
        free(c->benches[i].verdicts);
    }
    free(c->benches);
    free(c->blocks_found);
    free(c->order);
}

static void add_kept(cm_kept *sum, const cm_kept *part) {
    sum->moves += part->moves;
    sum->kept += part->kept;
    sum->choices += part->choices;
    sum->kept_choices += part->kept_choices;
}

cm_status cm_games_judge(const cm_games *games, const cm_env *env, cm_pool *pool, cm_judgement *out) {
    court c = {.games = games, .env = env, .workers = cm_pool_size(pool)};
    c.blocks = c.workers * BLOCKS_PER_WORKER;
    memset(out, 0, sizeof *out);
    cm_status status = open_court(&c);
    if (status == CM_OK) status = cm_pool_run(pool, c.blocks, judge_block, &c);
    for (int i = 0; i < c.blocks && status == CM_OK; i++) {
        add_kept(&out->all, &c.blocks_found[i].all);
        for (int p = 0; p < CM_PHASES; p++) add_kept(&out->phase[p], &c.blocks_found[i].phase[p]);
    }
    close_court(&c);
    return status;
}
