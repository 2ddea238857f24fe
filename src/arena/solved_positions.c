#include "arena/solved_positions.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "env/solver.h"

/* Positions that are asked at once; of one worker. */
typedef struct batch {
    char *states;       /* [rows, state_size] */
    const void **state; /* [rows]             */
    cm_key *key;
    uint64_t *step;
    int32_t *action;
} batch;

typedef struct context {
    const cm_solved *solved;
    const cm_env *env;
    cm_player *player;
    const cm_match_shape *shape;
    cm_tally *tally;
    const cm_stop *stop;
    cm_arena arena; /* of all arrays, owned */
    batch *batches; /* [workers] */
    int32_t *moves; /* [positions] the player's; -1: it was not asked */
} context;

static void alloc_rows(context *r, bool fill) {
    const size_t n = (size_t)r->shape->rows;
    batch *batches = cm_arena_alloc(&r->arena, (size_t)r->shape->workers * sizeof *batches);
    int32_t *moves = cm_arena_alloc(&r->arena, (size_t)r->solved->count * sizeof *moves);
    for (int i = 0; i < r->shape->workers; i++) {
        batch d;
        d.states = cm_arena_alloc(&r->arena, n * r->env->spec.state_size);
        d.state = cm_arena_alloc(&r->arena, n * sizeof *d.state);
        d.key = cm_arena_alloc(&r->arena, n * sizeof *d.key);
        d.step = cm_arena_alloc(&r->arena, n * sizeof *d.step);
        d.action = cm_arena_alloc(&r->arena, n * sizeof *d.action);
        if (fill) batches[i] = d;
    }
    if (fill) r->batches = batches, r->moves = moves;
}

/* Positions first .. first+count-1. */
static cm_status ask(const context *r, int worker, int first, int count) {
    const batch *d = &r->batches[worker];
    for (int k = 0; k < count; k++) {
        char *state = d->states + (size_t)k * r->env->spec.state_size;
        CM_TRY(cm_solved_play(r->solved, r->env, first + k, state));
        d->state[k] = state;
        d->key[k] = cm_key_make(0, CM_RNG_EVALUATE, (uint64_t)(first + k));
        d->step[k] = (uint64_t)r->solved->ply[first + k];
    }
    const cm_turn turn = {.worker = worker,
                          .count = count,
                          .states = d->state,
                          .keys = d->key,
                          .steps = d->step,
                          .actions = d->action,
                          .stop = r->stop};
    CM_TRY(r->player->choose(r->player, &turn));
    cm_tally_add(r->tally, count, 0);
    memcpy(r->moves + first, d->action, (size_t)count * sizeof *r->moves);
    return CM_OK;
}

static cm_status ask_shard(void *argument, int task, int thread) {
    const context *r = argument;
    const int rows = r->shape->rows, worker = cm_match_worker(r->shape, task, thread);
    for (int first = task * rows; first < r->solved->count; first += r->shape->shards * rows) {
        const int left = r->solved->count - first;
        if (cm_stop_asked(r->stop)) return cm_fail(CM_ERR_INTERRUPTED, "the positions were broken off");
        CM_TRY(ask(r, worker, first, left < rows ? left : rows));
    }
    return CM_OK;
}

static void count(const context *r, int i, cm_solved_score *out) {
    const int8_t *values = cm_solved_values(r->solved, i);
    const bool is_keeping = values[r->moves[i]] == cm_solver_best(values, r->solved->actions);
    const bool is_choice = cm_solver_is_choice(values, r->solved->actions);
    cm_value_keeping_count(&out->scores.all, is_choice, is_keeping);
    cm_value_keeping_count(&out->scores.phase[cm_phase_of(r->env, r->solved->ply[i])], is_choice, is_keeping);
    cm_value_keeping_count(&out->source[r->solved->source[i]], is_choice, is_keeping);
}

cm_status cm_solved_positions_test(const cm_solved *solved, const cm_env *env, cm_player *player,
                                   const cm_match_shape *shape, cm_pool *pool, cm_tally *tally, const cm_stop *stop,
                                   cm_solved_score *out) {
    context r = {.solved = solved,
                 .tally = tally,
                 .stop = stop,
                 .env = env,
                 .player = player,
                 .shape = shape,
                 .arena = {.base = NULL, .capacity = SIZE_MAX, .used = 0}};
    *out = (cm_solved_score){.source = {{0}}};
    alloc_rows(&r, false);
    CM_TRY(cm_arena_create(&r.arena, r.arena.used, "a solved-position test"));
    alloc_rows(&r, true);
    for (int i = 0; i < solved->count; i++) r.moves[i] = -1;
    cm_status status = cm_pool_run(pool, shape->shards, ask_shard, &r);
    for (int i = 0; i < solved->count && (status == CM_OK || status == CM_ERR_INTERRUPTED); i++)
        if (r.moves[i] >= 0) count(&r, i, out);
    cm_arena_destroy(&r.arena);
    return status;
}
