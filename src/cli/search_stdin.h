/* cumind search --stdin: positions of Go as queries in JSON, by the protocol of KataGo's analysis engine
 * (docs/Analysis_Engine.md of KataGo). */
#ifndef CM_CLI_SEARCH_STDIN_H
#define CM_CLI_SEARCH_STDIN_H

#include "cli/command.h"

/* Answers queries until the input ends. Those that have been sent are searched together, as far as they agree on komi
 * and visits; each position gets an answer with its query's id. A query with a mistake gets one with a member "error".
 */
cm_status cm_cli_search_stdin(cm_arguments *arguments) CM_MUST_USE;
#endif
