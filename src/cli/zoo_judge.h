/* The score of an agent of the zoo, by the program's own `eval`. */
#ifndef CM_CLI_ZOO_JUDGE_H
#define CM_CLI_ZOO_JUDGE_H

#include "cli/command.h"
#include "run/zoo.h"

/* `cumind COMMAND WORDS FLAG FOLDER`, the words with a blank between them. */
typedef struct cm_zoo_command {
    const char *program; /* how the user calls it */
    const char *name, *words, *flag, *folder;
} cm_zoo_command;

/* Runs it; `out` (NULL: none) is the descriptor that its stdout goes to. Ctrl-C is the other process's to handle.
 * *status: its exit status. Errors: CM_ERR_IO if there can be no process; CM_ERR_INTERRUPTED if it was. */
cm_status cm_zoo_run(const cm_zoo_command *command, const int *out, int *status) CM_MUST_USE;

/* The score that the run in `folder` has by the evaluation of `agent`. Errors: as above; CM_ERR_STATE if eval fails,
 * which has said why. */
cm_status cm_zoo_judge(const char *program, const cm_zoo_agent *agent, const char *folder, double *score) CM_MUST_USE;

/* Whether a score lies within the agent's interval, to what its numbers are rounded to. */
bool cm_zoo_is_inside(const cm_zoo_agent *agent, double score);
#endif
