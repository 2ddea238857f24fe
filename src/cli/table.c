/* The table of subcommands. A new one is a file with a row and a line here. */
#include <string.h>

#include "cli/command.h"

#define COMMANDS(X) X(config) X(search) X(test_cases) X(devices) X(completion) X(version) X(help)

#define DECLARE(name) extern const cm_command cm_command_##name;
COMMANDS(DECLARE)

#define ENTRY(name) &cm_command_##name,
const cm_command *const cm_commands[] = {COMMANDS(ENTRY)};
const int cm_command_count = (int)(sizeof cm_commands / sizeof *cm_commands);

const cm_command *cm_command_find(const char *name) {
    for (int i = 0; i < cm_command_count; i++) {
        if (strcmp(cm_commands[i]->name, name) == 0) return cm_commands[i];
    }
    return NULL;
}
