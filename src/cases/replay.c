#include "cases/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "replay/priority.h"
#include "replay/targets.h"

enum { INPUTS = 5 };

/* What a case gives, read once; freed as a whole. */
typedef struct case_data {
    const cm_json *options;
    cm_case_array input[INPUTS];
    float *out; /* one block for all results */
} case_data;

static void free_data(case_data *data) {
    for (int i = 0; i < INPUTS; i++) cm_case_array_free(&data->input[i]);
    free(data->out);
}

static cm_status read_inputs(const cm_json *root, const char *const names[], int count, case_data *data) {
    const cm_json *inputs;
    CM_TRY(cm_json_need(root, "options", CM_JSON_OBJECT, &data->options));
    CM_TRY(cm_json_need(root, "inputs", CM_JSON_OBJECT, &inputs));
    for (int i = 0; i < count; i++) CM_TRY(cm_case_array_read(inputs, names[i], &data->input[i]));
    return CM_OK;
}

static cm_status need_shape(const cm_case_array *array, const char *name, int rank, int64_t rows) {
    if (array->rank == rank && array->shape[0] == rows) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: rank %d with %lld rows, must be rank %d with %lld", name, array->rank,
                   (long long)(array->rank ? array->shape[0] : 1), rank, (long long)rows);
}

/* ---- targets ------------------------------------------------------------------------------------------------------
 */

enum { REWARDS, ROOT_VALUES, TO_PLAY, VISIT_COUNTS, POSITIONS };

static cm_status read_rule(const cm_json *options, cm_target_rule *rule, bool *terminated) {
    int64_t td_steps, unroll, horizon, players;
    const cm_json *end;
    CM_TRY(cm_json_need_int(options, "td_steps", 1, 1 << 20, &td_steps));
    CM_TRY(cm_json_need_int(options, "unroll", 0, 1024, &unroll));
    CM_TRY(cm_json_need_int(options, "value_prefix_horizon", 0, 1024, &horizon));
    CM_TRY(cm_json_need_int(options, "players", 1, 2, &players));
    CM_TRY(cm_json_need_number(options, "discount", &rule->discount));
    CM_TRY(cm_json_need_number(options, "policy_smoothing", &rule->policy_smoothing));
    CM_TRY(cm_json_need(options, "end", CM_JSON_STRING, &end));
    rule->td_steps = (int)td_steps;
    rule->unroll = (int)unroll;
    rule->value_prefix_horizon = (int)horizon;
    *terminated = strcmp(cm_json_string(end), "terminated") == 0;
    if (!*terminated && strcmp(cm_json_string(end), "truncated") != 0)
        return cm_fail(CM_ERR_INPUT, "end is \"%s\", must be terminated or truncated", cm_json_string(end));
    return cm_target_rule_check(rule);
}

static cm_status check_target_inputs(const case_data *data, bool terminated) {
    const cm_case_array *in = data->input;
    if (in[REWARDS].rank != 1 || in[REWARDS].count == 0) return cm_fail(CM_ERR_INPUT, "rewards: must be [T], T >= 1");
    int64_t steps = in[REWARDS].shape[0], rows = steps + !terminated;
    CM_TRY(need_shape(&in[ROOT_VALUES], "root_values", 1, rows));
    CM_TRY(need_shape(&in[TO_PLAY], "to_play", 1, rows));
    CM_TRY(need_shape(&in[VISIT_COUNTS], "visit_counts", 2, steps));
    if (in[VISIT_COUNTS].shape[1] < 1) return cm_fail(CM_ERR_INPUT, "visit_counts: no actions");
    if (in[POSITIONS].rank != 1) return cm_fail(CM_ERR_INPUT, "positions: must be [P]");
    for (size_t i = 0; i < in[POSITIONS].count; i++) {
        float t = in[POSITIONS].data[i];
        if (t < 0 || t >= (float)steps || t != truncf(t))
            return cm_fail(CM_ERR_INPUT, "positions[%zu] is %g, must be in 0 .. %lld", i, (double)t,
                           (long long)steps - 1);
    }
    return CM_OK;
}

/* Where the results of all positions lie in data->out. */
typedef struct target_block {
    float *value, *value_mask, *policy_mask;        /* [P, K+1]    */
    float *reward, *reward_mask, *consistency_mask; /* [P, K]      */
    float *policy;                                  /* [P, K+1, A] */
    float *partial, *coefficient;                   /* [K+1]       */
    int32_t *bootstrap;                             /* [K+1]       */
    cm_replay_row *row;                             /* [T+1]       */
} target_block;

static cm_status make_block(case_data *data, size_t unroll, target_block *block) {
    size_t positions = data->input[POSITIONS].count, actions = (size_t)data->input[VISIT_COUNTS].shape[1];
    size_t rows = data->input[REWARDS].count + 1, k1 = unroll + 1;
    CM_TRY(cm_alloc(&data->out,
                    positions * (3 * k1 + 3 * unroll + k1 * actions) + 3 * k1 +
                        rows * sizeof(cm_replay_row) / sizeof(float),
                    sizeof(float), "the targets of a case"));
    float *next = data->out;
    block->value = next, next += positions * k1;
    block->value_mask = next, next += positions * k1;
    block->policy_mask = next, next += positions * k1;
    block->reward = next, next += positions * unroll;
    block->reward_mask = next, next += positions * unroll;
    block->consistency_mask = next, next += positions * unroll;
    block->policy = next, next += positions * k1 * actions;
    block->partial = next, next += k1;
    block->coefficient = next, next += k1;
    block->bootstrap = (int32_t *)(void *)next, next += k1;
    block->row = (cm_replay_row *)(void *)next;
    for (size_t i = 0; i < data->input[TO_PLAY].count; i++) {
        block->row[i].to_play = (uint8_t)(int)data->input[TO_PLAY].data[i];
        block->row[i].root_value = data->input[ROOT_VALUES].data[i];
        if (i + 1 < rows) block->row[i].reward = data->input[REWARDS].data[i];
    }
    float *counts = data->input[VISIT_COUNTS].data;
    for (size_t t = 0; t + 1 < rows; t++)
        CM_TRY(cm_policy_normalise(counts + t * actions, cm_policy_form_of((int)actions, 1), counts + t * actions));
    return CM_OK;
}

static void compute_position(const case_data *data, const cm_target_rule *rule, bool terminated, size_t p,
                             const target_block *block) {
    const cm_case_array *in = data->input;
    size_t t = (size_t)in[POSITIONS].data[p], actions = (size_t)in[VISIT_COUNTS].shape[1];
    size_t unroll = (size_t)rule->unroll, k1 = unroll + 1;
    cm_target_window window = {
        .left = (int64_t)(in[REWARDS].count - t),
        .terminated = terminated,
        .form = cm_policy_form_of((int)actions, 1),
        .td_steps = rule->td_steps,
        .row = block->row + t,
        .policy = in[VISIT_COUNTS].data + t * actions,
    };
    cm_target_row row = {
        .partial = block->partial,
        .coefficient = block->coefficient,
        .bootstrap = block->bootstrap,
        .value_mask = block->value_mask + p * k1,
        .reward = block->reward + p * unroll,
        .reward_mask = block->reward_mask + p * unroll,
        .policy = block->policy + p * k1 * actions,
        .policy_mask = block->policy_mask + p * k1,
        .consistency_mask = block->consistency_mask + p * unroll,
    };
    cm_target_compute(rule, &window, &row);
    for (size_t k = 0; k < k1; k++) {
        float stored = row.bootstrap[k] < 0 ? 0.0f : window.row[row.bootstrap[k]].root_value;
        block->value[p * k1 + k] = row.partial[k] + row.coefficient[k] * stored;
    }
}

static cm_status run_targets(const cm_json *root, case_data *data, cm_case_report *report) {
    static const char *const names[] = {"rewards", "root_values", "to_play", "visit_counts", "positions"};
    cm_target_rule rule = {0};
    bool terminated = false;
    CM_TRY(read_inputs(root, names, 5, data));
    CM_TRY(read_rule(data->options, &rule, &terminated));
    CM_TRY(check_target_inputs(data, terminated));
    target_block block;
    CM_TRY(make_block(data, (size_t)rule.unroll, &block));
    size_t positions = data->input[POSITIONS].count, unroll = (size_t)rule.unroll, k1 = unroll + 1;
    for (size_t p = 0; p < positions; p++) compute_position(data, &rule, terminated, p, &block);
    size_t actions = (size_t)data->input[VISIT_COUNTS].shape[1];
    CM_TRY(cm_case_check(report, block.value, positions * k1, "value"));
    CM_TRY(cm_case_check(report, block.reward, positions * unroll, "reward"));
    CM_TRY(cm_case_check(report, block.policy, positions * k1 * actions, "policy"));
    CM_TRY(cm_case_check(report, block.value_mask, positions * k1, "value_mask"));
    CM_TRY(cm_case_check(report, block.reward_mask, positions * unroll, "reward_mask"));
    CM_TRY(cm_case_check(report, block.policy_mask, positions * k1, "policy_mask"));
    return cm_case_check(report, block.consistency_mask, positions * unroll, "consistency_mask");
}

/* ---- dynamic_td_steps ---------------------------------------------------------------------------------------------
 */

static cm_status run_dynamic_td_steps(const cm_json *root, case_data *data, cm_case_report *report) {
    static const char *const names[] = {"index"};
    int64_t td_steps, collected, interval;
    CM_TRY(read_inputs(root, names, 1, data));
    CM_TRY(cm_json_need_int(data->options, "td_steps", 1, 1 << 20, &td_steps));
    CM_TRY(cm_json_need_int(data->options, "collected", 0, INT64_C(1) << 53, &collected));
    CM_TRY(cm_json_need_int(data->options, "interval", 1, INT64_C(1) << 53, &interval));
    cm_target_rule rule = {.td_steps = (int)td_steps, .td_interval = interval};
    size_t count = data->input[0].count;
    CM_TRY(cm_alloc(&data->out, 3 * count + 1, sizeof(float), "the td steps of a case"));
    double *index = (double *)(void *)data->out; /* numbers of steps are too large for float32 */
    float *steps = data->out + 2 * count;
    const cm_json *node = cm_json_get(cm_json_get(root, "inputs"), "index");
    if (cm_json_type(node) != CM_JSON_OBJECT) return cm_fail(CM_ERR_INPUT, "index: must be an array");
    CM_TRY(cm_json_doubles(cm_json_get(node, "data"), "index", count, index));
    for (size_t i = 0; i < count; i++) {
        if (!(index[i] >= 0.0 && index[i] < (double)collected))
            return cm_fail(CM_ERR_INPUT, "index[%zu] is %g, must be in 0 .. %lld", i, index[i],
                           (long long)collected - 1);
        steps[i] = (float)cm_target_td_steps(&rule, (uint64_t)collected, (uint64_t)index[i]);
    }
    return cm_case_check(report, steps, count, "td_steps");
}

/* ---- priorities ---------------------------------------------------------------------------------------------------
 */

enum { PRIORITY, IS_NAN, SAMPLE, ROOT_VALUE, VALUE_TARGET };

static cm_status check_priority_inputs(const case_data *data) {
    const cm_case_array *in = data->input;
    int64_t n = in[PRIORITY].rank == 1 ? in[PRIORITY].shape[0] : 0;
    if (n < 1) return cm_fail(CM_ERR_INPUT, "priority: must be [N], N >= 1");
    CM_TRY(need_shape(&in[IS_NAN], "is_nan", 1, n));
    if (in[SAMPLE].rank != 1) return cm_fail(CM_ERR_INPUT, "sample: must be [b]");
    CM_TRY(need_shape(&in[VALUE_TARGET], "value_target", 1, (int64_t)in[ROOT_VALUE].count));
    for (size_t i = 0; i < in[SAMPLE].count; i++) {
        float index = in[SAMPLE].data[i];
        if (index < 0 || index >= (float)n || index != truncf(index))
            return cm_fail(CM_ERR_INPUT, "sample[%zu] is %g, must be in 0 .. %lld", i, (double)index, (long long)n - 1);
    }
    return CM_OK;
}

static cm_status run_priorities(const cm_json *root, case_data *data, cm_case_report *report) {
    static const char *const names[] = {"priority", "is_nan", "sample", "root_value", "value_target"};
    double alpha, beta, epsilon;
    CM_TRY(read_inputs(root, names, 5, data));
    CM_TRY(check_priority_inputs(data));
    CM_TRY(cm_json_need_number(data->options, "alpha", &alpha));
    CM_TRY(cm_json_need_number(data->options, "beta", &beta));
    CM_TRY(cm_json_need_number(data->options, "epsilon", &epsilon));
    cm_case_array *in = data->input;
    size_t n = in[PRIORITY].count, rows = in[SAMPLE].count, values = in[ROOT_VALUE].count;
    CM_TRY(cm_alloc(&data->out, 3 * n + 3 * rows + values + 2, sizeof(float), "the priorities of a case"));
    double *mass = (double *)(void *)data->out, *drawn = mass + n;
    float *probability = (float *)(void *)(drawn + rows), *weight = probability + n, *initial = weight + rows;

    for (size_t i = 0; i < n; i++) {
        if (in[IS_NAN].data[i] != 0.0f) in[PRIORITY].data[i] = NAN;
    }
    double total = cm_priority_masses(in[PRIORITY].data, n, alpha, mass);
    for (size_t i = 0; i < n; i++) probability[i] = (float)(mass[i] / total);
    for (size_t i = 0; i < rows; i++) drawn[i] = mass[(size_t)in[SAMPLE].data[i]] / total;
    cm_priority_weights(rows, drawn, (double)n, beta, 0.0, weight);
    for (size_t i = 0; i < values; i++)
        initial[i] = cm_priority_error((double)in[ROOT_VALUE].data[i], (double)in[VALUE_TARGET].data[i], epsilon);
    CM_TRY(cm_case_check(report, probability, n, "probability"));
    CM_TRY(cm_case_check(report, weight, rows, "weight"));
    return cm_case_check(report, initial, values, "initial_priority");
}

/* -------------------------------------------------------------------------------------------------------------------
 */

typedef struct kind_row {
    const char *kind;
    cm_status (*run)(const cm_json *root, case_data *data, cm_case_report *report);
} kind_row;

static const kind_row kinds[] = {
    {"targets", run_targets},
    {"dynamic_td_steps", run_dynamic_td_steps},
    {"priorities", run_priorities},
};

static const kind_row *find_kind(const char *kind) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) == 0) return &kinds[i];
    }
    return NULL;
}

bool cm_replay_case_knows(const char *kind) { return find_kind(kind) != NULL; }

cm_status cm_replay_case_run(const cm_json *root, cm_case_report *report) {
    const cm_json *kind;
    CM_TRY(cm_json_need(root, "kind", CM_JSON_STRING, &kind));
    const kind_row *row = find_kind(cm_json_string(kind));
    if (!row) return cm_fail(CM_ERR_INPUT, "kind: \"%s\" is not one of the replay's cases", cm_json_string(kind));
    case_data data = {0};
    cm_status status = row->run(root, &data, report);
    free_data(&data);
    return status;
}
