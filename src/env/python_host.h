/* A host of environments in Python: it owns those that are open and their processes, and knows what could not be opened
 * just now. Those that cm_env_open opens belong to the process's, which ends with it. */
#ifndef CM_ENV_PYTHON_HOST_H
#define CM_ENV_PYTHON_HOST_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_python_host cm_python_host;

/* The caller owns *out. Errors: CM_ERR_MEMORY. */
cm_status cm_python_host_create(cm_python_host **out) CM_MUST_USE;

/* Ends the processes, then frees what is open: nothing of it may be used any more. NULL is allowed. */
void cm_python_host_destroy(cm_python_host *host);

/* The environment of that name, open until the host is destroyed; from any thread. `timeout`, errors: those of
 * cm_env_open_python (env/python.h). */
cm_status cm_python_host_open(cm_python_host *host, const char *name, double timeout, cm_python_env **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
