/* The parts of a run's checkpoint that are those of all ranks, and written by rank 0: counters, parameters and moments.
 * run_data.c has what is each rank's own. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/arena.h"
#include "core/log.h"
#include "run/run_internal.h"

static const char state_format[] = "cumind-run-1";

enum { JSON_BYTES = 32 * 1024, MOST_RANKS = 65536, MOST_STEPS = 1 << 24 }; /* steps: that loss scaling counts */

/* ---- weights ---- */

static uint64_t table_bytes(const cm_array_table *table) {
    return table->count > 0 ? cm_safetensors_bytes(table->arrays, table->count) : 0;
}

static uint64_t weights_bytes(void *context) {
    const cm_run *run = context;
    if (!cm_run_leads(run)) return 0;
    return table_bytes(&run->parameters) + table_bytes(&run->average) + table_bytes(&run->target) +
           table_bytes(&run->moments);
}

static cm_status put_table(cm_checkpoint_writer *writer, const char *name, const cm_array_table *table) {
    if (table->count == 0) return CM_OK;
    return cm_checkpoint_put_arrays(writer, name, table->arrays, table->count);
}

static cm_status save_weights(void *context, cm_checkpoint_writer *writer) {
    const cm_run *run = context;
    if (!cm_run_leads(run)) return CM_OK;
    CM_TRY(cm_trainer_fetch(cm_run_learner_trainer(run->learner), CM_TRAINER_ALL));
    CM_TRY(put_table(writer, CM_FILE_PARAMETERS, &run->parameters));
    CM_TRY(put_table(writer, CM_FILE_AVERAGE, &run->average));
    CM_TRY(put_table(writer, CM_FILE_TARGET, &run->target));
    return put_table(writer, CM_FILE_MOMENTS, &run->moments);
}

static cm_status get_table(cm_checkpoint_reader *reader, const char *name, const cm_array_table *table) {
    if (table->count == 0) return CM_OK;
    return cm_checkpoint_get_arrays(reader, name, table->arrays, table->count);
}

static cm_status load_weights(void *context, cm_checkpoint_reader *reader) {
    cm_run *run = context;
    CM_TRY(get_table(reader, CM_FILE_PARAMETERS, &run->parameters));
    CM_TRY(get_table(reader, CM_FILE_AVERAGE, &run->average));
    CM_TRY(get_table(reader, CM_FILE_TARGET, &run->target));
    CM_TRY(get_table(reader, CM_FILE_MOMENTS, &run->moments));
    return cm_trainer_changed(cm_run_learner_trainer(run->learner));
}

static cm_status add_slow(cm_run *run, cm_array_table *table, cm_weights which) {
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
    CM_TRY(add_slow(run, &run->average, CM_WEIGHTS_EMA));
    CM_TRY(add_slow(run, &run->target, CM_WEIGHTS_TARGET));
    CM_TRY(cm_array_table_add(&run->moments, network, "first/", cm_trainer_moments(trainer, 0), NULL));
    if (!cm_trainer_moments(trainer, 1)) return CM_OK;
    return cm_array_table_add(&run->moments, network, "second/", cm_trainer_moments(trainer, 1), NULL);
}

/* ---- counters ---- */

static uint64_t state_bytes(void *context) {
    const cm_run *run = context;
    return cm_run_leads(run) ? JSON_BYTES : 0;
}

static void put_loss_scaling(cm_json_writer *json, cm_loss_scaling s) {
    if (s.scale == 0.0) return;
    cm_json_begin_object(json, "loss_scaling");
    cm_json_put_double(json, "scale", s.scale);
    cm_json_put_int(json, "good", s.good);
    cm_json_put_int(json, "steps", s.steps);
    cm_json_put_int(json, "skipped", s.skipped);
    cm_json_end_object(json);
}

static cm_status get_loss_scaling(const cm_json *object, cm_trainer *trainer) {
    cm_loss_scaling s;
    if (!object) return CM_OK;
    CM_TRY(cm_json_need_number(object, "scale", &s.scale));
    CM_TRY(cm_json_need_int(object, "good", 0, MOST_STEPS, &s.good));
    CM_TRY(cm_json_need_int(object, "steps", 0, MOST_STEPS, &s.steps));
    CM_TRY(cm_json_need_int(object, "skipped", 0, MOST_STEPS, &s.skipped));
    return cm_trainer_set_loss_scaling(trainer, &s);
}

static void write_state(const cm_run *run, cm_json_writer *json) {
    const cm_run_state *s = &run->state;
    const cm_actor_counts counts = run->counts;
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "format", state_format);
    cm_json_put_string(json, "environment", run->session->env.spec.name);
    cm_json_put_int(json, "ranks", run->session->comm->size);
    cm_run_put_fixed(run->config, CM_STATE_FIXED, json);
    cm_run_put_task(&run->session->env.spec, &run->probe, json);
    cm_json_put_int(json, "updates", cm_trainer_updates(cm_run_learner_trainer(run->learner)));
    cm_json_put_int(json, "env_steps", counts.env_steps);
    cm_json_put_int(json, "episodes", counts.episodes);
    cm_json_put_int(json, "iteration", s->iteration);
    cm_json_put_int(json, "fresh_steps", s->fresh_steps);
    cm_json_put_int(json, "learnt_episodes", s->learnt_episodes);
    cm_json_put_int(json, "evaluations", s->evaluations);
    cm_json_put_int(json, "next_evaluation", s->next_evaluation);
    cm_json_put_int(json, "evaluated_updates", s->evaluated_updates);
    cm_json_put_int(json, "evaluated_iteration", s->evaluated_iteration);
    cm_json_put_int(json, "saved_episodes", s->saved_episodes);
    cm_json_put_int(json, "saved_updates", s->saved_updates);
    cm_json_put_bool(json, "goal_reached", s->goal_reached);
    cm_json_put_double(json, "best_return", s->best_return);
    cm_json_put_bool(json, "is_best", run->best_due);
    put_loss_scaling(json, cm_trainer_loss_scaling(cm_run_learner_trainer(run->learner)));
    cm_json_put_double(json, "credit", cm_run_learner_credit(run->learner));
    cm_json_put_double(json, "seconds", cm_run_seconds(run));
    cm_json_put_int(json, "metrics_bytes", run->metrics.bytes);
    cm_json_put_bool(json, "warned", s->warned);
    if (s->is_pending) cm_metrics_put(json, "pending", &run->row);
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

/* A count that the oldest checkpoints do not have: `least` there. */
static int64_t newer_count(const cm_json *root, const char *name, int64_t least) {
    const cm_json *count = cm_json_get(root, name);
    return cm_json_is_integer(count, least, INT64_MAX) ? (int64_t)cm_json_number(count, (double)least) : least;
}

static cm_status read_state(cm_run *run, const cm_json *root) {
    cm_run_state *s = &run->state;
    const char *format = NULL, *environment = NULL;
    int64_t updates = 0;
    CM_TRY(cm_json_need_string(root, "format", &format));
    CM_TRY(cm_json_need_string(root, "environment", &environment));
    if (strcmp(format, state_format) != 0)
        return cm_fail(CM_ERR_INPUT, "its format is \"%.40s\", this cumind reads \"%s\"", format, state_format);
    CM_TRY(cm_run_check_fixed(run->config, cm_json_get(root, CM_STATE_FIXED)));
    CM_TRY(cm_run_check_environment(run, environment));
    CM_TRY(cm_run_meet_task(run, cm_json_get(root, CM_STATE_TASK), cm_run_collects(run)));
    run->saved_ranks = 1; /* in checkpoints of before there were ranks */
    if (cm_json_get(root, "ranks")) CM_TRY(cm_json_need_int(root, "ranks", 1, MOST_RANKS, &run->saved_ranks));
    CM_TRY(cm_json_need_int(root, "updates", 0, INT64_MAX, &updates));
    CM_TRY(cm_json_need_int(root, "iteration", 0, INT64_MAX, &s->iteration));
    CM_TRY(cm_json_need_int(root, "fresh_steps", 0, INT64_MAX, &s->fresh_steps));
    CM_TRY(cm_json_need_int(root, "learnt_episodes", 0, INT64_MAX, &s->learnt_episodes));
    CM_TRY(cm_json_need_int(root, "evaluations", 0, INT64_MAX, &s->evaluations));
    CM_TRY(cm_json_need_int(root, "next_evaluation", 0, INT64_MAX, &s->next_evaluation));
    CM_TRY(cm_json_need_int(root, "saved_episodes", 0, INT64_MAX, &s->saved_episodes));
    CM_TRY(cm_json_need_int(root, "saved_updates", 0, INT64_MAX, &s->saved_updates));
    CM_TRY(cm_json_need_number(root, "credit", &s->credit));
    CM_TRY(cm_json_need_number(root, "seconds", &s->seconds));
    CM_TRY(cm_json_need_int(root, "metrics_bytes", 0, INT64_MAX, &s->metrics_bytes));
    s->goal_reached = cm_json_is_true(cm_json_get(root, "goal_reached"));
    s->best_return = cm_json_number(cm_json_get(root, "best_return"), -HUGE_VAL);
    run->best_due = cm_json_is_true(cm_json_get(root, "is_best"));
    s->warned = cm_json_is_true(cm_json_get(root, "warned"));
    s->evaluated_iteration = newer_count(root, "evaluated_iteration", -1);
    s->evaluated_updates = newer_count(root, "evaluated_updates", 0);
    s->is_pending = cm_json_get(root, "pending") != NULL;
    if (s->is_pending) run->row = cm_metrics_get(cm_json_get(root, "pending"));
    CM_TRY(get_loss_scaling(cm_json_get(root, "loss_scaling"), cm_run_learner_trainer(run->learner)));
    cm_run_learner_set_credit(run->learner, s->credit);
    cm_trainer_set_updates(cm_run_learner_trainer(run->learner), updates);
    return CM_OK;
}

static cm_status load_state(void *context, cm_checkpoint_reader *reader) {
    cm_run *run = context;
    cm_json_doc *doc = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc));
    cm_status status = read_state(run, cm_json_root(doc));
    cm_json_free(doc);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s: %s", run->directory.path, CM_FILE_STATE);
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
    cm_bytes_free(&run->bytes);
    CM_TRY(status);
    cm_log(CM_DEBUG, "saved checkpoint %lld", (long long)updates);
    return CM_OK;
}

cm_status cm_run_point_best(cm_run *run, int64_t checkpoint) {
    const bool is_best = run->best_due;
    run->best_due = false;
    return is_best && cm_run_leads(run) ? cm_checkpoint_point_best(run->store, checkpoint) : CM_OK;
}

cm_status cm_run_load(cm_run *run, int64_t checkpoint) {
    int64_t loaded = 0;
    CM_TRY(cm_checkpoint_load(run->store, checkpoint, run->parts, CM_RUN_PARTS, &loaded));
    if (cm_run_leads(run)) CM_TRY(cm_checkpoint_point_latest(run->store, loaded));
    return cm_run_point_best(run, loaded);
}
