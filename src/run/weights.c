#include "run/weights.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/file.h"
#include "run/counterpart.h"
#include "run/directory.h"
#include "run/quantised.h"
#include "run/ranks.h"

/* ---- reading a run's weights ---- */

cm_status cm_run_check_shapes(cm_checkpoint_reader *reader, const char *name, const cm_network *network) {
    cm_array_table table = {0};
    cm_status status = cm_array_table_add_shapes(&table, network);
    if (status == CM_OK) status = cm_checkpoint_get_arrays(reader, name, table.arrays, table.count);
    cm_array_table_free(&table);
    return status;
}

/* What the part below reads and where it puts it. */
typedef struct reading {
    const cm_session *session;
    bool prefer_average;
    float *parameters, *state; /* blocks to be filled; NULL: the file is only compared with the network */
    float *ranges;             /* [rows of its table] of layers in 8 bits; NULL: not wanted */
    cm_run_facts facts;
} reading;

static cm_status read_facts(cm_checkpoint_reader *reader, cm_run_facts *facts) {
    cm_json_doc *doc = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc));
    const cm_json *root = cm_json_root(doc);
    cm_status status = cm_json_need_int(root, "updates", 0, INT64_MAX, &facts->updates);
    if (status == CM_OK) status = cm_json_need_int(root, "env_steps", 0, INT64_MAX, &facts->env_steps);
    if (status == CM_OK) status = cm_json_need_int(root, "episodes", 0, INT64_MAX, &facts->episodes);
    const char *environment = cm_json_string(cm_json_get(root, "environment"));
    snprintf(facts->environment, sizeof facts->environment, "%s", environment ? environment : "");
    facts->best_return = cm_json_number(cm_json_get(root, "best_return"), (double)NAN);
    cm_json_free(doc);
    return status;
}

/* Where arrays are of other shapes: says what of the task has changed, if that is why. */
static cm_status explain(const reading *r, cm_checkpoint_reader *reader, cm_status status) {
    char message[1024];
    cm_json_doc *doc = NULL;
    if (status != CM_ERR_INPUT || strcmp(r->facts.environment, r->session->env.spec.name) != 0) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    cm_status changed = CM_OK;
    if (cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc) == CM_OK)
        changed = cm_run_check_task(&r->session->env, cm_json_get(cm_json_root(doc), CM_STATE_TASK), false);
    cm_json_free(doc);
    return changed != CM_OK ? changed : cm_fail(status, "%s", message);
}

static cm_status read_arrays(const reading *r, const cm_network *network, cm_checkpoint_reader *reader,
                             const char *file) {
    if (cm_quantised_is(reader)) return cm_quantised_load(reader, network, r->parameters, r->state, r->ranges);
    cm_array_table table = {0};
    if (!r->parameters) return cm_run_check_shapes(reader, file, network);
    cm_status status = cm_array_table_add(&table, network, "", r->parameters, r->state);
    if (status == CM_OK) status = cm_array_table_load(&table, reader, file);
    cm_array_table_free(&table);
    return status;
}

/* Of a run that trained for 8 bits where the network does not, or the other way round. */
static cm_status read_counterpart(const reading *r, cm_checkpoint_reader *reader, const char *file) {
    cm_counterpart other;
    cm_status status = cm_counterpart_open(r->session->network, r->parameters, r->state, &other);
    const reading of_other = {
        .parameters = other.parameters, .state = other.state, .ranges = r->ranges ? other.ranges : NULL};
    if (status == CM_OK) status = read_arrays(&of_other, other.network, reader, file);
    if (status == CM_OK) cm_counterpart_copy(&other, r->parameters, r->state, r->ranges);
    cm_counterpart_close(&other);
    return status;
}

static cm_status read_either(const reading *r, cm_checkpoint_reader *reader, const char *file) {
    const cm_network *network = r->session->network;
    cm_json_doc *doc = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &doc));
    const bool has_ranges = cm_counterpart_has_ranges(cm_json_root(doc));
    cm_json_free(doc);
    if (has_ranges == cm_network_get_config(network)->fake_quantised) return read_arrays(r, network, reader, file);
    return read_counterpart(r, reader, file);
}

static cm_status read_weights(void *context, cm_checkpoint_reader *reader) {
    reading *r = context;
    CM_TRY(read_facts(reader, &r->facts));
    for (int i = 0; i < cm_checkpoint_files(reader); i++) {
        r->facts.averaged = r->facts.averaged || strcmp(cm_checkpoint_file(reader, i), CM_FILE_AVERAGE) == 0;
    }
    const char *file = r->facts.averaged && r->prefer_average ? CM_FILE_AVERAGE : CM_FILE_PARAMETERS;
    cm_status status = read_either(r, reader, file);
    return status == CM_OK ? CM_OK : explain(r, reader, status);
}

static cm_status read_run(const char *run, int64_t checkpoint, reading *r) {
    cm_checkpoint_store *store = NULL;
    CM_TRY(cm_run_directory_check(run));
    CM_TRY(cm_checkpoint_store_create(run, 1, NULL, &store));
    cm_checkpoint_part part = {.name = "the weights", .context = r, .load = read_weights};
    cm_status status = cm_checkpoint_load(store, checkpoint, &part, 1, NULL);
    cm_checkpoint_store_destroy(store);
    return status;
}

cm_status cm_run_read_weights(const char *run, int64_t checkpoint, const cm_session *session, bool prefer_average,
                              float *parameters, float *state, cm_run_facts *facts) {
    reading r = {.session = session, .prefer_average = prefer_average, .parameters = parameters, .state = state};
    cm_status status = read_run(run, checkpoint, &r);
    if (facts) *facts = r.facts;
    return status;
}

cm_status cm_run_check_weights(const char *run, int64_t checkpoint, const cm_session *session) {
    reading r = {.session = session, .prefer_average = session->configuration.trainer.ema_evaluates};
    return read_run(run, checkpoint, &r);
}

cm_status cm_run_read_ranges(const char *run, int64_t checkpoint, const cm_session *session) {
    reading r = {.session = session, .prefer_average = session->configuration.trainer.ema_evaluates};
    const cm_param_table *params = cm_network_parameters(session->network);
    CM_TRY(cm_alloc(&r.ranges, (size_t)params->count + 1, sizeof *r.ranges, "ranges of layers"));
    cm_status status = read_run(run, checkpoint, &r);
    if (status == CM_OK) cm_network_set_ranges(session->network, r.ranges);
    free(r.ranges);
    return status;
}

static size_t block_bytes(const cm_network *network) {
    const cm_param_table *params = cm_network_parameters(network);
    return (params->parameters + params->states + 1) * sizeof(float);
}

/* Blocks for the network's arrays in one piece, freed with the arena. */
static cm_status alloc_blocks(const cm_network *network, cm_arena *arena, float **parameters, float **state) {
    CM_TRY(cm_arena_create(arena, block_bytes(network), "a run's weights"));
    *parameters = cm_arena_alloc(arena, block_bytes(network));
    *state = *parameters + cm_network_parameters(network)->parameters;
    return CM_OK;
}

cm_status cm_run_load_agent(const char *run, int64_t checkpoint, cm_session *session, cm_agent *agent,
                            cm_run_facts *facts) {
    float *parameters, *state;
    cm_arena arena;
    cm_comm *comm = session->comm;
    cm_status status = CM_OK;
    cm_run_facts read;
    CM_TRY(alloc_blocks(session->network, &arena, &parameters, &state));
    if (comm->rank == 0) {
        const bool prefer_average = session->configuration.trainer.ema_evaluates;
        status = cm_run_read_weights(run, checkpoint, session, prefer_average, parameters, state, &read);
    }
    status = cm_ranks_agree(comm, status);
    if (status == CM_OK) status = comm->broadcast(comm, parameters, block_bytes(session->network), 0);
    if (status == CM_OK) status = comm->broadcast(comm, &read, sizeof read, 0);
    if (status == CM_OK && facts) *facts = read;
    if (status == CM_OK) status = cm_agent_set_weights(agent, parameters, state);
    cm_arena_destroy(&arena);
    return status;
}

cm_status cm_run_parameter_hash(const char *run, int64_t checkpoint, cm_session *session, char out[CM_HASH_HEX],
                                cm_run_facts *facts) {
    float *parameters, *state;
    cm_arena arena;
    cm_array_table table = {0};
    CM_TRY(cm_run_check_weights(run, checkpoint, session));
    CM_TRY(alloc_blocks(session->network, &arena, &parameters, &state));
    cm_status status = cm_run_read_weights(run, checkpoint, session, false, parameters, state, facts);
    if (status == CM_OK) status = cm_array_table_add(&table, session->network, "", parameters, NULL);
    if (status == CM_OK) status = cm_array_hash(table.arrays, table.count, out);
    cm_array_table_free(&table);
    cm_arena_destroy(&arena);
    return status;
}
