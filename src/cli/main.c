/* cumind: finds the subcommand and runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"

static int unknown(const char *name) {
    const char *names[64];
    int count = 0;
    for (; count < cm_command_count && count < 63; count++) names[count] = cm_commands[count]->name;
    names[count] = NULL;
    const char *near = cm_cli_nearest(name, names);
    return cm_cli_fail(cm_fail(CM_ERR_INPUT, "unknown command \"%s\"%s%s%s; `cumind help` lists them", name,
                               near ? ", did you mean " : "", near ? near : "", near ? "?" : ""));
}

/* `cumind --help`, `cumind --version` */
static const char *alias(const char *word) {
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return "version";
    return word;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    }
    return false;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        cm_help_overview(stderr);
        return 2;
    }
    const cm_command *command = cm_command_find(alias(argv[1]));
    if (!command) return unknown(argv[1]);
    if (asks_for_help(argc - 2, argv + 2)) {
        cm_help_command(stdout, command);
        return 0;
    }
    cm_arguments *arguments;
    cm_status status = cm_arguments_parse(command, argc - 2, argv + 2, &arguments);
    if (status != CM_OK) return cm_cli_fail(status);
    int result = command->run(arguments);
    cm_arguments_destroy(arguments);
    return result;
}
