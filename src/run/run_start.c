/* What a new run begins with of old ones: weights, and games to learn from. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "run/ranks.h"
#include "run/run_internal.h"
#include "run/segment_append.h"

enum { DIFFERENCES = 512 };

/* A run of another task: whoever forgets to name the task gets the default one. */
static cm_status refuse_task(const cm_run *run, const char *flag, const char *from, const char *task) {
    char set[CM_OPTION_TEXT + 32] = "";
    cm_env env;
    if (cm_env_open(&env, task, NULL) == CM_OK) snprintf(set, sizeof set, ", or --set env_name=%s", task);
    return cm_fail(CM_ERR_INPUT, "%s %s: that is a run of %s, this one is of %s: add --config %s/config.json%s", flag,
                   from, task, run->session->env.spec.name, from, set);
}

/* The keys that shape a network and differ between two runs, as far as they find space: "hidden_dim 32 (not 128)". */
static bool list_differences(const cm_config *theirs, const cm_config *own, char out[DIFFERENCES]) {
    cm_config_difference *rows = NULL;
    int count = 0;
    size_t used = 0;
    out[0] = '\0';
    if (cm_config_compare(theirs, own, &rows, &count) != CM_OK) return false;
    for (int i = 0; i < count && used < DIFFERENCES; i++) {
        if (cm_run_carry_of(rows[i].section, rows[i].key) == CM_CARRY_WEIGHTS) continue;
        if (cm_run_is_same_environment(rows[i].key, rows[i].before, rows[i].after)) continue;
        used += (size_t)snprintf(out + used, DIFFERENCES - used, "%s%s %s (not %s)", used ? ", " : "", rows[i].key,
                                 rows[i].before, rows[i].after);
    }
    free(rows);
    return used > 0;
}

/* Why the weights of a run are not such as this one has. */
static cm_status explain_weights(const cm_run *run, const char *from, const char *task) {
    char message[1024], differences[DIFFERENCES], path[PATH_MAX];
    cm_configuration configuration;
    cm_config *theirs = NULL;
    if (task[0] && strcmp(task, run->session->env.spec.name) != 0) return refuse_task(run, "--init-from", from, task);
    snprintf(message, sizeof message, "%s", cm_error_message());
    cm_status read =
        task[0] ? cm_path_join(path, sizeof path, from, "config.json") : CM_ERR_INPUT; /* nothing was read */
    if (read == CM_OK) read = cm_configuration_create(&configuration, &theirs);
    if (read == CM_OK) read = cm_config_read(theirs, path);
    const bool is_another = read == CM_OK && list_differences(theirs, run->config, differences);
    cm_config_destroy(theirs);
    const size_t length = strlen(from);
    const bool is_named = strncmp(message, from, length) == 0 && (message[length] == ':' || message[length] == '/');
    if (!is_another)
        return cm_fail(CM_ERR_INPUT, "--init-from%s%s: %s", is_named ? "" : " ", is_named ? "" : from, message);
    return cm_fail(CM_ERR_INPUT,
                   "--init-from %s: its weights are of another network, with %s; add --config %s/config.json, or set "
                   "them alike",
                   from, differences, from);
}

/* Rank 0 reads: the old run may be training, and have another checkpoint a moment later. */
static cm_status read_weights(const cm_run *run, const char *from, float *parameters, float *state) {
    cm_comm *comm = run->session->comm;
    const cm_param_table *table = cm_network_parameters(run->session->network);
    cm_run_facts facts = {.environment = ""};
    cm_status status = CM_OK;
    if (comm->rank == 0)
        status = cm_run_read_weights(from, CM_CHECKPOINT_LATEST, run->session, true, parameters, state, &facts);
    if (status == CM_ERR_INPUT) status = explain_weights(run, from, facts.environment);
    CM_TRY(cm_ranks_agree(comm, status));
    CM_TRY(comm->broadcast(comm, parameters, table->parameters * sizeof(float), 0));
    return table->states > 0 ? comm->broadcast(comm, state, table->states * sizeof(float), 0) : CM_OK;
}

static cm_status init_weights(cm_run *run, const char *from) {
    cm_trainer *trainer = cm_run_trainer(run);
    const cm_param_table *table = cm_network_parameters(run->session->network);
    float *parameters = cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE);
    float *state = cm_trainer_state(trainer, CM_WEIGHTS_ONLINE);
    CM_TRY(cm_trainer_fetch(trainer, CM_TRAINER_ALL));
    CM_TRY(read_weights(run, from, parameters, state));
    const cm_weights copies[2] = {CM_WEIGHTS_EMA, CM_WEIGHTS_TARGET};
    for (int i = 0; i < 2; i++) {
        float *copy = cm_trainer_parameters(trainer, copies[i]), *copied = cm_trainer_state(trainer, copies[i]);
        if (copy != parameters) memcpy(copy, parameters, table->parameters * sizeof(float));
        if (copied != state && table->states > 0) memcpy(copied, state, table->states * sizeof(float));
    }
    return cm_trainer_changed(trainer);
}

/* ---- memory ---- */

/* A memory on its way, and the task that was played. */
typedef struct memory {
    cm_run *run;
    char task[CM_OPTION_TEXT];
} memory;

/* A task of the same name must have the same arrays. */
static cm_status read_task(const cm_run *run, cm_checkpoint_reader *reader, char task[CM_OPTION_TEXT]) {
    const cm_env *env = &run->session->env;
    const char *environment = NULL;
    cm_json_doc *doc = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc));
    cm_status status = cm_json_need_string(cm_json_root(doc), "environment", &environment);
    if (status == CM_OK) snprintf(task, CM_OPTION_TEXT, "%s", environment);
    const cm_json *saved = cm_json_get(cm_json_root(doc), CM_STATE_TASK);
    const bool is_same = status == CM_OK && strcmp(task, env->spec.name) == 0;
    if (is_same) status = cm_run_check_task(env, saved, false);
    if (is_same && status == CM_OK) status = cm_run_meet_task(run, saved);
    cm_json_free(doc);
    return status;
}

static cm_status load_memory(void *context, cm_checkpoint_reader *reader) {
    memory *m = context;
    CM_TRY(read_task(m->run, reader, m->task));
    const cm_comm *comm = m->run->session->comm;
    return cm_segment_files_append(reader, cm_run_learner_replay(m->run->learner), comm->rank, comm->size);
}

static cm_status read_memory(memory *m, const char *from) {
    const cm_checkpoint_part part = {.name = "the memory", .context = m, .load = load_memory};
    cm_checkpoint_store *store = NULL;
    CM_TRY(cm_run_directory_check(from));
    CM_TRY(cm_checkpoint_store_create(from, 1, m->run->session->comm, &store));
    cm_status status = cm_checkpoint_load(store, CM_CHECKPOINT_LATEST, &part, 1, NULL);
    cm_checkpoint_store_destroy(store);
    return status;
}

static cm_status init_memory(cm_run *run, const char *from) {
    const char *own = run->session->env.spec.name;
    memory m = {.run = run};
    cm_replay_counts counts;
    cm_status status = read_memory(&m, from);
    if (status == CM_ERR_INPUT && m.task[0] && strcmp(m.task, own) != 0)
        return refuse_task(run, "--replay-from", from, m.task);
    if (status != CM_OK)
        return cm_fail_in(status, "--replay-from %s%s%s", from, m.task[0] ? ", a run of " : "", m.task);
    if (cm_run_leads(run) && strcmp(m.task, own) != 0)
        cm_log(CM_WARNING, "--replay-from: %s has played %s, this run is of %s", from, m.task, own);
    cm_replay_count(cm_run_learner_replay(run->learner), &counts);
    double all[2] = {(double)counts.positions, (double)counts.episodes};
    CM_TRY(run->session->comm->all_reduce_double(run->session->comm, all, 2));
    if (!(all[0] > 0.0)) return cm_fail(CM_ERR_INPUT, "--replay-from: %s has saved no finished episode", from);
    cm_progress_say(run->progress, "replay    begins with %.0f steps of %.0f episodes, from %s", all[0], all[1], from);
    return CM_OK;
}

bool cm_run_has_start(const cm_run_request *request) {
    return !request->resume && (request->init_from || request->replay_from);
}

cm_status cm_run_start_from(cm_run *run, const cm_run_request *request) {
    if (request->init_from) CM_TRY(init_weights(run, request->init_from));
    return request->replay_from ? init_memory(run, request->replay_from) : CM_OK;
}
