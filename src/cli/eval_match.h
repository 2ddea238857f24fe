/* The part of cumind eval that meets opponents. */
#ifndef CM_CLI_EVAL_MATCH_H
#define CM_CLI_EVAL_MATCH_H

#include "cli/loaded.h"

/* Plays what the flags --opponent, --games, --opening, --seed say with the agent of the run and prints the result;
 * --save-games writes the games. */
cm_status cm_eval_match(cm_arguments *arguments, cm_loaded *own) CM_MUST_USE;
#endif
