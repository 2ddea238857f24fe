#include "cli/command.h"

#define CM_COMMAND(name) extern const cm_command cm_command_##name;
#include "cli/commands.def"
#undef CM_COMMAND

const cm_command *const cm_commands[] = {
#define CM_COMMAND(name) &cm_command_##name,
#include "cli/commands.def"
#undef CM_COMMAND
    NULL};
