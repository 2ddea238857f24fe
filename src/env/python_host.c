#include "env/python_host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "core/json.h"
#include "env/advice.h"
#include "env/atari.h"
#include "env/printed.h"
#include "env/python.h"
#include "env/python_internal.h"

enum { MOST_OPEN = 16 };

/* A name that could not be opened just now: a caller that asks again at once, as each option does whether it is read,
 * need not wait for another process to fail. */
typedef struct failure {
    char path[512], message[1024];
    cm_status status;
    double until; /* seconds of the clock */
} failure;

struct cm_python_host {
    cm_python_env *envs[MOST_OPEN]; /* [count], owned */
    int count;
    failure latest;
    pthread_mutex_t lock; /* of all that */
};

/* ---- one environment ---- */

static cm_status open_env(cm_python_env *e, const char *path, double timeout) {
    size_t bytes = 0;
    cm_json_doc *document = NULL;
    snprintf(e->path, sizeof e->path, "%s", path);
    cm_python_name(path, e->name, sizeof e->name);
    pthread_mutex_init(&e->lock, NULL);
    e->workers = cm_env_is_atari(path) ? 1 : cm_cpu_count() < CM_PYTHON_WORKERS ? cm_cpu_count() : CM_PYTHON_WORKERS;
    cm_status status = cm_worker_start(path, timeout, &e->worker[0], &e->description, &bytes);
    if (status != CM_OK) return cm_env_advise_package(path); /* the user's choice */
    status = cm_json_parse(e->description, bytes, e->name, &document);
    if (status == CM_OK) {
        status = cm_python_spec_read(cm_json_root(document), &e->said);
        if (status != CM_OK) status = cm_fail_in(status, "%s", e->name);
    }
    if (status == CM_OK && cm_python_has_screens(e)) status = cm_atari_open(e);
    if (status == CM_OK) {
        cm_python_row_make(e);
        if (cm_python_has_screens(e)) cm_atari_row_make(e);
        cm_python_share(e, e->worker[0]);
    }
    cm_json_free(document);
    return status;
}

static void close_env(cm_python_env *e) {
    for (int k = 0; k < CM_PYTHON_WORKERS; k++) cm_worker_stop(e->worker[k]);
    pthread_mutex_destroy(&e->lock);
    cm_area_destroy(e->area);
    free(e->screens);
    free(e->said.action_names);
    free(e->description);
    free(e);
}

/* ---- a host ---- */

cm_status cm_python_host_create(cm_python_host **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "the host of environments in Python"));
    pthread_mutex_init(&(*out)->lock, NULL);
    return CM_OK;
}

static void dismiss_all(const cm_python_host *host) {
    for (int i = 0; i < host->count; i++)
        for (int k = 0; k < CM_PYTHON_WORKERS; k++) cm_worker_dismiss(host->envs[i]->worker[k]);
}

void cm_python_host_destroy(cm_python_host *host) {
    if (!host) return;
    dismiss_all(host);
    for (int i = 0; i < host->count; i++) close_env(host->envs[i]);
    pthread_mutex_destroy(&host->lock);
    free(host);
}

static cm_status open_another(cm_python_host *host, const char *name, double timeout) {
    cm_python_env *e;
    if (!cm_python_is_registered(name) && !cm_file_is_regular(name)) return cm_env_fail_absent(name);
    if (strlen(name) >= sizeof e->path)
        return cm_fail(CM_ERR_INPUT, "%.64s...: a path of more than %zu characters", name, sizeof e->path - 1);
    if (host->count == MOST_OPEN)
        return cm_fail(CM_ERR_INPUT, "%s: %d other environments in Python are open; no more can be", name, MOST_OPEN);
    CM_TRY(cm_alloc(&e, 1, sizeof *e, "an environment in Python"));
    cm_status status = open_env(e, name, timeout);
    if (status != CM_OK) {
        close_env(e);
        return status;
    }
    host->envs[host->count++] = e;
    return CM_OK;
}

static cm_status open_unless_failed(cm_python_host *host, const char *name, double timeout) {
    enum { SECONDS = 5 };
    failure *latest = &host->latest;
    if (strcmp(latest->path, name) == 0 && cm_clock_seconds() < latest->until)
        return cm_fail(latest->status, "%s", latest->message);
    const cm_status status = open_another(host, name, timeout);
    latest->path[0] = '\0';
    if (status == CM_OK || strlen(name) >= sizeof latest->path) return status;
    snprintf(latest->path, sizeof latest->path, "%s", name);
    snprintf(latest->message, sizeof latest->message, "%s", cm_error_message());
    latest->status = status;
    latest->until = cm_clock_seconds() + SECONDS;
    return status;
}

cm_status cm_python_host_open(cm_python_host *host, const char *name, double timeout, cm_python_env **out) {
    cm_status status = CM_OK;
    int i = 0;
    pthread_mutex_lock(&host->lock);
    while (i < host->count && strcmp(host->envs[i]->path, name) != 0) i++;
    if (i == host->count) status = open_unless_failed(host, name, timeout);
    if (status == CM_OK) *out = host->envs[i];
    pthread_mutex_unlock(&host->lock);
    return status;
}

/* ---- that of the process ---- */

static cm_python_host process = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t registered = PTHREAD_ONCE_INIT;

static pid_t owner; /* a process that it forked has none of its environments, and may not end their processes */

/* Its environments stay: a thread that was left behind may still read them. */
static void end_process(void) {
    if (getpid() != owner) return;
    dismiss_all(&process);
    for (int i = 0; i < process.count; i++)
        for (int k = 0; k < CM_PYTHON_WORKERS; k++) cm_worker_stop(process.envs[i]->worker[k]);
    cm_printed_end();
}

static void register_end(void) {
    owner = getpid();
    (void)atexit(end_process);
}

void cm_env_heed(const cm_stop *stop) { cm_worker_heed(stop); }

cm_status cm_env_open_python(const char *name, cm_env_params *params, const cm_env_def **def) {
    char whole[512];
    (void)pthread_once(&registered, register_end);
    if (getpid() != owner)
        return cm_fail(CM_ERR_STATE,
                       "%s: the process that this one was forked from has opened environments in Python; start "
                       "it again (spawn), or open them here first",
                       name);
    if (cm_env_is_atari(name)) CM_TRY(cm_atari_name(name, params, whole, sizeof whole));
    CM_TRY(cm_python_host_open(&process, cm_env_is_atari(name) ? whole : name, params->timeout, &params->python));
    *def = &params->python->def;
    return CM_OK;
}
