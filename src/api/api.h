/* What the files of api/ share: handles that one thread uses at a time, settings, and how a spec is told.
 *
 * api/ is what include/cumind.h declares, thin: checks of arguments, and calls of the folders below. */
#ifndef CM_API_API_H
#define CM_API_API_H

#include <cumind.h>

#include "env/env.h"
#include "run/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a handle. */
typedef struct cm_api_guard {
    const char *what; /* "the agent": what messages call the handle */
    int taken;        /* by a call; only cm_api_enter and cm_api_leave touch it */
    int forks;        /* behind this process when it was opened */
} cm_api_guard;

/* Of a handle that is opened now. */
void cm_api_guard_begin(cm_api_guard *guard, const char *what);

/* Whether this process has opened the handle, and not one that it was forked from: its threads are there. */
bool cm_api_is_own(const cm_api_guard *guard);

/* CM_OK: the caller may use the handle, and gives it back by cm_api_leave. Errors: CM_ERR_INPUT where it is NULL,
 * CM_ERR_STATE where another thread uses it, or another process has opened it. */
static inline cm_status cm_api_enter(cm_api_guard *guard) {
    if (!guard) return cm_fail(CM_ERR_INPUT, "the handle is NULL: it was not opened, or it was closed");
    if (!cm_api_is_own(guard))
        return cm_fail(CM_ERR_STATE,
                       "%s: opened by the process that this one was forked from; open it here, or start "
                       "processes by spawn",
                       guard->what);
    if (__atomic_exchange_n(&guard->taken, 1, __ATOMIC_ACQUIRE) == 0) return CM_OK;
    return cm_fail(CM_ERR_STATE, "%s is in use by another thread; a handle is for one at a time", guard->what);
}
static inline cumind_status cm_api_leave(cm_api_guard *guard, cm_status status) { /* returns it */
    __atomic_store_n(&guard->taken, 0, __ATOMIC_RELEASE);
    return (cumind_status)status;
}

/* CM_ERR_INPUT, "NAME must not be NULL", where it is. */
static inline cm_status cm_api_need(const void *pointer, const char *name) {
    return pointer ? CM_OK : cm_fail(CM_ERR_INPUT, "%s must not be NULL", name);
}

/* rows[n, size] of the argument `name`, each of which messages call `one` ("row"), are finite. Errors: CM_ERR_INPUT. */
cm_status cm_api_check_finite(const char *name, const char *one, const float *rows, int n, size_t size) CM_MUST_USE;

/* The user's settings, each not NULL. Errors: CM_ERR_INPUT. */
cm_status cm_api_check_settings(const char *const *settings, int count) CM_MUST_USE;

/* A folder that a caller names. Errors: CM_ERR_INPUT where it is NULL or "", CM_ERR_IO where there is none. */
cm_status cm_api_check_folder(const char *path, const char *name) CM_MUST_USE;

/* The finished configuration of these sources and settings. The caller destroys *config. Errors: those of
 * cm_run_resolve and cm_configuration_finish. */
cm_status cm_api_configure(cm_sources sources, const char *const *settings, int count, cm_configuration *configuration,
                           cm_config **config) CM_MUST_USE;

/* From now on lines of the log go where cumind_log_to says, and without that warnings and errors alone to stderr. */
void cm_api_begin_logging(void);

/* Opens code only of those whom the caller names, by `name` or as env_name among the settings, or this user has trained
 * with. Between the two no other thread opens an environment. `name` NULL: the settings alone. */
void cm_api_begin_opening(const char *name, const char *const *settings, int count);
void cm_api_end_opening(void);

/* Zeros where env is NULL; nothing where out is. */
void cm_api_spec(const cm_env *env, cumind_spec *out);

#ifdef __cplusplus
}
#endif

#endif
