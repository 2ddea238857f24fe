/* Help, man pages and completion, all from the table of commands. */
#ifndef CM_CLI_HELP_H
#define CM_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

#ifdef __cplusplus
extern "C" {
#endif

void cm_help_overview(FILE *out);
void cm_help_command(FILE *out, const cm_command *command);

#ifdef __cplusplus
}
#endif
#endif
