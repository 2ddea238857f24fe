/* A library of an environment that was compiled with the headers of another version. */
#include "env/env.h"

const cm_env_library *cumind_environment(void);
const cm_env_library *cumind_environment(void) {
    static const cm_env_library library = {{CM_ENV_LAYOUT + 1}, NULL};
    return &library;
}
