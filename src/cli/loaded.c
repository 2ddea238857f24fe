#include "cli/loaded.h"

#include "core/memory.h"

/* The session and, with a run, its agent; threads -1: as configured. */
static cm_status open_all(const cm_arguments *arguments, const char *run, int64_t checkpoint, int threads,
                          cm_loaded *out) {
    cm_configuration configuration;
    int64_t simulations = 0;
    CM_TRY(cm_argument_int(arguments, "--simulations", 1, 65536, &simulations));
    CM_TRY(run ? cm_cli_run_configuration(arguments, run, &configuration, &out->config)
               : cm_cli_configuration(arguments, &configuration, &out->config));
    cm_memory_limit((uint64_t)configuration.run.memory_limit);
    if (simulations > 0) {
        configuration.agent.evaluation_simulations = configuration.mcts.num_simulations = (int)simulations;
    }
    if (threads >= 0) configuration.run.threads = threads;
    CM_TRY(cm_session_open(&configuration, NULL, &out->session));
    if (!run) return CM_OK;
    CM_TRY(cm_run_check_weights(run, checkpoint, out->session));
    CM_TRY(cm_session_agent(out->session, &out->agent));
    return cm_run_load_agent(run, checkpoint, out->session, out->agent, &out->facts);
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

void cm_loaded_close(cm_loaded *loaded) {
    cm_agent_destroy(loaded->agent);
    cm_session_close(loaded->session);
    cm_config_destroy(loaded->config);
    *loaded = (cm_loaded){0};
}
