/* What commands share: configuration from flags, style of the output, JSON on stdout. */
#ifndef CM_CLI_OUTPUT_H
#define CM_CLI_OUTPUT_H

#include "cli/command.h"
#include "core/json.h"
#include "run/configuration.h"
#include "run/progress.h"
#include "run/session.h"

/* Rows of a flag table that several commands have. */
#define CM_FLAGS_CONFIGURATION                                                                                         \
    {"--config", "FILE",                                                                                               \
     "Read this file, or the recipe of this name; without it the recipe of the environment that is named, or "         \
     "configuration.json here."},                                                                                      \
    {                                                                                                                  \
        "--set", "KEY=VALUE",                                                                                          \
            "Set one key, as in --set MCTS.num_simulations=50 or --set env_steps=1.5M; may be repeated."               \
    }
#define CM_FLAG_ENV                                                                                                    \
    { "--env", "NAME", "The environment: the same as NAME in front." }
#define CM_FLAGS_MACHINE                                                                                               \
    {"--backend", "NAME", "What does the arithmetic: auto, cpu, ref or cuda."},                                        \
        {"--threads", "N", "Worker threads; 0: as many as the process may use. Changes no result."}, {                 \
        "--dtype", "TYPE", "Precision of matrix work: float32, bfloat16 or float16."                                   \
    }
#define CM_FLAG_RUN                                                                                                    \
    { "--run", "DIR", "The run's folder; without it the newest run below checkpoint_root_dir." }
#define CM_FLAG_CHECKPOINT                                                                                             \
    {                                                                                                                  \
        "--checkpoint", "WHICH",                                                                                       \
            "The checkpoint, by its number, best or latest; without it the best evaluated one, or the latest."         \
    }
#define CM_FLAG_JSON                                                                                                   \
    { "--json", NULL, "Print JSON." }
#define CM_FLAGS_END                                                                                                   \
    { NULL, NULL, NULL }

/* The configuration of a command without a run: file, --set, flags; finished. The caller destroys *config. */
cm_status cm_cli_configuration(const cm_arguments *arguments, cm_configuration *configuration,
                               cm_config **config) CM_MUST_USE;

/* The same on top of the configuration of a run. */
cm_status cm_cli_run_configuration(const cm_arguments *arguments, const char *run, cm_configuration *configuration,
                                   cm_config **config) CM_MUST_USE;

/* The folder that the configuration here keeps runs in. */
cm_status cm_cli_run_root(const cm_command *command, char root[CM_OPTION_TEXT]) CM_MUST_USE;

/* Without --run, gives it the newest run below the checkpoint_root_dir of the configuration here, if there is one, and
 * says so on stderr. */
cm_status cm_cli_default_run(cm_arguments *arguments) CM_MUST_USE;
/* The value of --run, or the newest run as above; CM_ERR_INPUT if there is none or it is no run. */
cm_status cm_cli_need_run(cm_arguments *arguments, const char **run) CM_MUST_USE;
/* The value of --checkpoint for run/checkpoint.h; CM_CHECKPOINT_PREFERRED if it is not given. */
cm_status cm_cli_checkpoint(const cm_arguments *arguments, int64_t *checkpoint) CM_MUST_USE;

/* That a file cannot be written is to be known before hours of work; path NULL: nothing to write. Errors: CM_ERR_IO
 * names the flag. */
cm_status cm_cli_try_file(const char *flag, const char *path) CM_MUST_USE;

/* A line on stdout; on a terminal it is broken between words, and indented after a break by `indent`, or by 4 where
 * there is little space. At most 4,095 bytes. */
void cm_cli_line(int indent, const char *format, ...) CM_PRINTF(2, 3);

/* A line on stderr after all that was printed; broken between words on a terminal. */
void cm_cli_say(const char *format, ...) CM_PRINTF(1, 2);

/* How stdout wants to be written to: terminal, colour (NO_COLOR), UTF-8, --json, --quiet. */
cm_progress_style cm_cli_style(const cm_arguments *arguments);

/* Puts the member "ci95": [low, high]. */
void cm_cli_put_interval(cm_json_writer *json, double low, double high);

/* The end of JSON that a command prints: the writer's text and a newline on stdout, if `status`, that of what was
 * written, is CM_OK; the writer is destroyed in any case. Errors: `status`, CM_ERR_MEMORY, CM_ERR_IO if stdout cannot
 * be written. */
cm_status cm_cli_print(cm_json_writer *json, cm_status status) CM_MUST_USE;
#endif
