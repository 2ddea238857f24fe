#include "arena/collect.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rng.h"
#include "env/solver.h"

typedef struct collector {
    const cm_collect_config *config;
    const cm_games *games;
    cm_solved *solved;
    cm_solver *solver; /* owned, like all that follows                          */
    char *state;       /* [state_size]                                          */
    int *order;        /* [games] in which they are looked at                   */
    int *taken;        /* [games] positions that each has given                 */
    int32_t *boards;   /* [capacity + 1, cells] of solved positions, see canonical_board */
    int32_t *scratch;  /* [3 cells + A] */
    int lacking_ply, lacking_found;
} collector;

static int32_t *board_of(const collector *c, int i) {
    return c->boards + (size_t)i * (size_t)c->config->env->spec.cells;
}

/* Of the board and its mirror images and turns the one that comes first. */
static void canonical_board(const collector *c, const void *state, int32_t *out) {
    const cm_env *env = c->config->env;
    const size_t cells = (size_t)env->spec.cells;
    int32_t *board = c->scratch, *turned = board + cells, *cell_map = turned + cells, *action_map = cell_map + cells;
    cm_env_board(env, state, board);
    memcpy(out, board, cells * sizeof *out);
    for (int s = 1; s < env->spec.symmetries; s++) {
        cm_env_symmetry(env, s, cell_map, action_map);
        for (size_t i = 0; i < cells; i++) turned[cell_map[i]] = board[i];
        if (memcmp(turned, out, cells * sizeof *out) < 0) memcpy(out, turned, cells * sizeof *out);
    }
}

static bool is_new(const collector *c, const int32_t *board, int ply) {
    const size_t bytes = (size_t)c->config->env->spec.cells * sizeof *board;
    bool found = false;
    for (int i = 0; i < c->solved->count && !found; i++) {
        found = c->solved->ply[i] == ply && memcmp(board_of(c, i), board, bytes) == 0;
    }
    return !found;
}

static cm_status play(const collector *c, const int16_t *moves, int plies) {
    cm_env_outcome outcome;
    cm_env_reset(c->config->env, c->state, 0);
    for (int k = 0; k < plies; k++) CM_TRY(cm_env_step(c->config->env, c->state, moves[k], &outcome));
    return CM_OK;
}

/* Takes the position of a game after `ply` moves if it will do. */
static cm_status consider(collector *c, int game, int ply, bool *is_taken) {
    cm_solved *s = c->solved;
    const int16_t *moves = c->games->moves + (size_t)game * (size_t)c->games->stride;
    int8_t *values = s->values + (size_t)s->count * (size_t)s->actions;
    *is_taken = false;
    CM_TRY(play(c, moves, ply));
    canonical_board(c, c->state, board_of(c, s->count));
    if (!is_new(c, board_of(c, s->count), ply)) return CM_OK;
    CM_TRY(cm_solver_solve(c->solver, c->state, NULL, values));
    if (!cm_solver_is_choice(values, s->actions)) return CM_OK;
    memcpy(s->moves + (size_t)s->count * (size_t)s->stride, moves, (size_t)ply * sizeof *moves);
    s->ply[s->count] = ply;
    s->source[s->count] = (uint8_t)c->config->source;
    s->count++;
    *is_taken = true;
    return CM_OK;
}

/* All plies with at most `limit` positions of a game, the late ones first: few games reach them. */
static cm_status collect(collector *c, int limit, bool *is_complete) {
    const cm_collect_config *config = c->config;
    *is_complete = true;
    memset(c->taken, 0, (size_t)c->games->count * sizeof *c->taken);
    for (int ply = config->last_ply; ply >= config->first_ply && *is_complete; ply--) {
        int found = 0;
        for (int i = 0; i < c->games->count && found < config->per_ply; i++) {
            const int game = c->order[i];
            bool is_taken;
            if (c->taken[game] >= limit || c->games->length[game] <= ply) continue;
            CM_TRY(consider(c, game, ply, &is_taken));
            c->taken[game] += is_taken;
            found += is_taken;
        }
        *is_complete = found == config->per_ply;
        if (!*is_complete) c->lacking_ply = ply, c->lacking_found = found;
    }
    return CM_OK;
}

static cm_status open_collector(collector *c) {
    const cm_env *env = c->config->env;
    const size_t games = (size_t)c->games->count, cells = (size_t)env->spec.cells;
    CM_TRY(cm_solver_create(env, &c->solver));
    CM_TRY(cm_alloc(&c->state, 1, env->spec.state_size, "positions"));
    CM_TRY(cm_alloc(&c->order, games, sizeof *c->order, "positions"));
    CM_TRY(cm_alloc(&c->taken, games, sizeof *c->taken, "positions"));
    CM_TRY(cm_alloc(&c->boards, (size_t)c->solved->capacity + 1, cells * sizeof *c->boards, "positions"));
    CM_TRY(cm_alloc(&c->scratch, 3 * cells + (size_t)env->spec.actions, sizeof *c->scratch, "positions"));
    cm_rng rng = cm_rng_init(cm_key_make(c->config->seed, CM_RNG_EVALUATE, 0), 0);
    for (int i = 0; i < c->games->count; i++) {
        int at = (int)cm_rng_below(&rng, (uint32_t)i + 1);
        c->order[i] = c->order[at];
        c->order[at] = i;
    }
    for (int i = 0; i < c->solved->count; i++) {
        CM_TRY(cm_solved_play(c->solved, env, i, c->state));
        canonical_board(c, c->state, board_of(c, i));
    }
    return CM_OK;
}

static void close_collector(collector *c) {
    cm_solver_destroy(c->solver);
    free(c->state);
    free(c->order);
    free(c->taken);
    free(c->boards);
    free(c->scratch);
}

cm_status cm_collect(const cm_collect_config *config, const cm_games *games, cm_solved *solved) {
    collector c = {.config = config, .games = games, .solved = solved};
    const int before = solved->count, plies = config->last_ply - config->first_ply + 1;
    bool is_complete = false;
    cm_status status = open_collector(&c);
    for (int limit = 1; limit <= plies && !is_complete && status == CM_OK; limit++) {
        solved->count = before;
        status = collect(&c, limit, &is_complete);
    }
    if (status == CM_OK && !is_complete) {
        status =
            cm_fail(CM_ERR_INPUT, "%d games have %d positions of ply %d that will do, of %d; more games are needed",
                    games->count, c.lacking_found, c.lacking_ply, config->per_ply);
    }
    close_collector(&c);
    return status;
}
