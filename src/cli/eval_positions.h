/* The part of cumind eval that scores an agent on a file of solved positions. */
#ifndef CM_CLI_EVAL_POSITIONS_H
#define CM_CLI_EVAL_POSITIONS_H

#include "cli/loaded.h"

/* CM_ERR_INPUT for flags of games, which mean nothing with --positions. */
cm_status cm_eval_positions_check(const cm_arguments *arguments) CM_MUST_USE;

/* Reads the file of --positions and prints which moves of the run's agent keep the exact value. */
cm_status cm_eval_positions(cm_arguments *arguments, cm_loaded *own) CM_MUST_USE;
#endif
