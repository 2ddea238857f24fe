/* cumind search --positions: what a run's agent thinks of the positions of a file. */
#ifndef CM_CLI_POSITIONS_H
#define CM_CLI_POSITIONS_H

#include "cli/command.h"

/* Reads a game per line (env/moves.h), searches the position at its end, prints an answer per line, in their order. A
 * line that is not a legal game gets an answer with its error; the verdict is 1 then. */
cm_status cm_cli_search_positions(cm_arguments *arguments) CM_MUST_USE;
#endif
