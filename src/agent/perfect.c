#include "agent/perfect.h"

#include <stdlib.h>

#include "core/arena.h"
#include "env/solver.h"

typedef struct perfect_player {
    cm_player base;
    const cm_env *env;
    int lanes;
    cm_solver **solvers; /* [lanes], owned */
} perfect_player;

static cm_status perfect_choose(cm_player *player, const cm_turn *turn) {
    perfect_player *p = (perfect_player *)player;
    const int actions = p->env->spec.actions;
    int8_t value[CM_ENV_MAX_ACTIONS];
    uint8_t best[CM_ENV_MAX_ACTIONS];
    for (int k = 0; k < turn->count; k++) {
        int highest = CM_SOLVER_ILLEGAL;
        CM_TRY(cm_solver_solve(p->solvers[turn->lane], turn->states[k], value));
        for (int a = 0; a < actions; a++) highest = value[a] > highest ? value[a] : highest;
        for (int a = 0; a < actions; a++) best[a] = value[a] == highest;
        cm_rng rng = cm_rng_init(turn->keys[k], turn->steps[k]);
        turn->actions[k] = cm_rng_pick(&rng, best, actions);
    }
    return CM_OK;
}

static void perfect_destroy(cm_player *player) {
    perfect_player *p = (perfect_player *)player;
    for (int i = 0; p->solvers && i < p->lanes; i++) cm_solver_destroy(p->solvers[i]);
    free(p->solvers);
    free(p);
}

cm_status cm_player_perfect(const cm_env *env, const cm_match_shape *shape, cm_player **out) {
    perfect_player *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a player"));
    p->base = (cm_player){.choose = perfect_choose, .destroy = perfect_destroy, .bytes = sizeof *p};
    p->env = env;
    p->lanes = shape->lanes;
    cm_status status = cm_alloc(&p->solvers, (size_t)shape->lanes, sizeof(cm_solver *), "a player");
    for (int i = 0; i < shape->lanes && status == CM_OK; i++) {
        status = cm_solver_create(env, &p->solvers[i]);
        if (status == CM_OK) p->base.bytes += env->def->solver->bytes;
    }
    if (status == CM_OK) {
        *out = &p->base;
    } else {
        perfect_destroy(&p->base);
    }
    return status;
}
