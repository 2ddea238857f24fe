/* A library of an environment that has no row. */
#include "env/env.h"

const cm_env_library *cumind_environment(void);
const cm_env_library *cumind_environment(void) {
    static const cm_env_library library = CM_ENV_LIBRARY_OF(NULL);
    return &library;
}
