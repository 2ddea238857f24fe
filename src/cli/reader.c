#include "cli/reader.h"

#include "core/memory.h"
#include "env/trust.h"

/* Code that a run's file alone names is not opened: what it is like stands in the checkpoint. */
static cm_status open_session(const cm_configuration *configuration, const cm_config *config, const char *run,
                              int64_t checkpoint, cm_session **out) {
    cm_env_spec spec;
    const bool is_named = cm_config_source_of(config, "env_name") >= CM_FROM_SET;
    if (!run || is_named || !cm_env_is_code(configuration->env.env_name))
        return cm_session_open(configuration, NULL, out);
    CM_TRY(cm_run_read_task(run, checkpoint, &spec));
    return cm_session_open_network(configuration, &spec, out);
}

cm_status cm_reader_open(const cm_arguments *arguments, const char *run, int64_t checkpoint, cm_reader *out) {
    cm_configuration configuration;
    *out = (cm_reader){.config = NULL};
    CM_TRY(run ? cm_cli_run_configuration(arguments, run, &configuration, &out->config)
               : cm_cli_configuration(arguments, &configuration, &out->config));
    cm_memory_limit((uint64_t)configuration.run.memory_limit);
    return open_session(&configuration, out->config, run, checkpoint, &out->session);
}

void cm_reader_close(cm_reader *reader) {
    cm_session_close(reader->session);
    cm_config_destroy(reader->config);
    *reader = (cm_reader){.config = NULL};
}
