/* cumind version: the number, the compiler, and the backends that open here. */
#include <stdio.h>

#include "backend/backend.h"
#include "cli/command.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static cm_status run_version(cm_arguments *arguments) {
    (void)arguments;
    printf("cumind %s (compiler %s)\nbackends that work here:", CM_VERSION, COMPILER);
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        cm_backend *backend;
        if (cm_backend_open((*kind)->name, &backend) != CM_OK) continue;
        printf(" %s", (*kind)->name);
        cm_backend_close(backend);
    }
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
