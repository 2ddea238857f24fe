/* Help, man pages and completion, made from the table of commands. */
#ifndef CM_CLI_HELP_H
#define CM_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

void cm_help_all(FILE *out);
void cm_help_command(const cm_command *command, FILE *out);
void cm_help_man(const cm_command *command, FILE *out); /* roff; NULL: the page of the program */
#endif
