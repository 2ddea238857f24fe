/* A library of an environment that returns nothing. */
#include <stddef.h>

const void *cumind_environment(void);
const void *cumind_environment(void) { return NULL; }
