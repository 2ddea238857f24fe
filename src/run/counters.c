#include "run/counters.h"

#include <math.h>
#include <stddef.h>

enum { MOST_RANKS = 65536, MOST_SCALED = 1 << 24 }; /* the latter: steps that loss scaling counts */

#define MOST    ((double)CM_JSON_MOST)
#define MANY    0x1p46 /* times what belongs to one, this is no number beyond 2^62 */
#define FOREVER 1e12   /* seconds */
#define NEEDED  (double)NAN

typedef enum kind { INTEGER, NUMBER, FLAG } kind;

typedef struct row {
    const char *key;
    size_t offset; /* in cm_run_counters: int64_t, double or bool */
    kind kind;
    double low, high;
    double missing; /* its value where the key is missing, or null for a number that does not exist; NEEDED: an error */
} row;

#define AT(member) offsetof(cm_run_counters, member)
#define STATE(name, ...)                                                                                               \
    { #name, AT(state.name), __VA_ARGS__ }
static const row rows[] = {
    {"ranks", AT(ranks), INTEGER, 1, MOST_RANKS, 1},
    {"updates", AT(updates), INTEGER, 0, MANY, NEEDED},
    {"env_steps", AT(env_steps), INTEGER, 0, MOST, NEEDED},
    {"episodes", AT(episodes), INTEGER, 0, MANY, NEEDED},
    STATE(iteration, INTEGER, 0, MANY, NEEDED),
    STATE(fresh_steps, INTEGER, 0, MOST, NEEDED),
    STATE(extra_updates, INTEGER, 0, MANY, 0),
    STATE(learnt_episodes, INTEGER, 0, MANY, NEEDED),
    STATE(evaluations, INTEGER, 0, MANY, NEEDED),
    STATE(next_evaluation, INTEGER, 0, MOST, NEEDED),
    STATE(evaluated_updates, INTEGER, 0, MANY, 0),
    STATE(evaluated_iteration, INTEGER, -1, MANY, -1),
    STATE(saved_episodes, INTEGER, 0, MANY, NEEDED),
    STATE(saved_updates, INTEGER, 0, MANY, NEEDED),
    STATE(goal_reached, FLAG, 0, 1, 0),
    STATE(best_return, NUMBER, -HUGE_VAL, HUGE_VAL, -HUGE_VAL),
    {"is_best", AT(is_best), FLAG, 0, 1, 0},
    STATE(credit, NUMBER, 0, 1, NEEDED),
    STATE(seconds, NUMBER, 0, FOREVER, NEEDED),
#define CM_TIME(part, name, tag) {#name, AT(state.time[CM_TIME_##part]), NUMBER, 0, FOREVER, 0},
#include "run/times.def"
    STATE(metrics_bytes, INTEGER, 0, MOST, NEEDED),
    STATE(warned, FLAG, 0, 1, 0),
    STATE(warned_rewards, FLAG, 0, 1, 0),
};

#define SCALING(name, ...)                                                                                             \
    { #name, AT(scaling.name), __VA_ARGS__ }
static const row scaling_rows[] = {
    SCALING(scale, NUMBER, 1, MOST_SCALED, NEEDED),
    SCALING(good, INTEGER, 0, MOST_SCALED, NEEDED),
    SCALING(steps, INTEGER, 0, MOST_SCALED, NEEDED),
    SCALING(skipped, INTEGER, 0, MOST_SCALED, NEEDED),
};

#define ROUND(name, ...)                                                                                               \
    { #name, AT(round.name), __VA_ARGS__ }
#define SUM(name)                                                                                                      \
    { #name, AT(round.sum.name), NUMBER, -HUGE_VAL, HUGE_VAL, 0 }
#define LOSS_SUM(term, metric, ...) {#metric, AT(round.sum.loss[CM_LOSS_##term]), NUMBER, -HUGE_VAL, HUGE_VAL, 0},
static const row round_rows[] = {
    ROUND(due, INTEGER, 0, MANY, NEEDED),
    ROUND(made, INTEGER, 0, MANY, NEEDED),
    ROUND(first, INTEGER, 0, MANY, NEEDED),
    ROUND(share, NUMBER, 0, 1, NEEDED),
    {"temperature", AT(temperature), NUMBER, 0, HUGE_VAL, -1},
    {"skipped", AT(round.sum.skipped), INTEGER, 0, MANY, NEEDED},
    SUM(total_loss),
#define CM_LOSS LOSS_SUM
#define CM_OPTIONAL_LOSS(...)
#include "trainer/losses.def"
    SUM(entropy),
    SUM(gradient_norm),
    SUM(clipped),
    SUM(clipped_rewards),
    SUM(value_reach),
    SUM(reward_reach),
#define CM_OPTIONAL_LOSS LOSS_SUM
#include "trainer/losses.def"
    SUM(policy_drift),
    {"policies_anew", AT(round.sum.policies_reanalysed), NUMBER, -HUGE_VAL, HUGE_VAL, 0},
    SUM(learning_rate),
};

static const char scaling[] = "loss_scaling", pending[] = "pending", within[] = "learning";

/* What cannot exceed what; both are behind AT. */
static const struct {
    const char *key, *bound;
    size_t offset, of;
} bounds[] = {
    {"fresh_steps", "env_steps", AT(state.fresh_steps), AT(env_steps)},
    {"learnt_episodes", "episodes", AT(state.learnt_episodes), AT(episodes)},
    {"saved_episodes", "episodes", AT(state.saved_episodes), AT(episodes)},
    {"saved_updates", "updates", AT(state.saved_updates), AT(updates)},
    {"evaluated_updates", "updates", AT(state.evaluated_updates), AT(updates)},
    {"made", "due", AT(round.made), AT(round.due)},
    {"evaluated_iteration", "iteration", AT(state.evaluated_iteration), AT(state.iteration)},
};

static int64_t integer_at(const cm_run_counters *c, size_t offset) {
    return *(const int64_t *)(const void *)((const char *)c + offset);
}

/* ---- writing ---- */

static void put_rows(const row *list, size_t count, const cm_run_counters *c, cm_json_writer *json) {
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)c + list[i].offset;
        switch (list[i].kind) {
        case INTEGER: cm_json_put_int(json, list[i].key, *(const int64_t *)at); break;
        case NUMBER: cm_json_put_double(json, list[i].key, *(const double *)at); break;
        default: cm_json_put_bool(json, list[i].key, *(const bool *)at);
        }
    }
}

void cm_run_counters_put(const cm_run_counters *c, cm_json_writer *json) {
    put_rows(rows, sizeof rows / sizeof *rows, c, json);
    if (c->scaling.scale != 0.0) {
        cm_json_begin_object(json, scaling);
        put_rows(scaling_rows, sizeof scaling_rows / sizeof *scaling_rows, c, json);
        cm_json_end_object(json);
    }
    if (c->state.is_pending) cm_metrics_put(json, pending, &c->row);
    if (!c->state.is_within) return;
    cm_json_begin_object(json, within);
    put_rows(round_rows, sizeof round_rows / sizeof *round_rows, c, json);
    cm_json_end_object(json);
}

/* ---- reading ---- */

static cm_status read_number(const cm_json *object, const row *r, double *out) {
    CM_TRY(cm_json_need_number(object, r->key, out));
    if (*out >= r->low && *out <= r->high) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be in [%g, %g], got %g", r->key, r->low, r->high, *out);
}

static cm_status read_flag(const cm_json *object, const row *r, bool *out) {
    const cm_json *flag;
    CM_TRY(cm_json_need(object, r->key, CM_JSON_BOOL, &flag));
    *out = cm_json_is_true(flag);
    return CM_OK;
}

static cm_status read_row(const cm_json *object, const row *r, cm_run_counters *c) {
    const cm_json *node = cm_json_get(object, r->key);
    void *at = (char *)c + r->offset;
    const bool is_left_out = !node || (r->kind == NUMBER && cm_json_type(node) == CM_JSON_NULL);
    if (is_left_out && !isnan(r->missing)) {
        if (r->kind == INTEGER) *(int64_t *)at = (int64_t)r->missing;
        if (r->kind == NUMBER) *(double *)at = r->missing;
        if (r->kind == FLAG) *(bool *)at = r->missing != 0.0;
        return CM_OK;
    }
    if (r->kind == INTEGER) return cm_json_need_int(object, r->key, (int64_t)r->low, (int64_t)r->high, (int64_t *)at);
    return r->kind == NUMBER ? read_number(object, r, (double *)at) : read_flag(object, r, (bool *)at);
}

static cm_status read_rows(const cm_json *object, const row *list, size_t count, cm_run_counters *c) {
    CM_TRY(cm_json_check(object, CM_JSON_OBJECT));
    for (size_t i = 0; i < count; i++) CM_TRY(read_row(object, &list[i], c));
    return CM_OK;
}

static cm_status check_bounds(const cm_run_counters *c) {
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const int64_t value = integer_at(c, bounds[i].offset), most = integer_at(c, bounds[i].of);
        if (value > most)
            return cm_fail(CM_ERR_INPUT, "%s: is %lld, more than the %lld of %s", bounds[i].key, (long long)value,
                           (long long)most, bounds[i].bound);
    }
    const cm_run_state *s = &c->state;
    if (c->episodes - s->learnt_episodes <= s->fresh_steps) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "learnt_episodes: is %lld: more episodes are to be learnt from than %lld fresh_steps",
                   (long long)s->learnt_episodes, (long long)s->fresh_steps);
}

cm_status cm_run_counters_read(const cm_json *root, cm_run_counters *out) {
    const cm_json *scaled = cm_json_get(root, scaling), *row_of = cm_json_get(root, pending);
    const cm_json *round = cm_json_get(root, within);
    *out = (cm_run_counters){.row = cm_metrics_empty()};
    CM_TRY(read_rows(root, rows, sizeof rows / sizeof *rows, out));
    if (round && read_rows(round, round_rows, sizeof round_rows / sizeof *round_rows, out) != CM_OK)
        return cm_fail_in(CM_ERR_INPUT, "%s", within);
    out->state.is_within = round != NULL;
    CM_TRY(check_bounds(out));
    if (scaled && read_rows(scaled, scaling_rows, sizeof scaling_rows / sizeof *scaling_rows, out) != CM_OK)
        return cm_fail_in(CM_ERR_INPUT, "%s", scaling);
    out->state.is_pending = row_of != NULL;
    if (row_of && cm_metrics_get(row_of, &out->row) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "%s", pending);
    return CM_OK;
}
