#include "env/solver.h"

#include <stdlib.h>

struct cm_solver {
    cm_env env;
    cm_arena memory;
};

static cm_status create(const cm_env *env, size_t bytes, cm_solver **out) {
    const cm_solver_def *def = env->def->solver;
    cm_solver *solver;
    CM_TRY(cm_alloc(&solver, 1, sizeof *solver, "an exact solver"));
    solver->env = *env;
    cm_status status = cm_arena_create(&solver->memory, bytes, "the table of an exact solver");
    if (status != CM_OK) {
        free(solver);
        return status;
    }
    if (def->prepare) def->prepare(&env->params, &solver->memory);
    *out = solver;
    return CM_OK;
}

cm_status cm_solver_check(const cm_env *env) {
    const cm_solver_def *def = env->def->solver;
    if (def && (!def->fits || def->fits(&env->params))) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: has no exact solver; tictactoe, connect4 and hex up to 4 x 4 have one",
                   env->spec.name);
}

cm_status cm_solver_create(const cm_env *env, cm_solver **out) {
    *out = NULL;
    CM_TRY(cm_solver_check(env));
    return create(env, env->def->solver->bytes, out);
}

cm_status cm_solver_create_sized(const cm_env *env, size_t bytes, cm_solver **out) {
    *out = NULL;
    CM_TRY(cm_solver_check(env));
    const cm_solver_def *def = env->def->solver;
    if (def->least_bytes == 0) return create(env, def->bytes, out);
    if (bytes < def->least_bytes) {
        return cm_fail(CM_ERR_INPUT, "%s: the table of its exact solver needs at least %zu bytes, got %zu",
                       env->spec.name, def->least_bytes, bytes);
    }
    return create(env, bytes, out);
}

void cm_solver_destroy(cm_solver *solver) {
    if (!solver) return;
    cm_arena_destroy(&solver->memory);
    free(solver);
}

static cm_status check_open(const cm_env *env, const void *state) {
    if (!cm_env_ended(state)) return CM_OK;
    return cm_fail(CM_ERR_STATE, "%s: the game is over, there is nothing to solve", env->spec.name);
}

cm_status cm_solver_solve(cm_solver *solver, const void *state, const cm_stop *stop, int8_t *value) {
    const cm_env *env = &solver->env;
    CM_TRY(check_open(env, state));
    env->def->solver->solve(&env->params, &solver->memory, cm_env_rules_of(state), stop, value);
    if (cm_stop_asked(stop)) return cm_fail(CM_ERR_INTERRUPTED, "%s: solving was interrupted", env->spec.name);
    return CM_OK;
}

cm_status cm_solver_plies(cm_solver *solver, const void *state, uint8_t *plies) {
    const cm_env *env = &solver->env;
    CM_TRY(check_open(env, state));
    if (!env->def->solver->plies)
        return cm_fail(CM_ERR_ABSENT, "%s: its exact solver counts no moves until the end", env->spec.name);
    env->def->solver->plies(&env->params, &solver->memory, cm_env_rules_of(state), plies);
    return CM_OK;
}

int cm_solver_best(const int8_t *value, int actions) {
    int best = CM_SOLVER_ILLEGAL;
    for (int a = 0; a < actions; a++) best = value[a] > best ? value[a] : best;
    return best;
}

bool cm_solver_is_choice(const int8_t *value, int actions) {
    const int best = cm_solver_best(value, actions);
    bool loses = false;
    for (int a = 0; a < actions; a++) loses |= value[a] != CM_SOLVER_ILLEGAL && value[a] < best;
    return loses;
}
