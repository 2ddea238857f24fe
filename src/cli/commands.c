#include "cli/command.h"

extern const cm_command cm_command_train, cm_command_version, cm_command_completion, cm_command_help;

const cm_command *const cm_commands[] = {
    &cm_command_train, &cm_command_help, &cm_command_completion, &cm_command_version, NULL,
};
