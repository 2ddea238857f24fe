/* cumind search --tree: the search tree of one position as a page, or as JSON. */
#ifndef CM_CLI_SEARCH_TREE_H
#define CM_CLI_SEARCH_TREE_H

#include "cli/command.h"

/* Searches the position after the only line of --positions (env/moves.h), that of --sgf, or without them the start, and
 * writes the file of --tree. Errors: CM_ERR_INPUT if there is not one legal game, or the file's name ends with neither
 * .html nor .json.
 */
cm_status cm_cli_search_tree(cm_arguments *arguments) CM_MUST_USE;
#endif
