#include "cases/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/trainer_options.h"
#include "core/arena.h"

enum { SAMPLED = 48 }; /* elements of a parameter that a case lists after the update */

typedef struct train_case {
    const cm_json *inputs;
    cm_case_options options;
    cm_network *network;
    cm_trainer *trainer;
    cm_case_report *report;
    float *scratch; /* space for the largest array compared */
} train_case;

bool cm_trainer_case_knows(const char *kind) {
    return strcmp(kind, "train_step") == 0 || strcmp(kind, "train_trajectory") == 0;
}

/* ---- inputs ---- */

static cm_status load_param(const cm_json *from, const cm_param *p, float *block) {
    cm_case_array array;
    CM_TRY(cm_case_array_read(from, p->name, &array));
    cm_status status = CM_OK;
    bool same = array.rank == p->ndim;
    for (int i = 0; same && i < p->ndim; i++) same = array.shape[i] == p->dim[i];
    if (same) {
        memcpy(block + p->offset, array.data, p->count * sizeof(float));
    } else {
        status = cm_fail(CM_ERR_INPUT, "%s: its shape is not the network's", p->name);
    }
    cm_case_array_free(&array);
    return status;
}

static cm_status load_params(const train_case *c) {
    const cm_param_table *table = cm_network_parameters(c->network);
    const cm_json *parameters, *state = cm_json_get(c->inputs, "state");
    int states = 0;
    CM_TRY(cm_trainer_fetch(c->trainer, CM_TRAINER_ALL));
    CM_TRY(cm_json_need(c->inputs, "parameters", CM_JSON_OBJECT, &parameters));
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        float *block = p->state ? cm_trainer_state(c->trainer, CM_WEIGHTS_ONLINE)
                                : cm_trainer_parameters(c->trainer, CM_WEIGHTS_ONLINE);
        CM_TRY(load_param(p->state ? state : parameters, p, block));
        states += p->state;
    }
    if (cm_json_size(parameters) != table->count - states || (state && cm_json_size(state) != states)) {
        return cm_fail(CM_ERR_INPUT, "parameters or state has an array that the network lacks");
    }
    return cm_trainer_changed(c->trainer);
}

/* The arrays of a batch as a case names them, with a number, a policy or an observation for each row of the batch, each
 * of its K steps or of its K + 1 states. The last one only with consistency. */
typedef struct array_row {
    const char *name;
    size_t at; /* in cm_train_batch */
    enum { EACH_ROW, EACH_STEP, EACH_STATE } of;
    enum { NUMBER, ACTION, POLICY, OBSERVATION } what;
} array_row;

#define ROW(name, ...)                                                                                                 \
    { #name, offsetof(cm_train_batch, name), __VA_ARGS__ }
static const array_row array_rows[] = {
    ROW(observation, EACH_ROW, OBSERVATION),
    ROW(target_value, EACH_STATE, NUMBER),
    ROW(target_reward, EACH_STEP, NUMBER),
    ROW(target_policy, EACH_STATE, POLICY),
    ROW(value_mask, EACH_STATE, NUMBER),
    ROW(reward_mask, EACH_STEP, NUMBER),
    ROW(policy_mask, EACH_STATE, NUMBER),
    ROW(consistency_mask, EACH_STEP, NUMBER),
    ROW(weights, EACH_ROW, NUMBER),
    ROW(actions, EACH_STEP, ACTION),
    ROW(target_observations, EACH_STEP, OBSERVATION),
};

enum { ARRAYS = sizeof array_rows / sizeof *array_rows };

typedef struct batch_arrays {
    cm_case_array array[ARRAYS]; /* owned, like the next one */
    int32_t *actions;
    cm_train_batch batch;
} batch_arrays;

static void free_batch(batch_arrays *b) {
    for (int i = 0; i < ARRAYS; i++) cm_case_array_free(&b->array[i]);
    free(b->actions);
}

static cm_status check_shape(const train_case *c, const array_row *row, const cm_case_array *array) {
    const cm_network_config *n = cm_network_get_config(c->network);
    int64_t want[5] = {c->options.batch};
    int rank = 1;
    if (row->of != EACH_ROW) want[rank++] = c->options.unroll + (row->of == EACH_STATE);
    if (row->what == POLICY) want[rank++] = n->actions;
    for (int i = 0; row->what == OBSERVATION && i < n->observation_ndim; i++) want[rank++] = n->observation[i];
    bool same = array->rank == rank;
    for (int i = 0; same && i < rank; i++) same = array->shape[i] == want[i];
    return same ? CM_OK : cm_fail(CM_ERR_INPUT, "batch/%s: its shape is not that of options and network", row->name);
}

static cm_status read_actions(batch_arrays *b, const cm_case_array *a, int actions) {
    CM_TRY(cm_alloc(&b->actions, a->count + 1, sizeof *b->actions, "actions"));
    for (size_t i = 0; i < a->count; i++) {
        if (!(a->data[i] >= 0.0f && a->data[i] < (float)actions)) {
            return cm_fail(CM_ERR_INPUT, "batch/actions[%zu] is %g, must be 0..%d", i, (double)a->data[i], actions - 1);
        }
        b->actions[i] = (int32_t)a->data[i];
    }
    b->batch.actions = b->actions;
    return CM_OK;
}

static cm_status read_batch(const train_case *c, const cm_json *json, batch_arrays *b) {
    const cm_network_config *n = cm_network_get_config(c->network);
    for (int i = 0; i < ARRAYS - !n->consistency; i++) {
        const array_row *row = &array_rows[i];
        CM_TRY(cm_case_array_read(json, row->name, &b->array[i]));
        CM_TRY(check_shape(c, row, &b->array[i]));
        if (row->what == ACTION) {
            CM_TRY(read_actions(b, &b->array[i], n->actions));
        } else {
            *(const float **)(void *)((char *)&b->batch + row->at) = b->array[i].data;
        }
    }
    return CM_OK;
}

/* ---- comparison ---- */

static cm_status check_double(train_case *c, double value, const char *path) {
    float got = (float)value;
    return cm_case_check(c->report, &got, 1, "%s", path);
}

static cm_status check_doubles(train_case *c, const double *values, int n, const char *path) {
    for (int i = 0; i < n; i++) c->scratch[i] = (float)values[i];
    return cm_case_check(c->report, c->scratch, (size_t)n, "%s", path);
}

/* At most SAMPLED elements of each array, evenly spread, the ends included. */
static cm_status check_after(train_case *c, bool state, const char *prefix) {
    const cm_param_table *table = cm_network_parameters(c->network);
    CM_TRY(cm_trainer_fetch(c->trainer, CM_TRAINER_WEIGHTS));
    const float *block =
        state ? cm_trainer_state(c->trainer, CM_WEIGHTS_ONLINE) : cm_trainer_parameters(c->trainer, CM_WEIGHTS_ONLINE);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->state != state) continue;
        size_t m = state || p->count < SAMPLED ? p->count : SAMPLED;
        for (size_t j = 0; j < m; j++) {
            size_t at = m == p->count ? j : (size_t)lround((double)j * (double)(p->count - 1) / (double)(m - 1));
            c->scratch[j] = block[p->offset + at];
        }
        CM_TRY(cm_case_check(c->report, c->scratch, m, "%s/%s", prefix, p->name));
    }
    return CM_OK;
}

static cm_status check_state(train_case *c) {
    return cm_network_parameters(c->network)->states ? check_after(c, true, "state_after") : CM_OK;
}

static cm_status check_gradients(train_case *c, double scale) {
    const cm_param_table *table = cm_network_parameters(c->network);
    CM_TRY(cm_trainer_fetch(c->trainer, CM_TRAINER_ALL));
    const float *gradient = cm_trainer_gradients(c->trainer);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->state) continue;
        for (size_t j = 0; j < p->count; j++) c->scratch[j] = (float)((double)gradient[p->offset + j] / scale);
        CM_TRY(cm_case_check(c->report, c->scratch, p->count, "gradients/%s", p->name));
    }
    return CM_OK;
}

static cm_status check_predictions(train_case *c) {
    size_t B = (size_t)c->options.batch, K = (size_t)c->options.unroll;
    size_t A = (size_t)cm_network_get_config(c->network)->actions;
    CM_TRY(cm_trainer_predictions(c->trainer, c->scratch, NULL, NULL));
    CM_TRY(cm_case_check(c->report, c->scratch, B * (K + 1), "value"));
    CM_TRY(cm_trainer_predictions(c->trainer, NULL, c->scratch, NULL));
    CM_TRY(cm_case_check(c->report, c->scratch, B * K, "reward"));
    CM_TRY(cm_trainer_predictions(c->trainer, NULL, NULL, c->scratch));
    return cm_case_check(c->report, c->scratch, B * (K + 1) * A, "policy_logits");
}

static cm_status check_step(train_case *c, const cm_train_report *r) {
    int K = c->options.unroll;
    CM_TRY(check_double(c, r->total_loss, "total_loss"));
    CM_TRY(check_double(c, r->gradient_norm, "gradient_norm"));
    CM_TRY(check_double(c, r->learning_rate, "learning_rate"));
    CM_TRY(cm_case_check(c->report, r->priorities, (size_t)c->options.batch, "priorities"));
    CM_TRY(check_doubles(c, r->entropy, K + 1, "entropy"));
    for (int i = 0; i < CM_LOSSES; i++) {
        if (cm_trainer_has_loss(c->trainer, (cm_loss)i))
            CM_TRY(check_doubles(c, r->loss[i], cm_loss_count(i, K), cm_loss_rows[i].metric));
    }
    CM_TRY(check_predictions(c));
    CM_TRY(check_gradients(c, r->loss_scale));
    CM_TRY(check_after(c, false, "parameters_after"));
    return check_state(c);
}

/* ---- the two kinds ---- */

static cm_status update(train_case *c, const cm_json *json, cm_train_report *r) {
    batch_arrays b;
    memset(&b, 0, sizeof b);
    cm_status status = read_batch(c, json, &b);
    if (status == CM_OK) status = cm_trainer_update(c->trainer, &b.batch, r);
    free_batch(&b);
    return status;
}

static cm_status run_step(train_case *c) {
    const cm_json *batch;
    cm_train_report r;
    CM_TRY(cm_json_need(c->inputs, "batch", CM_JSON_OBJECT, &batch));
    CM_TRY(update(c, batch, &r));
    return check_step(c, &r);
}

static cm_status run_trajectory(train_case *c, const cm_json *root) {
    const cm_json *batches;
    int64_t updates;
    CM_TRY(cm_json_need(c->inputs, "batches", CM_JSON_ARRAY, &batches));
    CM_TRY(cm_json_need_int(root, "updates", 1, 1000000, &updates));
    if (!cm_json_first(batches)) return cm_fail(CM_ERR_INPUT, "batches: empty");
    const cm_json *batch = NULL;
    for (int u = 0; u < (int)updates; u++) {
        cm_train_report r;
        batch = batch ? cm_json_next(batch) : NULL;
        if (!batch) batch = cm_json_first(batches);
        CM_TRY(update(c, batch, &r));
        float got[3] = {(float)r.total_loss, (float)r.gradient_norm, (float)r.learning_rate};
        CM_TRY(cm_case_check(c->report, &got[0], 1, "steps/%d/total_loss", u));
        CM_TRY(cm_case_check(c->report, &got[1], 1, "steps/%d/gradient_norm", u));
        CM_TRY(cm_case_check(c->report, &got[2], 1, "steps/%d/learning_rate", u));
    }
    CM_TRY(check_after(c, false, "parameters_after"));
    return check_state(c);
}

static cm_status check_parameter_count(const train_case *c, const cm_json *root) {
    int64_t want;
    size_t got = cm_network_parameters(c->network)->trained;
    CM_TRY(cm_json_need_int(root, "parameter_count", 0, INT32_MAX, &want));
    if ((size_t)want == got) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "parameter_count: %lld, the network has %zu", (long long)want, got);
}

static cm_status run(train_case *c, const cm_json *root, cm_backend *backend, cm_pool *pool, cm_dtype compute) {
    const cm_json *kind;
    CM_TRY(cm_json_need(root, "kind", CM_JSON_STRING, &kind));
    CM_TRY(cm_json_need(root, "inputs", CM_JSON_OBJECT, &c->inputs));
    CM_TRY(cm_case_options_read(root, &c->options));
    CM_TRY(cm_network_create(&c->options.network, &c->network));
    CM_TRY(check_parameter_count(c, root));
    cm_trainer_config config = {.network = c->network,
                                .backend = backend,
                                .pool = pool,
                                .options = &c->options.trainer,
                                .batch = c->options.batch,
                                .unroll = c->options.unroll,
                                .compute = compute,
                                .total_updates = 1,
                                .priority_epsilon = c->options.priority_epsilon};
    CM_TRY(cm_trainer_create(&config, &c->trainer));
    CM_TRY(load_params(c));
    size_t space = cm_network_parameters(c->network)->parameters + cm_network_parameters(c->network)->states;
    space += (size_t)config.batch * (size_t)(config.unroll + 1) * (size_t)(c->options.network.actions + 1) + SAMPLED;
    CM_TRY(cm_alloc(&c->scratch, space, sizeof(float), "results"));
    return strcmp(cm_json_string(kind), "train_step") == 0 ? run_step(c) : run_trajectory(c, root);
}

cm_status cm_trainer_case_run(const cm_json *root, cm_backend *backend, cm_pool *pool, cm_dtype compute,
                              cm_case_report *report) {
    train_case c = {.report = report};
    cm_status status = run(&c, root, backend, pool, compute);
    free(c.scratch);
    cm_trainer_destroy(c.trainer);
    cm_network_destroy(c.network);
    return status;
}
