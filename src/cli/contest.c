#include "cli/contest.h"

#include <stdio.h>
#include <string.h>

#include "run/directory.h"
#include "run/recipe.h"

enum { STANDARD_GAMES = 100, MOST_GAMES = 1000000, OPENING = 4 };

cm_status cm_entrant_open(const cm_arguments *arguments, const char *flag, const char *name, cm_entrant *out) {
    *out = (cm_entrant){.name = cm_argument_written(name)};
    cm_status status = cm_opponent_parse(name, &out->opponent);
    if (status != CM_OK) return cm_fail_in(status, "%s", flag);
    if (out->opponent.kind != CM_OPPONENT_AGENT) return CM_OK;
    status = cm_recipe_advise_run(name);
    if (status != CM_OK) return cm_fail_in(status, "%s", flag);
    if (cm_run_directory_check(name) != CM_OK) {
        const char *all = strcmp(flag, "--opponent") == 0 ? ", all" : "";
        return cm_fail(CM_ERR_INPUT, "%s: \"%.200s\" is neither random, perfect, mcts:N%s nor the folder of a run",
                       flag, name, all);
    }
    return cm_loaded_open_other(arguments, name, &out->loaded);
}

void cm_entrant_close(cm_entrant *entrant) {
    cm_player_destroy(entrant->player);
    cm_loaded_close(&entrant->loaded);
    *entrant = (cm_entrant){.name = NULL};
}

cm_status cm_entrant_seat(cm_entrant *entrant, const cm_env *env, const char *other, const cm_match_shape *shape) {
    cm_agent *agent = entrant->loaded.agent;
    if (agent && !cm_env_is_same(&entrant->loaded.session->env, env)) {
        return cm_fail(CM_ERR_INPUT, "%s plays %s, %s plays %s%s: they cannot meet", other, env->spec.name,
                       entrant->name, entrant->loaded.session->env.spec.name,
                       entrant->loaded.session->env.def == env->def ? " with other rules" : "");
    }
    if (agent) env = &entrant->loaded.session->env;
    cm_status status = cm_opponent_player(&entrant->opponent, agent, env, shape, &entrant->player);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s", entrant->name);
}

cm_status cm_contest_check(const char *command, const cm_env *env) {
    if (env->spec.players != 2) {
        return cm_fail(CM_ERR_INPUT,
                       "%s: opponents are for games of two players, %s has one (eval --opponent random sets random "
                       "play with the agent)",
                       command, env->spec.name);
    }
    if (env->spec.max_plies > 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: games of %s have no bound on their length", command, env->spec.name);
}

cm_status cm_contest_size_of(const cm_arguments *arguments, const cm_env *env, int opening, cm_contest_size *out) {
    int64_t games = STANDARD_GAMES, moves = opening, quarter = env->spec.max_plies / 4;
    if (opening < 0) moves = quarter < OPENING ? quarter : OPENING;
    CM_TRY(cm_argument_int(arguments, "--games", 2, MOST_GAMES, &games));
    CM_TRY(cm_argument_int(arguments, "--opening", 0, env->spec.max_plies, &moves));
    if (games % 2 != 0) {
        return cm_fail(CM_ERR_INPUT, "--games: must be even, so that each side moves first in half of them, got %lld",
                       (long long)games);
    }
    *out = (cm_contest_size){.games = (int)games, .opening = (int)moves};
    return CM_OK;
}
