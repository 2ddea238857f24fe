/* The table of the environments that are built in. */
#include "env/env.h"

/* Hidden from libraries, whose rows may have the same names in C: those would be these. */
#define CM_ENV_ROW(def) extern __attribute__((visibility("hidden"))) const cm_env_def def;
#include "env/rows.def"
#undef CM_ENV_ROW

static const cm_env_def *const registry[] = {
#define CM_ENV_ROW(def) &def,
#include "env/rows.def"
#undef CM_ENV_ROW
};

enum { ROWS = sizeof registry / sizeof *registry };

const cm_env_def *const *cm_env_registry(int *count) {
    *count = ROWS;
    return registry;
}
