/* The parts of a run's checkpoint that are those of all ranks, and written by rank 0: counters, parameters and moments.
 * run_data.c has what is each rank's own. */
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/log.h"
#include "run/quantised.h"
#include "run/run_internal.h"

static const char state_format[] = "cumind-run-1";

enum { JSON_BYTES = 32 * 1024 };

/* ---- weights ---- */

static uint64_t table_bytes(const cm_array_table *table) {
    return table->count > 0 ? cm_safetensors_bytes(table->arrays, table->count) : 0;
}

static uint64_t weights_bytes(void *context) {
    const cm_run *run = context;
    if (!cm_run_leads(run)) return 0;
    return table_bytes(&run->parameters) * (run->state.is_within ? 2 : 1) + table_bytes(&run->average) +
           table_bytes(&run->target) + table_bytes(&run->moments);
}

static cm_status put_table(cm_checkpoint_writer *writer, const char *name, const cm_array_table *table) {
    if (table->count == 0) return CM_OK;
    return cm_checkpoint_put_arrays(writer, name, table->arrays, table->count);
}

/* Those that act and search again within an iteration: of before its learning. */
static cm_status open_acting(const cm_run *run, float **blocks, cm_array_table *table) {
    const cm_param_table *sizes = cm_network_parameters(run->session->network);
    CM_TRY(cm_alloc(blocks, sizes->parameters + sizes->states + 1, sizeof **blocks, "the weights that act"));
    return cm_array_table_add(table, run->session->network, "", *blocks, *blocks + sizes->parameters);
}

static cm_status save_acting(const cm_run *run, cm_checkpoint_writer *writer) {
    const size_t parameters = cm_network_parameters(run->session->network)->parameters;
    float *blocks = NULL;
    cm_array_table table = {0};
    cm_status status = open_acting(run, &blocks, &table);
    if (status == CM_OK) status = cm_agent_get_weights(run->actor_agent, blocks, blocks + parameters);
    if (status == CM_OK) status = put_table(writer, CM_FILE_ACTING, &table);
    cm_array_table_free(&table);
    free(blocks);
    return status;
}

static cm_status save_weights(void *context, cm_checkpoint_writer *writer) {
    const cm_run *run = context;
    if (!cm_run_leads(run)) return CM_OK;
    CM_TRY(cm_trainer_fetch(cm_run_learner_trainer(run->learner), CM_TRAINER_ALL));
    CM_TRY(put_table(writer, CM_FILE_PARAMETERS, &run->parameters));
    CM_TRY(put_table(writer, CM_FILE_AVERAGE, &run->average));
    CM_TRY(put_table(writer, CM_FILE_TARGET, &run->target));
    if (run->state.is_within) CM_TRY(save_acting(run, writer));
    return put_table(writer, CM_FILE_MOMENTS, &run->moments);
}

static cm_status get_table(cm_checkpoint_reader *reader, const char *name, const cm_array_table *table) {
    if (table->count == 0) return CM_OK;
    return cm_array_table_load(table, reader, name);
}

static cm_status load_acting(const cm_run *run, cm_checkpoint_reader *reader) {
    const size_t parameters = cm_network_parameters(run->session->network)->parameters;
    float *blocks = NULL;
    cm_array_table table = {0};
    cm_status status = open_acting(run, &blocks, &table);
    if (status == CM_OK) status = get_table(reader, CM_FILE_ACTING, &table);
    if (status == CM_OK) status = cm_agent_set_weights(run->actor_agent, blocks, blocks + parameters);
    cm_array_table_free(&table);
    free(blocks);
    return status;
}

static cm_status load_weights(void *context, cm_checkpoint_reader *reader) {
    cm_run *run = context;
    CM_TRY(get_table(reader, CM_FILE_PARAMETERS, &run->parameters));
    CM_TRY(get_table(reader, CM_FILE_AVERAGE, &run->average));
    CM_TRY(get_table(reader, CM_FILE_TARGET, &run->target));
    CM_TRY(get_table(reader, CM_FILE_MOMENTS, &run->moments));
    CM_TRY(cm_trainer_changed(cm_run_learner_trainer(run->learner)));
    return run->state.is_within ? load_acting(run, reader) : CM_OK;
}

static cm_status add_copy(cm_run *run, cm_array_table *table, cm_weights which) {
    cm_trainer *trainer = cm_run_learner_trainer(run->learner);
    float *parameters = cm_trainer_parameters(trainer, which), *state = cm_trainer_state(trainer, which);
    if (parameters == cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE)) return CM_OK;
    return cm_array_table_add(table, run->session->network, "", parameters, state);
}

static cm_status make_tables(cm_run *run) {
    cm_trainer *trainer = cm_run_learner_trainer(run->learner);
    const cm_network *network = run->session->network;
    CM_TRY(cm_array_table_add(&run->parameters, network, "", cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE),
                              cm_trainer_state(trainer, CM_WEIGHTS_ONLINE)));
    CM_TRY(add_copy(run, &run->average, CM_WEIGHTS_EMA));
    CM_TRY(add_copy(run, &run->target, CM_WEIGHTS_TARGET));
    CM_TRY(cm_array_table_add(&run->moments, network, "first/", cm_trainer_moments(trainer, 0), NULL));
    if (!cm_trainer_moments(trainer, 1)) return CM_OK;
    return cm_array_table_add(&run->moments, network, "second/", cm_trainer_moments(trainer, 1), NULL);
}

/* ---- counters ---- */

static uint64_t state_bytes(void *context) {
    const cm_run *run = context;
    return cm_run_leads(run) ? JSON_BYTES : 0;
}

static cm_run_counters counters_of(const cm_run *run) {
    const cm_trainer *trainer = cm_run_learner_trainer(run->learner);
    cm_run_counters c = {.ranks = run->session->comm->size,
                         .updates = cm_trainer_updates(trainer),
                         .env_steps = run->counts.env_steps,
                         .episodes = run->counts.episodes,
                         .is_best = run->best_due,
                         .state = run->state,
                         .scaling = cm_trainer_loss_scaling(trainer),
                         .row = run->row,
                         .round = run->round,
                         .temperature = run->row.temperature};
    c.state.credit = cm_run_learner_credit(run->learner);
    cm_run_time_as(run, CM_TIME_SAVING, c.state.time);
    c.state.seconds = cm_run_seconds(run); /* not before, so that the times never add up to more */
    c.state.metrics_bytes = run->metrics.lines.bytes;
    return c;
}

static void write_state(const cm_run *run, cm_json_writer *json) {
    const cm_run_counters counters = counters_of(run);
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "format", state_format);
    cm_json_put_string(json, "environment", run->session->env.spec.name);
    cm_run_put_fixed(run->config, CM_STATE_FIXED, json);
    cm_run_put_task(&run->session->env.spec, &run->probe, json);
    cm_run_counters_put(&counters, json);
    cm_run_put_acting(run, json);
    cm_json_end_object(json);
}

static cm_status save_state(void *context, cm_checkpoint_writer *writer) {
    const cm_run *run = context;
    cm_json_writer *json = NULL;
    if (!cm_run_leads(run)) return CM_OK;
    CM_TRY(cm_json_writer_create(2, &json));
    write_state(run, json);
    cm_status status = cm_checkpoint_put_json(writer, CM_FILE_STATE, json);
    cm_json_writer_destroy(json);
    return status;
}

/* The round that was broken off. What ranks have added up is that of the first. Of the metrics of its acting the row
 * has those that are kept with it. */
static void restore_round(cm_run *run, const cm_run_counters *c) {
    run->round = c->round;
    if (!cm_run_leads(run)) run->round.sum.policy_drift = run->round.sum.policies_reanalysed = 0.0;
    run->row = cm_metrics_empty();
    if (c->temperature >= 0.0) run->row.temperature = c->temperature;
}

/* What was read goes to its places. */
static cm_status restore_counters(cm_run *run, const cm_run_counters *c) {
    cm_trainer *trainer = cm_run_learner_trainer(run->learner);
    const double iteration = cm_run_learner_iteration_steps(cm_run_options_of(run));
    if ((double)c->state.fresh_steps > iteration)
        return cm_fail(CM_ERR_INPUT, "fresh_steps: is %lld, more than the %.0f of an iteration",
                       (long long)c->state.fresh_steps, iteration);
    run->state = c->state;
    run->best_due = c->is_best;
    run->saved_ranks = c->ranks;
    run->saved_env_steps = c->env_steps, run->saved_finished = c->episodes;
    if (c->state.is_pending) run->row = c->row;
    if (c->state.is_within) restore_round(run, c);
    cm_run_learner_set_credit(run->learner, c->state.credit);
    if (c->scaling.scale != 0.0) CM_TRY(cm_trainer_set_loss_scaling(trainer, &c->scaling));
    cm_trainer_set_updates(trainer, c->updates);
    return CM_OK;
}

/* Whether the state is of this run. */
static cm_status check_state(cm_run *run, const cm_json *root) {
    const char *format = NULL, *environment = NULL;
    CM_TRY(cm_json_need_string(root, "format", &format));
    CM_TRY(cm_json_need_string(root, "environment", &environment));
    if (strcmp(format, state_format) != 0)
        return cm_fail(CM_ERR_INPUT, "its format is \"%.40s\", this cumind reads \"%s\"", format, state_format);
    CM_TRY(cm_run_check_fixed(run->config, cm_json_get(root, CM_STATE_FIXED)));
    CM_TRY(cm_run_check_environment(run, environment));
    return cm_run_check_task(&run->session->env, cm_json_get(root, CM_STATE_TASK), cm_run_collects(run));
}

static cm_status read_state(cm_run *run, const cm_json *root) {
    cm_run_counters counters;
    CM_TRY(check_state(run, root));
    CM_TRY(cm_run_meet_task(run, cm_json_get(root, CM_STATE_TASK)));
    CM_TRY(cm_run_counters_read(root, &counters));
    CM_TRY(cm_run_read_acting(run, root));
    return restore_counters(run, &counters);
}

static cm_status open_state(cm_run *run, cm_checkpoint_reader *reader,
                            cm_status (*read)(cm_run *run, const cm_json *root)) {
    cm_json_doc *doc = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc));
    cm_status status = read(run, cm_json_root(doc));
    cm_json_free(doc);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s: %s", run->directory.path, CM_FILE_STATE);
}

static cm_status load_state(void *run, cm_checkpoint_reader *reader) { return open_state(run, reader, read_state); }

cm_status cm_run_check_counts(const cm_run *run) {
    const cm_actor_counts *c = &run->counts;
    if (!run->actor || (c->env_steps == run->saved_env_steps && c->episodes == run->saved_finished)) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s: %s: its %lld env_steps and %lld episodes are not the %lld and %lld of its environments",
                   run->directory.path, CM_FILE_STATE, (long long)run->saved_env_steps, (long long)run->saved_finished,
                   (long long)c->env_steps, (long long)c->episodes);
}

/* ---- all of it ---- */

cm_status cm_run_make_parts(cm_run *run) {
    const cm_checkpoint_part parts[CM_RUN_PARTS] = {
        {"the counters", run, state_bytes, save_state, load_state},
        {"the weights", run, weights_bytes, save_weights, load_weights},
        {"the replay", run, cm_run_data_bytes, cm_run_data_save, cm_run_data_load},
    };
    memcpy(run->parts, parts, sizeof parts);
    CM_TRY(cm_alloc(&run->actor_bytes, cm_actor_bytes(run->actor) + 1, 1, "the state of the environments"));
    return make_tables(run);
}

cm_status cm_run_save(cm_run *run) {
    int64_t updates = cm_trainer_updates(cm_run_learner_trainer(run->learner));
    cm_status status = cm_checkpoint_save(run->store, updates, run->parts, CM_RUN_PARTS);
    CM_TRY(status);
    cm_log(CM_DEBUG, "saved checkpoint %lld", (long long)updates);
    return CM_OK;
}

cm_status cm_run_begin_save(cm_run *run) {
    const int64_t updates = cm_trainer_updates(cm_run_learner_trainer(run->learner));
    return cm_checkpoint_begin_save(run->store, updates, run->parts, CM_RUN_PARTS);
}

cm_status cm_run_check_space(cm_run *run) { return cm_checkpoint_check_space(run->store, run->parts, CM_RUN_PARTS); }

cm_status cm_run_point_best(cm_run *run, int64_t checkpoint) {
    const bool is_best = run->best_due;
    run->best_due = false;
    if (is_best) run->best_kept = run->state.best_return;
    return is_best && cm_run_leads(run) ? cm_checkpoint_point_best(run->store, checkpoint) : CM_OK;
}

static cm_status look_at_state(void *run, cm_checkpoint_reader *reader) { return open_state(run, reader, check_state); }

static cm_status look_at_weights(void *context, cm_checkpoint_reader *reader) {
    const cm_run *run = context;
    if (cm_quantised_is(reader))
        return cm_fail(CM_ERR_INPUT,
                       "%s: its weights are of 8 bits, which plays and does not train: go on with the run that they "
                       "were made of, or begin one with --init-from %s",
                       run->directory.path, run->directory.path);
    return cm_run_check_shapes(reader, CM_FILE_PARAMETERS, run->session->network);
}

cm_status cm_run_look(cm_run *run, int64_t checkpoint) {
    const cm_checkpoint_part parts[] = {{.name = "the counters", .context = run, .load = look_at_state},
                                        {.name = "the weights", .context = run, .load = look_at_weights}};
    return cm_checkpoint_load(run->store, checkpoint, parts, 2, NULL);
}

cm_status cm_run_load(cm_run *run, int64_t checkpoint) {
    int64_t loaded = 0;
    CM_TRY(cm_checkpoint_load(run->store, checkpoint, run->parts, CM_RUN_PARTS, &loaded));
    run->best_kept = run->state.best_return;
    run->from = loaded;
    return CM_OK;
}

cm_status cm_run_go_on(cm_run *run) {
    if (cm_run_leads(run)) CM_TRY(cm_checkpoint_point_latest(run->store, run->from));
    return cm_run_point_best(run, run->from);
}
