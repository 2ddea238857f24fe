/* A run, or a configuration, opened for its network alone: nothing that a run's file alone names is run. */
#ifndef CM_CLI_READER_H
#define CM_CLI_READER_H

#include "cli/output.h"
#include "run/weights.h"

/* All owned; a zeroed struct is empty. */
typedef struct cm_reader {
    cm_config *config;
    cm_session *session; /* without environment, backend and pool where the environment is code */
} cm_reader;

/* Opens what --run or --config, and --set say. `run` NULL: there is none. Errors: those of reading them. Close it also
 * after one. */
cm_status cm_reader_open(const cm_arguments *arguments, const char *run, int64_t checkpoint,
                         cm_reader *out) CM_MUST_USE;
void cm_reader_close(cm_reader *reader);
#endif
