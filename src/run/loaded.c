#include "run/loaded.h"

#include "core/memory.h"

/* The run's own is compared with before. */
static cm_status open_for_reports(cm_session *session) {
    const cm_env trained = session->env;
    return cm_env_for(&trained, CM_ENV_REPORTS, &session->env);
}

cm_status cm_loaded_fill(const cm_configuration *configuration, const char *run, int64_t checkpoint, cm_loaded *out) {
    cm_memory_limit((uint64_t)configuration->run.memory_limit);
    CM_TRY(cm_session_open(configuration, NULL, &out->session));
    if (!run) return open_for_reports(out->session);
    CM_TRY(cm_run_read_ranges(run, checkpoint, out->session));
    CM_TRY(cm_session_agent(out->session, &out->agent));
    CM_TRY(cm_run_load_agent(run, checkpoint, out->session, out->agent, &out->facts));
    return open_for_reports(out->session);
}

void cm_loaded_close(cm_loaded *loaded) {
    cm_agent_destroy(loaded->agent);
    cm_session_close(loaded->session);
    cm_config_destroy(loaded->config);
    *loaded = (cm_loaded){0};
}
