#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "core/log.h"
#include "env/python.h"
#include "env/trust.h"
#include "run/checkpoint.h"
#include "run/run.h"

_Static_assert((int)CUMIND_STOPPED == CM_RUN_STOPPED && (int)CUMIND_LIMIT == CM_RUN_LIMIT &&
                   (int)CUMIND_GOAL == CM_RUN_GOAL,
               "cumind_train_end is cm_run_end");

/* Of the training of this process: its log, its progress and what its environments heed are there once. */
static cm_stop stop;
static int goes_on; /* atomic */

void cumind_train_stop(void) {
    if (__atomic_load_n(&goes_on, __ATOMIC_ACQUIRE)) cm_stop_ask(&stop);
}

static void heed(void) { cm_env_heed(&stop); }

static cm_status begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (__atomic_exchange_n(&goes_on, 1, __ATOMIC_ACQ_REL))
        return cm_fail(CM_ERR_STATE, "a training goes on in this process already; there is one at a time");
    (void)pthread_once(&once, heed);
    cm_api_begin_logging();
    return CM_OK;
}

/* What environments do from now on is not broken off. */
static void end(void) {
    __atomic_store_n(&stop.asked, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&goes_on, 0, __ATOMIC_RELEASE);
}

/* ---- an iteration ---- */

static cumind_iteration tell_of(const cm_metrics *m, double share, const char *metrics) {
    return (cumind_iteration){.iteration = m->iteration,
                              .env_steps = m->env_steps,
                              .updates = m->updates,
                              .episodes = m->episodes,
                              .share = share,
                              .seconds = m->seconds,
                              .env_steps_per_second = m->env_steps_per_second,
                              .updates_per_second = m->updates_per_second,
                              .mean_return = m->mean_return,
                              .mean_length = m->mean_length,
                              .total_loss = m->total_loss,
                              .eval_return = m->eval_return,
                              .metrics = metrics};
}

static void tell(void *context, const cm_metrics *m, double share) {
    const cumind_training *training = context;
    char text[CM_METRICS_TEXT + 2] = "{";
    cm_metrics_format(m, text + 1, CM_METRICS_TEXT);
    strcat(text, "}");
    const cumind_iteration seen = tell_of(m, share, text);
    if (training->iteration(training->context, &seen) != 0) cm_stop_ask(&stop);
}

/* ---- the run ---- */

static cm_status check(const cumind_training *t, const char *const *settings, int count) {
    CM_TRY(cm_api_need(t, "training"));
    CM_TRY(cm_api_check_settings(settings, count));
    if (!t->resume) {
        if (t->checkpoint != 0 || t->overwrite || t->drop_damaged)
            return cm_fail(CM_ERR_INPUT, "checkpoint, overwrite and drop_damaged go together with resume");
        if (t->init_from) CM_TRY(cm_api_check_folder(t->init_from, "init_from"));
        return t->replay_from ? cm_api_check_folder(t->replay_from, "replay_from") : CM_OK;
    }
    if (t->configuration || t->run || t->init_from || t->replay_from)
        return cm_fail(CM_ERR_INPUT, "resume goes on with a run: configuration, run, init_from and replay_from "
                                     "belong to new ones");
    if (t->overwrite && t->checkpoint == 0) return cm_fail(CM_ERR_INPUT, "overwrite: goes together with checkpoint");
    if (t->checkpoint < CUMIND_BEST)
        return cm_fail(CM_ERR_INPUT, "checkpoint must be a number of updates, CUMIND_LATEST or CUMIND_BEST, got %lld",
                       (long long)t->checkpoint);
    return cm_api_check_folder(t->resume, "resume");
}

/* Of a run that goes on: its own, and what of it may change. */
static cm_status configure_old(const cumind_training *t, const char *const *settings, int count,
                               cm_configuration *configuration, cm_config **config) {
    cm_configuration own;
    cm_config *before = NULL;
    const cm_sources sources = {.run = t->resume};
    CM_TRY(cm_run_resolve(&sources, &own, &before));
    cm_status status = cm_configuration_finish(before, &own);
    if (status == CM_OK) status = cm_api_configure(sources, settings, count, configuration, config);
    if (status == CM_OK) status = cm_run_check_changes(before, *config);
    cm_config_destroy(before);
    return status;
}

static cm_status configure(const cumind_training *t, const char *const *settings, int count,
                           cm_configuration *configuration, cm_config **config) {
    if (t->resume) return configure_old(t, settings, count, configuration, config);
    const cm_sources sources = {.named = t->configuration, .named_by = "configuration", .fits_task = true};
    return cm_api_configure(sources, settings, count, configuration, config);
}

/* What was trained with is opened later without being named again. */
static void remember(const char *env_name) {
    if (cm_env_trust_remember(env_name) != CM_OK)
        cm_log(CM_WARNING, "%s; who opens this run will have to name env_name=%s", cm_error_message(), env_name);
}

/* A run, and what it borrows. */
typedef struct own_run {
    cm_configuration configuration;
    cm_config *config;
    cm_progress *progress;
    cm_run *run;
} own_run;

static cm_status open_with(const cumind_training *t, own_run *own) {
    const cm_run_request request = {.config = own->config,
                                    .configuration = &own->configuration,
                                    .directory = t->resume ? t->resume : t->run,
                                    .resume = t->resume != NULL,
                                    .checkpoint = t->checkpoint == 0 ? CM_CHECKPOINT_LATEST : t->checkpoint,
                                    .overwrite = t->overwrite,
                                    .drop_damaged = t->drop_damaged,
                                    .init_from = t->init_from,
                                    .replay_from = t->replay_from,
                                    .progress = own->progress,
                                    .follower = {t->iteration ? tell : NULL, (void *)t},
                                    .stop = &stop};
    CM_TRY(cm_run_open(&request, &own->run));
    remember(own->configuration.env.env_name);
    return CM_OK;
}

/* Meanwhile no other thread opens an environment. */
static cm_status open_run(const cumind_training *t, const char *const *settings, int count, own_run *own) {
    const cm_progress_style style = {.file = -1, .quiet = true};
    CM_TRY(cm_progress_create(&style, &own->progress));
    cm_api_begin_opening(NULL, settings, count);
    cm_status status = configure(t, settings, count, &own->configuration, &own->config);
    if (status == CM_OK) status = open_with(t, own);
    cm_api_end_opening();
    if (status == CM_OK || !cm_stop_asked(&stop)) return status;
    return cm_fail(CM_ERR_INTERRUPTED, "asked to stop while the run began: %s", cm_error_message());
}

static void tell_result(const cm_run_result *r, cumind_train_result *out) {
    *out = (cumind_train_result){.end = (cumind_train_end)r->end,
                                 .iterations = r->iterations,
                                 .env_steps = r->env_steps,
                                 .updates = r->updates,
                                 .episodes = r->episodes,
                                 .seconds = r->seconds};
    snprintf(out->run, sizeof out->run, "%s", r->directory);
    if (!r->evaluated) return;
    out->evaluation_episodes = r->final.episodes;
    out->evaluation_mean = r->final.mean;
    out->evaluation_low = r->final.low;
    out->evaluation_high = r->final.high;
}

static cm_status train(const cumind_training *t, const char *const *settings, int count, cumind_train_result *out) {
    own_run own = {0};
    cm_run_result result;
    cm_status status = open_run(t, settings, count, &own);
    if (status == CM_OK) status = cm_run_train(own.run, &result);
    if (status == CM_OK && out) tell_result(&result, out);
    cm_run_close(own.run);
    cm_config_destroy(own.config);
    cm_progress_destroy(own.progress);
    return status;
}

cumind_status cumind_train(const cumind_training *training, const char *const *settings, int settings_count,
                           cumind_train_result *out) {
    cm_status status = check(training, settings, settings_count);
    if (status == CM_OK) status = begin();
    if (status != CM_OK) return (cumind_status)status;
    status = train(training, settings, settings_count, out);
    end();
    return (cumind_status)status;
}
