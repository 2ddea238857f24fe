#include <stdio.h>

#include "backend/backend.h"
#include "cli/command.h"

static int run(const cm_arguments *arguments) {
    (void)arguments;
    printf("cumind %s\n", CM_VERSION);
    return 0;
}

const cm_command cm_command_version = {.name = "version", .operands = "", .about = "Prints the version.", .run = run};
