#include "env/python.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "core/json.h"
#include "env/advice.h"
#include "env/printed.h"
#include "env/python_internal.h"

enum { MOST_OPEN = 16 };

/* A name that could not be opened just now: who asks again at once, as each option does whether it is read, need not
 * wait for another process to fail. */
typedef struct failure_of {
    char path[512], message[1024];
    cm_status status;
    double until; /* seconds of the clock */
} failure_of;

static cm_python_env *envs[MOST_OPEN];
static int env_count;
static failure_of latest;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

cm_python_env *cm_python_env_of(const cm_env_params *params) { return envs[params->python - 1]; }

static void stop_all(void) {
    for (int i = 0; i < env_count; i++)
        for (int k = 0; k < CM_PYTHON_WORKERS; k++) cm_worker_dismiss(envs[i]->worker[k]);
    for (int i = 0; i < env_count; i++)
        for (int k = 0; k < CM_PYTHON_WORKERS; k++) cm_worker_stop(envs[i]->worker[k]);
    cm_printed_end();
}

static const char gymnasium[] = "gymnasium:", ending[] = ".py";

static bool is_registered(const char *name) { return strncmp(name, gymnasium, sizeof gymnasium - 1) == 0; }

bool cm_env_is_python(const char *name) {
    const size_t length = strlen(name), rest = sizeof ending - 1;
    return is_registered(name) || (length > rest && strcmp(name + length - rest, ending) == 0);
}

bool cm_env_is_file(const char *name) {
    return cm_env_is_library(name) || (cm_env_is_python(name) && !is_registered(name));
}

/* "LunarLander-v3" of "gymnasium:LunarLander-v3", "Pong-v5" of "gymnasium:ale_py:ALE/Pong-v5", "grid" of "./grid.py".
 */
static void name_env(const char *path, char *out, size_t size) {
    const char *from = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == ':') from = c + 1;
    snprintf(out, size, "%s", from);
    const size_t length = strlen(out), rest = sizeof ending - 1;
    if (length > rest && strcmp(out + length - rest, ending) == 0) out[length - rest] = '\0';
}

static cm_status open_env(cm_python_env *e, const char *path, double timeout) {
    size_t bytes = 0;
    cm_json_doc *document = NULL;
    snprintf(e->path, sizeof e->path, "%s", path);
    name_env(path, e->name, sizeof e->name);
    pthread_mutex_init(&e->lock, NULL);
    e->workers = cm_cpu_count() < CM_PYTHON_WORKERS ? cm_cpu_count() : CM_PYTHON_WORKERS;
    cm_status status = cm_worker_start(path, timeout, &e->worker[0], &e->description, &bytes);
    if (status != CM_OK) return cm_env_advise_package(path); /* the user's choice */
    status = cm_json_parse(e->description, bytes, e->name, &document);
    if (status == CM_OK) {
        status = cm_python_spec_read(cm_json_root(document), &e->said);
        if (status != CM_OK) status = cm_fail_in(status, "%s", e->name);
    }
    if (status == CM_OK) cm_python_row_make(e);
    cm_json_free(document);
    return status;
}

static void close_env(cm_python_env *e) {
    cm_worker_stop(e->worker[0]);
    pthread_mutex_destroy(&e->lock);
    free(e->said.action_names);
    free(e->description);
    free(e);
}

static cm_status open_another(const char *name, double timeout) {
    cm_python_env *e;
    if (!is_registered(name) && !cm_file_is_regular(name))
        return cm_fail(CM_ERR_INPUT,
                       "%s: there is no such file; if it has moved, say where it is with --set env_name=PATH", name);
    if (strlen(name) >= sizeof e->path)
        return cm_fail(CM_ERR_INPUT, "%.64s...: a path of more than %zu characters", name, sizeof e->path - 1);
    if (env_count == MOST_OPEN)
        return cm_fail(CM_ERR_INPUT, "%s: %d other environments in Python are open; no more can be", name, MOST_OPEN);
    CM_TRY(cm_alloc(&e, 1, sizeof *e, "an environment in Python"));
    cm_status status = open_env(e, name, timeout);
    if (status != CM_OK) {
        close_env(e);
        return status;
    }
    if (env_count == 0) (void)atexit(stop_all);
    envs[env_count++] = e;
    return CM_OK;
}

static cm_status open_unless_failed(const char *name, double timeout) {
    enum { SECONDS = 5 };
    if (strcmp(latest.path, name) == 0 && cm_clock_seconds() < latest.until)
        return cm_fail(latest.status, "%s", latest.message);
    const cm_status status = open_another(name, timeout);
    latest.path[0] = '\0';
    if (status == CM_OK || strlen(name) >= sizeof latest.path) return status;
    snprintf(latest.path, sizeof latest.path, "%s", name);
    snprintf(latest.message, sizeof latest.message, "%s", cm_error_message());
    latest.status = status;
    latest.until = cm_clock_seconds() + SECONDS;
    return status;
}

void cm_env_heed(const cm_stop *stop) { cm_worker_heed(stop); }

cm_status cm_env_open_python(const char *name, double timeout, const cm_env_def **def, int *python) {
    cm_status status = CM_OK;
    int i = 0;
    pthread_mutex_lock(&opening);
    while (i < env_count && strcmp(envs[i]->path, name) != 0) i++;
    if (i == env_count) status = open_unless_failed(name, timeout);
    if (status == CM_OK) {
        *def = &envs[i]->def;
        *python = i + 1;
    }
    pthread_mutex_unlock(&opening);
    return status;
}
