#include "api/api.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "env/trust.h"

/* cumind.h has the same numbers, without this project's names. */
_Static_assert((int)CUMIND_OK == CM_OK && (int)CUMIND_ERR_INPUT == CM_ERR_INPUT && (int)CUMIND_ERR_IO == CM_ERR_IO &&
                   (int)CUMIND_ERR_MEMORY == CM_ERR_MEMORY && (int)CUMIND_ERR_DEVICE == CM_ERR_DEVICE &&
                   (int)CUMIND_ERR_MODEL == CM_ERR_MODEL && (int)CUMIND_ERR_STATE == CM_ERR_STATE &&
                   (int)CUMIND_ERR_NOT_FINITE == CM_ERR_NOT_FINITE && (int)CUMIND_ERR_ABSENT == CM_ERR_ABSENT &&
                   (int)CUMIND_ERR_INTERRUPTED == CM_ERR_INTERRUPTED,
               "cumind_status is cm_status");
_Static_assert((int)CUMIND_DEBUG == CM_DEBUG && (int)CUMIND_ERROR == CM_ERROR, "cumind_log_level is cm_log_level");

int cumind_interface(void) { return CUMIND_INTERFACE; }

const char *cumind_version(void) { return CM_VERSION; }

const char *cumind_error_message(void) { return cm_error_message(); }

cumind_status cumind_fail(cumind_status status, const char *message) {
    const bool known = status > CUMIND_OK && status <= CUMIND_ERR_INTERRUPTED;
    return (cumind_status)cm_fail(known ? (cm_status)status : CM_ERR_MODEL, "%s", message ? message : "");
}

/* ---- handles ---- */

static int forks; /* between the process that has opened the first handle and this one */

static void count_fork(void) { forks++; }

static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, count_fork); }

void cm_api_guard_begin(cm_api_guard *guard, const char *what) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    guard->what = what;
    guard->forks = forks;
}

bool cm_api_is_own(const cm_api_guard *guard) { return guard->forks == forks; }

/* ---- the log ---- */

static struct {
    cumind_log_function log;
    void *context;
} sink;

/* Without a function of the caller nothing but warnings and errors is printed. */
static bool send(void *context, cm_log_level level, const char *line) {
    (void)context;
    if (!sink.log) return level < CM_WARNING;
    sink.log(sink.context, (cumind_log_level)level, line);
    return true;
}

static void hook(void) { cm_log_set_hook(send, NULL); }

void cm_api_begin_logging(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, hook);
}

void cumind_log_to(cumind_log_function log, void *context) {
    cm_api_begin_logging();
    cm_log_hold();
    sink.log = log;
    sink.context = context;
    cm_log_release();
}

/* ---- settings ---- */

cm_status cm_api_check_finite(const char *name, const char *one, const float *rows, int n, size_t size) {
    for (size_t i = 0; i < (size_t)n * size; i++)
        if (!isfinite(rows[i]))
            return cm_fail(CM_ERR_INPUT, "%s: number %zu of %s %zu is not finite", name, i % size, one, i / size);
    return CM_OK;
}

cm_status cm_api_check_settings(const char *const *settings, int count) {
    if (count < 0) return cm_fail(CM_ERR_INPUT, "settings_count must be 0 or more, got %d", count);
    if (count > 0) CM_TRY(cm_api_need(settings, "settings"));
    for (int i = 0; i < count; i++)
        if (!settings[i]) return cm_fail(CM_ERR_INPUT, "settings[%d] must not be NULL", i);
    return CM_OK;
}

cm_status cm_api_check_folder(const char *path, const char *name) {
    CM_TRY(cm_api_need(path, name));
    if (path[0] == '\0') return cm_fail(CM_ERR_INPUT, "%s must not be empty: the folder of a run is wanted", name);
    return cm_file_exists(path) ? CM_OK : cm_fail(CM_ERR_IO, "%s: there is no such folder", path);
}

static cm_status resolve(cm_sources *sources, const char *const *settings, int count, cm_configuration *configuration,
                         cm_config **config) {
    cm_given *given;
    CM_TRY(cm_alloc(&given, (size_t)count + 1, sizeof *given, "settings"));
    for (int i = 0; i < count; i++) given[i] = (cm_given){.value = settings[i], .origin = "settings"};
    sources->given = given;
    sources->given_count = count;
    const cm_status status = cm_run_resolve(sources, configuration, config);
    free(given);
    return status;
}

cm_status cm_api_configure(cm_sources sources, const char *const *settings, int count, cm_configuration *configuration,
                           cm_config **config) {
    CM_TRY(resolve(&sources, settings, count, configuration, config));
    if (!sources.run) cm_configuration_prefer_time(*config, configuration);
    const cm_status status = cm_configuration_finish(*config, configuration);
    if (status == CM_OK) return CM_OK;
    cm_config_destroy(*config);
    *config = NULL;
    return status;
}

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

void cm_api_begin_opening(const char *name, const char *const *settings, int count) {
    static const char *const keys[] = {"env_name=", "Environment.env_name="};
    pthread_mutex_lock(&opening);
    cm_env_trust(CM_ENV_TRUST_KNOWN);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 2; k++)
            if (strncmp(settings[i], keys[k], strlen(keys[k])) == 0) name = settings[i] + strlen(keys[k]);
    cm_env_trust_named(name ? name : "");
}

void cm_api_end_opening(void) { pthread_mutex_unlock(&opening); }

/* ---- specs ---- */

void cm_api_spec(const cm_env *env, cumind_spec *out) {
    if (!out) return;
    *out = (cumind_spec){0};
    if (!env) return;
    const cm_env_spec *s = &env->spec;
    *out = (cumind_spec){.observation_rank = s->rank,
                         .observation_shape = {s->shape[0], s->shape[1], s->shape[2]},
                         .observation_size = s->observation_size,
                         .actions = s->actions,
                         .action_size = s->action_size,
                         .action_low = s->action_low,
                         .action_high = s->action_high,
                         .has_mask = env->def && env->def->legal,
                         .players = s->players,
                         .max_steps = s->max_steps,
                         .reward_low = s->reward_low,
                         .reward_high = s->reward_high,
                         .reward_threshold = s->reward_threshold,
                         .discount = s->discount};
    snprintf(out->name, sizeof out->name, "%s", s->name);
}
