#include "arena/perfect.h"

#include <stdlib.h>

#include "core/arena.h"

typedef struct perfect_player {
    cm_player base;
    const cm_env *env;
    cm_exact *exact; /* owned */
} perfect_player;

/* Of the actions in best[A] those after which the game lasts longest stay. */
static cm_status resist(perfect_player *p, int worker, const void *state, uint8_t *best) {
    const int actions = p->env->spec.actions;
    uint8_t plies[CM_ENV_MAX_SEARCHED];
    int longest = 0;
    CM_TRY(cm_exact_plies(p->exact, worker, state, plies));
    for (int a = 0; a < actions; a++) longest = best[a] && plies[a] > longest ? plies[a] : longest;
    for (int a = 0; a < actions; a++) best[a] = best[a] && plies[a] == longest;
    return CM_OK;
}

static cm_status perfect_choose(cm_player *player, const cm_turn *turn) {
    perfect_player *p = (perfect_player *)player;
    const int actions = p->env->spec.actions;
    uint8_t best[CM_ENV_MAX_SEARCHED];
    cm_exact_values values;
    for (int k = 0; k < turn->count; k++) {
        CM_TRY(cm_exact_solve(p->exact, turn->worker, turn->states[k], turn->stop, &values));
        for (int a = 0; a < actions; a++) best[a] = values.value[a] == values.best;
        if (values.best < 0 && p->env->def->solver->plies) CM_TRY(resist(p, turn->worker, turn->states[k], best));
        cm_rng rng = cm_rng_init(turn->keys[k], turn->steps[k]);
        turn->actions[k] = cm_rng_pick(&rng, best, actions);
    }
    return CM_OK;
}

static void perfect_destroy(cm_player *player) {
    perfect_player *p = (perfect_player *)player;
    cm_exact_destroy(p->exact);
    free(p);
}

cm_status cm_player_perfect(const cm_env *env, const cm_match_shape *shape, cm_player **out) {
    perfect_player *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a player"));
    p->base = (cm_player){.choose = perfect_choose, .destroy = perfect_destroy};
    p->env = env;
    cm_status status = cm_exact_create(env, &p->exact);
    if (status == CM_OK) {
        p->base.bytes = sizeof *p + cm_exact_bytes(p->exact, shape->workers);
        *out = &p->base;
    } else {
        perfect_destroy(&p->base);
    }
    return status;
}

cm_exact *cm_player_exact(cm_player *perfect) { return ((perfect_player *)perfect)->exact; }
