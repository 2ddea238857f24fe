#include "cli/loaded.h"

/* The session and, with a run, its agent; threads -1: as configured. */
static cm_status open_all(const cm_arguments *arguments, const char *run, int64_t checkpoint, int threads,
                          cm_loaded *out) {
    cm_configuration configuration;
    int64_t simulations = 0;
    CM_TRY(cm_argument_int(arguments, "--simulations", 1, 65536, &simulations));
    CM_TRY(run ? cm_cli_run_configuration(arguments, run, &configuration, &out->config)
               : cm_cli_configuration(arguments, &configuration, &out->config));
    if (simulations > 0) {
        configuration.agent.evaluation_simulations = configuration.mcts.num_simulations = (int)simulations;
    }
    if (threads >= 0) configuration.run.threads = threads;
    return cm_loaded_fill(&configuration, run, checkpoint, out);
}

static cm_status open_or_close(const cm_arguments *arguments, const char *run, int64_t checkpoint, int threads,
                               cm_loaded *out) {
    *out = (cm_loaded){0};
    cm_status status = open_all(arguments, run, checkpoint, threads, out);
    if (status != CM_OK) cm_loaded_close(out);
    return status;
}

cm_status cm_loaded_open(const cm_arguments *arguments, cm_loaded *out) {
    int64_t checkpoint = 0;
    *out = (cm_loaded){0};
    CM_TRY(cm_cli_checkpoint(arguments, &checkpoint));
    return open_or_close(arguments, cm_argument(arguments, "--run"), checkpoint, -1, out);
}

cm_status cm_loaded_open_other(const cm_arguments *arguments, const char *run, cm_loaded *out) {
    return open_or_close(arguments, run, CM_CHECKPOINT_PREFERRED, 1, out);
}

cm_status cm_cli_time_control(const cm_arguments *arguments, cm_time_control *out) {
    const char *const move = "--seconds-per-move", *const game = "--seconds-per-game";
    const bool has_move = cm_argument_is_set(arguments, move), has_game = cm_argument_is_set(arguments, game);
    CM_TRY(cm_argument_seconds(arguments, move, &out->move));
    CM_TRY(cm_argument_seconds(arguments, game, &out->game));
    if (has_move && has_game) return cm_fail(CM_ERR_INPUT, "%s: does not go with %s; give one", game, move);
    if (out->move + out->game > 0.0 || (!has_move && !has_game)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be more than 0 seconds", has_move ? move : game);
}
