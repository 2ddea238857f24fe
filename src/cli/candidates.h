/* What may stand at the end of a command line that is being typed: commands, flags and the values of flags, from the
 * tables of commands, options, metrics, environments and recipes, and from the folders of runs. */
#ifndef CM_CLI_CANDIDATES_H
#define CM_CLI_CANDIDATES_H

#include "core/status.h"

/* Prints the words that begin with the last of words[count], which follow the program's name; "" is one that has not
 * begun. A line each, its meaning behind a tab where it has one. What ends with = or : goes on without a blank. A line
 * "@files" or "@folders" stands for the files, or folders, that the shell finds. Errors: CM_ERR_MEMORY. */
cm_status cm_candidates_print(const char *const *words, int count) CM_MUST_USE;
#endif
