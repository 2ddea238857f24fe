/* What a configuration is made of, in this order, later over earlier:
 *
 *     a run's own config.json, where there is one | the built-in defaults, and on top of them the recipe of the
 *                                                 | environment that a given value names
 *     a file, a recipe or a text that is named; it takes the place of a recipe of the environment
 *     the values that are given, as by --set and by flags of their own (--seed, --env)
 *
 * Where there is none of these files, defaults may depend on the task (run/fit.h). Where nothing is named, and no value
 * that is given names an environment that has a recipe, a local file takes the place of the one that is named. */
#ifndef CM_RUN_RESOLVE_H
#define CM_RUN_RESOLVE_H

#include "distributed/comm.h"
#include "run/configuration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value that is given: cm_config_assign's arguments, or where `key` is NULL those of cm_config_take. */
typedef struct cm_given {
    const char *key, *value, *origin;
} cm_given;

/* All borrowed. */
typedef struct cm_sources {
    const char *run;      /* folder of the run whose own configuration comes first; NULL: that of a new one is made */
    const char *named;    /* a path, with a / in it or .json after it; the name of a recipe; or JSON that begins with {;
                             NULL: nothing is named */
    const char *named_by; /* what errors call it, "--config" */
    const char *local;    /* configuration.json where it is read unasked; NULL: it is not */
    const cm_given *given;
    int given_count;
    bool fits_task; /* defaults may depend on the task, which is played for them */
    cm_comm *comm;  /* of the ranks that make the same call; NULL: one alone */
} cm_sources;

/* Makes a configuration of its sources; it is not finished (cm_configuration_finish). An environment that a given value
 * names is one that the user has named (env/trust.h). cm_config_recipe tells the recipe that was taken unasked, and
 * what the task asked for, "" for neither. The caller destroys *config. Errors: CM_ERR_INPUT, and of a run those of
 * cm_run_directory_check and cm_run_check_configuration. */
cm_status cm_run_resolve(const cm_sources *sources, cm_configuration *configuration, cm_config **config) CM_MUST_USE;

/* CM_OK where a run of the configuration `before` may go on with `after`. Errors: CM_ERR_INPUT names the first key that
 * may not change on resume, and what a new run could take along. */
cm_status cm_run_check_changes(const cm_config *before, const cm_config *after) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
