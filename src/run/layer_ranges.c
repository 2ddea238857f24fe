#include "run/layer_ranges.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "network/rollout.h"
#include "replay/batch.h"

/* ---- in JSON ---- */

void cm_layer_ranges_put(const cm_network *network, const float *ranges, const char *key, cm_json_writer *json) {
    const cm_param_table *params = cm_network_parameters(network);
    cm_json_begin_object(json, key);
    for (int i = 0; i < params->count; i++)
        if (ranges[i] > 0.0f) cm_json_put_float(json, params->param[i].name, ranges[i]);
    cm_json_end_object(json);
}

static bool may_be_int8(const cm_network *network, int row) {
    const cm_param *param = &cm_network_parameters(network)->param[row];
    return !param->state && param->ndim >= 2 && !cm_network_is_for_training(network, row);
}

static cm_status read_range(const cm_network *network, const char *key, const cm_json *member, float *ranges) {
    const cm_param_table *params = cm_network_parameters(network);
    const char *name = cm_json_key(member);
    const double range = cm_json_number(member, 0.0);
    for (int i = 0; i < params->count; i++) {
        if (strcmp(params->param[i].name, name) != 0 || !may_be_int8(network, i)) continue;
        ranges[i] = (float)range;
        if (range > 0.0 && range <= (double)FLT_MAX && ranges[i] > 0.0f) return CM_OK;
        return cm_fail(CM_ERR_INPUT, "%s: %.60s: must be a finite number above 0", key, name);
    }
    return cm_fail(CM_ERR_INPUT, "%s: %.60s: is no layer of this network", key, name);
}

cm_status cm_layer_ranges_read(const cm_network *network, const cm_json *object, float *ranges) {
    CM_TRY(cm_json_check(object, CM_JSON_OBJECT));
    for (const cm_json *m = cm_json_first(object); m; m = cm_json_next(m))
        CM_TRY(read_range(network, cm_json_key(object), m, ranges));
    return CM_OK;
}

/* ---- measured ---- */

enum { ROWS = 64, BATCHES = 4 };

typedef struct measuring {
    const cm_layer_ranges_request *request;
    cm_stream *stream;
    cm_batch *batch;
    cm_rollout *rollout;
} measuring;

static cm_status open_all(measuring *m) {
    const cm_layer_ranges_request *r = m->request;
    const cm_batch_config drawn = {.rows = ROWS, .seed = r->seed};
    CM_TRY(cm_stream_open(cm_agent_get_config(r->agent)->backend, &m->stream));
    CM_TRY(cm_batch_create(r->replay, &drawn, &m->batch));
    cm_network_use use = cm_agent_network_use(r->agent, m->stream, ROWS);
    use.network = r->network, use.compute = CM_F32;
    return cm_rollout_create(&use, m->batch->unroll, &m->rollout);
}

static void close_all(const measuring *m) {
    cm_rollout_destroy(m->rollout);
    cm_batch_destroy(m->batch);
    cm_stream_close(m->stream);
}

/* What chance brings after a step is no part of a batch: any of its codes. */
static void fill_codes(const measuring *m, int k, uint64_t number) {
    const int codes = cm_network_get_config(m->request->network)->codes;
    float *code = cm_rollout_codes(m->rollout, k);
    cm_rng rng = cm_rng_init(cm_key_make(m->request->seed, CM_RNG_ACTION, (uint64_t)k), number);
    if (!code) return;
    memset(code, 0, (size_t)ROWS * (size_t)codes * sizeof *code);
    for (int i = 0; i < ROWS; i++) code[i * codes + (int)cm_rng_below(&rng, (uint32_t)codes)] = 1.0f;
}

static void fill(const measuring *m, uint64_t number) {
    const cm_batch *b = m->batch;
    memcpy(cm_rollout_observations(m->rollout), b->observation,
           (size_t)ROWS * (size_t)b->observation_size * sizeof(float));
    for (int k = 0; k < cm_rollout_steps(m->rollout); k++) {
        int32_t *actions = cm_rollout_actions(m->rollout, k);
        for (int i = 0; i < ROWS; i++) actions[i] = b->action[i * b->unroll + k];
        fill_codes(m, k, number);
    }
}

static cm_status measure(const measuring *m, float *ranges) {
    for (uint64_t i = 0; i < BATCHES; i++) {
        const uint64_t number = m->request->number * BATCHES + i;
        CM_TRY(cm_replay_sample(m->request->replay, number, 1.0, m->batch));
        fill(m, number);
        CM_TRY(cm_rollout_measure(m->rollout, ranges));
    }
    return CM_OK;
}

cm_status cm_layer_ranges_measure(const cm_layer_ranges_request *request, float *ranges) {
    measuring m = {.request = request};
    cm_status status = open_all(&m);
    if (status == CM_OK) status = measure(&m, ranges);
    close_all(&m);
    const cm_param_table *params = cm_network_parameters(request->network);
    for (int i = 0; i < params->count; i++)
        if (!isfinite(ranges[i])) ranges[i] = 0.0f;
    return status;
}
