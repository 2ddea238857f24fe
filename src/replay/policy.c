#include "replay/policy.h"

#include <math.h>
#include <string.h>

cm_policy_form cm_replay_form(const cm_replay_config *c) {
    return c->form.numbers > 0 ? c->form : cm_policy_form_of(c->actions, 1);
}

size_t cm_policy_columns(const cm_replay_config *c) {
    return c->entries > 0 ? 2 * (size_t)c->entries : (size_t)cm_policy_size(cm_replay_form(c));
}

static float *row_of(const cm_replay *replay, int32_t slot) {
    return replay->policy + (size_t)slot * cm_policy_columns(&replay->config);
}

/* Numbers and weights of what is not 0, NaN among it. */
static cm_status gather(const cm_replay *replay, const float *counts, float *row, int *out) {
    const int most = replay->config.entries;
    int count = 0;
    for (int a = 0; a < replay->config.actions; a++) {
        if (counts[a] == 0.0f) continue;
        if (count == most) return cm_fail(CM_ERR_INPUT, "a policy of more than %d entries", most);
        row[count] = (float)a;
        row[most + count++] = counts[a];
    }
    *out = count;
    return CM_OK;
}

cm_status cm_policy_store(cm_replay *replay, int32_t slot, const float *counts) {
    float *row = row_of(replay, slot);
    const int most = replay->config.entries;
    int count = 0;
    if (most == 0) return cm_policy_normalise(counts, replay->config.form, row);
    memset(row, 0, 2 * (size_t)most * sizeof *row);
    CM_TRY(gather(replay, counts, row, &count));
    const cm_policy_form form = {.numbers = 1,
                                 .values = count > 0 ? count : 1}; /* none: a single 0, which is refused */
    return cm_policy_normalise(row + most, form, row + most);
}

/* The action of an entry, -1 of one that is none. */
static int action_at(const cm_replay *replay, const float *row, int entry) {
    const float number = row[entry];
    const bool is_one = row[replay->config.entries + entry] > 0.0f;
    return is_one && number >= 0.0f && number < (float)replay->config.actions ? (int)number : -1;
}

void cm_policy_load(const cm_replay *replay, int32_t slot, float *policy) {
    const size_t size = (size_t)cm_policy_size(replay->config.form);
    const float *row = row_of(replay, slot);
    const int most = replay->config.entries;
    if (most == 0) {
        memcpy(policy, row, size * sizeof *policy);
        return;
    }
    memset(policy, 0, size * sizeof *policy);
    for (int i = 0; i < most; i++) {
        const int action = action_at(replay, row, i);
        if (action >= 0) policy[action] = row[most + i];
    }
}

static cm_status check_sum(double sum) {
    return fabs(sum - 1.0) < 1e-3 ? CM_OK : cm_fail(CM_ERR_INPUT, "a policy sums to %g", sum);
}

static cm_status check_entries(const cm_replay *replay, const float *row) {
    const int most = replay->config.entries;
    double sum = 0.0;
    for (int i = 0, before = -1; i < most; i++) {
        if (row[most + i] == 0.0f) continue;
        const int action = action_at(replay, row, i);
        if (action <= before || (float)action != row[i])
            return cm_fail(CM_ERR_INPUT, "entry %d of a policy is of action %g, with %g", i, (double)row[i],
                           (double)row[most + i]);
        sum += (double)row[most + i];
        before = action;
    }
    return check_sum(sum);
}

cm_status cm_policy_check(const cm_replay *replay, int32_t slot) {
    const float *row = row_of(replay, slot);
    double sum = 0.0;
    if (replay->config.entries > 0) return check_entries(replay, row);
    for (int a = 0; a < cm_policy_size(replay->config.form); a++) {
        if (!(row[a] >= 0.0f)) return cm_fail(CM_ERR_INPUT, "policy[%d] is %g", a, (double)row[a]);
        sum += (double)row[a];
        if ((a + 1) % replay->config.form.values != 0) continue;
        CM_TRY(check_sum(sum));
        sum = 0.0;
    }
    return CM_OK;
}
