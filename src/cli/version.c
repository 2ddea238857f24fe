#include <stdio.h>

#include "backend/backend.h"
#include "cli/command.h"

static cm_status run_version(cm_arguments *arguments) {
    (void)arguments;
    printf("cumind %s (compiler %s)\nbackends:", CM_VERSION, __VERSION__);
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) printf(" %s", (*kind)->name);
    printf("\n");
    return CM_OK;
}

static const cm_flag flags[] = {{NULL, NULL, NULL}};

const cm_command cm_command_version = {
    .name = "version",
    .about = "print the version",
    .positional = "",
    .details = "",
    .flags = flags,
    .examples = "",
    .run = run_version,
};
