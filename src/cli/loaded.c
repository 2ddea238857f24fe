#include "cli/loaded.h"

static cm_status open_agent(const cm_arguments *arguments, const char *run, cm_loaded *out) {
    int64_t checkpoint = 0;
    CM_TRY(cm_cli_checkpoint(arguments, &checkpoint));
    CM_TRY(cm_session_agent(out->session, &out->agent));
    return cm_run_load_agent(run, checkpoint, out->session, out->agent, &out->facts);
}

static cm_status open_all(const cm_arguments *arguments, cm_loaded *out) {
    const char *run = cm_argument(arguments, "--run");
    cm_configuration configuration;
    int64_t simulations = 0;
    CM_TRY(cm_argument_int(arguments, "--simulations", 1, 65536, &simulations));
    CM_TRY(run ? cm_cli_run_configuration(arguments, run, &configuration, &out->config)
               : cm_cli_configuration(arguments, &configuration, &out->config));
    if (simulations > 0) configuration.agent.evaluation_simulations = (int)simulations;
    CM_TRY(cm_session_open(&configuration, &out->session));
    return run ? open_agent(arguments, run, out) : CM_OK;
}

cm_status cm_loaded_open(const cm_arguments *arguments, cm_loaded *out) {
    *out = (cm_loaded){0};
    cm_status status = open_all(arguments, out);
    if (status != CM_OK) cm_loaded_close(out);
    return status;
}

void cm_loaded_close(cm_loaded *loaded) {
    cm_agent_destroy(loaded->agent);
    cm_session_close(loaded->session);
    cm_config_destroy(loaded->config);
    *loaded = (cm_loaded){0};
}
