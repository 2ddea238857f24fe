#include "env/solver.h"

#include <stdlib.h>

#include "core/arena.h"

struct cm_solver {
    cm_env env;
    cm_arena memory;
};

cm_status cm_solver_create(const cm_env *env, cm_solver **out) {
    const cm_solver_def *def = env->def->solver;
    *out = NULL;
    if (!def || (def->fits && !def->fits(&env->params))) {
        return cm_fail(CM_ERR_ABSENT, "%s: has no exact solver; tictactoe, connect4 and hex up to 4 x 4 have one",
                       env->spec.name);
    }
    cm_solver *solver;
    CM_TRY(cm_alloc(&solver, 1, sizeof *solver, "an exact solver"));
    solver->env = *env;
    cm_status status = cm_arena_create(&solver->memory, def->bytes, "the table of an exact solver");
    if (status != CM_OK) {
        free(solver);
        return status;
    }
    if (def->prepare) def->prepare(&env->params, solver->memory.base);
    *out = solver;
    return CM_OK;
}

void cm_solver_destroy(cm_solver *solver) {
    if (!solver) return;
    cm_arena_destroy(&solver->memory);
    free(solver);
}

cm_status cm_solver_solve(cm_solver *solver, const void *state, int8_t *value) {
    const cm_env *env = &solver->env;
    if (cm_env_ended(state))
        return cm_fail(CM_ERR_STATE, "%s: the game is over, there is nothing to solve", env->spec.name);
    env->def->solver->solve(&env->params, solver->memory.base, cm_env_rules_of(state), value);
    return CM_OK;
}
