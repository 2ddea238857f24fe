#include "replay/targets.h"

#include <math.h>

cm_status cm_target_rule_check(const cm_target_rule *rule) {
    if (rule->unroll < 0 || rule->unroll > 1024)
        return cm_fail(CM_ERR_INPUT, "num_unroll_steps is %d, must be in 0 .. 1024", rule->unroll);
    if (rule->td_steps < 1 || rule->td_steps > 1 << 20)
        return cm_fail(CM_ERR_INPUT, "td_steps is %d, must be in 1 .. 1048576", rule->td_steps);
    if (!(rule->discount >= 0.0 && rule->discount <= 1.0))
        return cm_fail(CM_ERR_INPUT, "discount is %g, must be in 0 .. 1", rule->discount);
    if (rule->value_prefix_horizon < 0)
        return cm_fail(CM_ERR_INPUT, "value_prefix_horizon is %d, must be at least 0", rule->value_prefix_horizon);
    if (!(rule->policy_smoothing >= 0.0 && rule->policy_smoothing <= 1.0))
        return cm_fail(CM_ERR_INPUT, "policy_smoothing is %g, must be in 0 .. 1", rule->policy_smoothing);
    if (rule->td_interval < 0)
        return cm_fail(CM_ERR_INPUT, "td_interval is %lld, must be at least 0", (long long)rule->td_interval);
    return CM_OK;
}

/* counts[values] of one number; the policy's entries are those from `first` on. */
static cm_status normalise_number(const float *counts, int values, int first, float *policy) {
    double sum = 0.0;
    for (int a = 0; a < values; a++) {
        if (!(counts[a] >= 0.0f))
            return cm_fail(CM_ERR_INPUT, "policy[%d] is %g, must be >= 0", first + a, (double)counts[a]);
        sum += (double)counts[a];
    }
    if (!(sum > 0.0 && isfinite(sum)))
        return cm_fail(CM_ERR_INPUT, "the policy of %d actions sums to %g, must be finite and > 0", values, sum);
    for (int a = 0; a < values; a++) policy[a] = (float)((double)counts[a] / sum);
    return CM_OK;
}

cm_status cm_policy_normalise(const float *counts, cm_policy_form form, float *policy) {
    const int size = cm_policy_size(form);
    for (int at = 0; at < size; at += form.values) CM_TRY(normalise_number(counts + at, form.values, at, policy + at));
    return CM_OK;
}

void cm_policy_smooth(double smoothing, cm_policy_form form, const float *policies, int count, float *out) {
    const size_t n = (size_t)count * (size_t)cm_policy_size(form);
    const float keep = (float)(1.0 - smoothing), add = (float)(smoothing / form.values);
    for (size_t i = 0; i < n; i++) out[i] = policies[i] * keep + add;
}

int64_t cm_target_reach(const cm_target_rule *rule) { return (int64_t)rule->unroll + rule->td_steps; }

int cm_target_td_steps(const cm_target_rule *rule, uint64_t collected, uint64_t index) {
    if (rule->td_interval == 0 || index >= collected) return rule->td_steps;
    uint64_t less = (collected - index) / (uint64_t)rule->td_interval;
    return less >= (uint64_t)rule->td_steps ? 1 : rule->td_steps - (int)less;
}

/* A return in parts; bootstrap -1 if nothing is added to `partial`. */
typedef struct parts {
    double partial;
    double coefficient;
    int64_t bootstrap;
} parts;

/* The n-step return of position s of the window, s < left. */
static parts return_parts(const cm_target_rule *rule, const cm_target_window *window, int64_t s) {
    int64_t end = window->left - s, steps = window->td_steps < end ? window->td_steps : end;
    const cm_replay_row *row = window->row + s;
    uint8_t mover = row->to_play;
    double sum = 0.0, power = 1.0;
    for (int64_t i = 0; i < steps; i++) {
        double signed_power = row[i].to_play == mover ? power : -power;
        if (row[i].flags & 1) return (parts){sum + signed_power * (double)row[i].root_value, 0.0, -1};
        sum += signed_power * (double)row[i].reward;
        power *= rule->discount;
    }
    if (steps == end && window->terminated) return (parts){sum, 0.0, -1};
    return (parts){sum, row[steps].to_play == mover ? power : -power, s + steps};
}

double cm_target_return(const cm_target_rule *rule, const cm_target_window *window) {
    parts z = return_parts(rule, window, 0);
    return z.bootstrap < 0 ? z.partial : z.partial + z.coefficient * (double)window->row[z.bootstrap].root_value;
}

static void compute_values(const cm_target_rule *rule, const cm_target_window *window, const cm_target_row *out) {
    for (int k = 0; k <= rule->unroll; k++) {
        bool inside = k < window->left;
        parts z = inside ? return_parts(rule, window, k) : (parts){0.0, 0.0, -1};
        out->partial[k] = (float)z.partial;
        out->coefficient[k] = (float)z.coefficient;
        out->bootstrap[k] = (int32_t)z.bootstrap;
        out->value_mask[k] = inside || window->terminated ? 1.0f : 0.0f;
    }
}

static void compute_rewards(const cm_target_rule *rule, const cm_target_window *window, const cm_target_row *out) {
    double prefix = 0.0;
    for (int k = 0; k < rule->unroll; k++) {
        bool inside = k < window->left;
        bool restart = rule->value_prefix_horizon == 0 || k % rule->value_prefix_horizon == 0;
        prefix = (restart ? 0.0 : prefix) + (inside ? (double)window->row[k].reward : 0.0);
        out->reward[k] = (float)prefix;
        out->reward_mask[k] = inside || window->terminated ? 1.0f : 0.0f;
        out->consistency_mask[k] = k + 1 <= window->left ? 1.0f : 0.0f;
    }
}

static void compute_policies(const cm_target_rule *rule, const cm_target_window *window, const cm_target_row *out) {
    int positions = rule->unroll + 1, inside = window->left < positions ? (int)window->left : positions;
    size_t entries = (size_t)cm_policy_size(window->form);
    size_t stored = (size_t)inside * entries, all = (size_t)positions * entries;
    cm_policy_smooth(rule->policy_smoothing, window->form, window->policy, inside, out->policy);
    for (size_t i = stored; i < all; i++) out->policy[i] = 0.0f;
    for (int k = 0; k < positions; k++) out->policy_mask[k] = k < inside ? 1.0f : 0.0f;
}

void cm_target_compute(const cm_target_rule *rule, const cm_target_window *window, const cm_target_row *out) {
    compute_values(rule, window, out);
    compute_rewards(rule, window, out);
    compute_policies(rule, window, out);
}
