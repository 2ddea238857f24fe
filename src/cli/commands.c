#include <string.h>

#include "cli/command.h"
#include "core/nearest.h"
#include "run/recipe.h"

#define CM_COMMAND(name) extern const cm_command cm_command_##name;
#include "cli/commands.def"
#undef CM_COMMAND

const cm_command *const cm_commands[] = {
#define CM_COMMAND(name) &cm_command_##name,
#include "cli/commands.def"
#undef CM_COMMAND
    NULL};

const cm_command *cm_command_find(const char *name) {
    for (int i = 0; cm_commands[i]; i++) {
        if (strcmp(cm_commands[i]->name, name) == 0) return cm_commands[i];
    }
    return NULL;
}

static const char *command_name(const void *rows, int i) { return ((const cm_command *const *)rows)[i]->name; }

cm_status cm_command_unknown(const char *name) {
    int count = 0;
    while (cm_commands[count]) count++;
    if (cm_recipe_is_known(name))
        return cm_fail(CM_ERR_INPUT, "%.40s: a command comes first; did you mean cumind train %.40s?", name, name);
    int nearest = cm_nearest_name(name, cm_commands, count, command_name);
    if (nearest < 0) return cm_fail(CM_ERR_INPUT, "unknown command \"%.40s\"; cumind help lists all", name);
    return cm_fail(CM_ERR_INPUT, "unknown command \"%.40s\"; did you mean %s? (cumind help lists all)", name,
                   cm_commands[nearest]->name);
}
