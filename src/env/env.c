#include "env/env.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/printable.h"
#include "env/board.h"

bool cm_env_is_same(const cm_env *a, const cm_env *b) {
    if (a->def != b->def || strcmp(a->spec.name, b->spec.name) != 0) return false;
    for (int row = 0; row < CM_ENV_OPTION_COUNT; row++) {
        if (!(a->def->options >> row & 1)) continue;
        double x = cm_env_params_get(&a->params, row), y = cm_env_params_get(&b->params, row);
        if (x != y && !(isnan(x) && isnan(y))) return false;
    }
    return true;
}

/* ---- episodes ---- */

static void begin(void *state) {
    cm_env_common *common = (cm_env_common *)state;
    common->steps = 0;
    common->terminated = common->truncated = common->pending = 0;
}

void cm_env_reset(const cm_env *env, void *state, uint64_t seed) {
    memset(state, 0, env->spec.state_size);
    cm_pcg64_seed(&((cm_env_common *)state)->random, seed);
    if (env->def->reset_to) {
        env->def->reset_to(&env->params, cm_env_rules(state), seed);
    } else {
        cm_env_restart(env, state);
    }
}

void cm_env_restart(const cm_env *env, void *state) {
    begin(state);
    env->def->reset(&env->params, cm_env_rules(state), &((cm_env_common *)state)->random);
}

cm_status cm_env_reset_outcomes(const cm_env *env, void *state, const int32_t *outcomes) {
    if (!env->def->reset_with) return cm_fail(CM_ERR_INPUT, "%s: its reset takes no outcomes", env->spec.name);
    cm_status status = env->def->reset_with(&env->params, cm_env_rules(state), outcomes);
    if (status != CM_OK) return cm_fail_in(status, "%s", env->spec.name);
    begin(state);
    return CM_OK;
}

/* ---- steps ---- */

/* Whether the state may be stepped at all; `half` asks for the state between an afterstate and its chance. */
static cm_status check_ready(const cm_env *env, const void *state, bool half) {
    const cm_env_common *common = (const cm_env_common *)state;
    if (common->terminated || common->truncated) {
        return cm_fail(CM_ERR_STATE, "%s: step after the end of the episode; reset first", env->spec.name);
    }
    if (common->pending != half) {
        return cm_fail(CM_ERR_STATE, half ? "%s: no chance outcome is due" : "%s: a chance outcome is due first",
                       env->spec.name);
    }
    return CM_OK;
}

static cm_status check_action(const cm_env *env, const void *state, int action) {
    if (action < 0 || action >= env->spec.actions) {
        return cm_fail(CM_ERR_INPUT, "%s: action %d is not in [0, %d)", env->spec.name, action, env->spec.actions);
    }
    if (!env->def->legal) return CM_OK;
    uint8_t mask[CM_ENV_MAX_ACTIONS];
    env->def->legal(&env->params, cm_env_rules_of(state), mask);
    return mask[action] ? CM_OK : cm_fail(CM_ERR_INPUT, "%s: action %d is illegal here", env->spec.name, action);
}

/* Counts a step and adds the time limit to its outcome. */
static void finish(const cm_env *env, void *state, cm_env_outcome *out) {
    cm_env_common *common = (cm_env_common *)state;
    common->steps++;
    common->pending = 0;
    out->truncated =
        (env->spec.truncates && out->truncated) || (env->spec.max_steps > 0 && common->steps >= env->spec.max_steps);
    common->terminated = out->terminated;
    common->truncated = out->truncated;
}

cm_status cm_env_check_reward(const cm_env *env, const void *rules, double reward) {
    const cm_env_spec *spec = &env->spec;
    if (isnan(reward) && env->def->failure) CM_TRY(env->def->failure(&env->params, rules));
    if (!(fabs(reward) <= (double)FLT_MAX)) /* a sign of NaN would say nothing */
        return cm_fail(CM_ERR_NOT_FINITE, "its step gives reward %g", isnan(reward) ? (double)NAN : reward);
    if (reward >= spec->reward_low && reward <= spec->reward_high) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its step gives reward %g, beyond reward_low %g and reward_high %g of its describe",
                   reward, spec->reward_low, spec->reward_high);
}

/* Records of games have space for that many moves. */
static cm_status check_length(const cm_env *env, const void *state) {
    const int steps = ((const cm_env_common *)state)->steps, most = env->spec.max_plies;
    if (most == 0 || steps < most || cm_env_ended(state)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: the episode goes on after %d steps, more than its max_plies allows",
                   env->spec.name, steps);
}

cm_env_outcome cm_env_step_rules(const cm_env *env, void *rules, int action, cm_pcg64 *random) {
    if (env->spec.action_size == 0) return env->def->step(&env->params, rules, action, random);
    float value[CM_ENV_MAX_NUMBERS];
    cm_env_action_values(env, action, value);
    /* cppcheck-suppress returnDanglingLifetime ; the outcome is a value and keeps no pointer */
    return env->def->step_value(&env->params, rules, value);
}

cm_status cm_env_step(const cm_env *env, void *state, int action, cm_env_outcome *out) {
    CM_TRY(check_ready(env, state, false));
    CM_TRY(check_action(env, state, action));
    *out = cm_env_step_rules(env, cm_env_rules(state), action, &((cm_env_common *)state)->random);
    finish(env, state, out);
    const cm_status status = cm_env_check_reward(env, cm_env_rules_of(state), out->reward);
    if (status == CM_OK) return check_length(env, state);
    return cm_fail(status, "%s: %s (step %d)", env->spec.name, cm_error_message(), ((cm_env_common *)state)->steps);
}

cm_status cm_env_step_value(const cm_env *env, void *state, const float *value, cm_env_outcome *out) {
    if (env->spec.action_size == 0) return cm_fail(CM_ERR_INPUT, "%s: its actions are discrete", env->spec.name);
    CM_TRY(check_ready(env, state, false));
    for (int d = 0; d < env->spec.action_size; d++) {
        if (isnan(value[d])) return cm_fail(CM_ERR_INPUT, "%s: the action is NaN", env->spec.name);
    }
    *out = env->def->step_value(&env->params, cm_env_rules(state), value);
    finish(env, state, out);
    return CM_OK;
}

cm_status cm_env_afterstate(const cm_env *env, void *state, int action, double *reward) {
    if (!env->def->afterstate) return cm_fail(CM_ERR_INPUT, "%s: no chance takes part in it", env->spec.name);
    CM_TRY(check_ready(env, state, false));
    CM_TRY(check_action(env, state, action));
    *reward = env->def->afterstate(&env->params, cm_env_rules(state), action);
    ((cm_env_common *)state)->pending = 1;
    return CM_OK;
}

cm_status cm_env_chance_weights(const cm_env *env, const void *state, float *weights) {
    if (!env->def->chance) return cm_fail(CM_ERR_INPUT, "%s: no chance takes part in it", env->spec.name);
    CM_TRY(check_ready(env, state, true));
    env->def->chance_weights(&env->params, cm_env_rules_of(state), weights);
    return CM_OK;
}

cm_status cm_env_chance(const cm_env *env, void *state, int outcome, cm_env_outcome *out) {
    if (!env->def->chance) return cm_fail(CM_ERR_INPUT, "%s: no chance takes part in it", env->spec.name);
    CM_TRY(check_ready(env, state, true));
    float weights[CM_ENV_MAX_OUTCOMES];
    env->def->chance_weights(&env->params, cm_env_rules_of(state), weights);
    if (outcome < 0 || outcome >= env->spec.chance_outcomes || !(weights[outcome] > 0.0f)) {
        return cm_fail(CM_ERR_INPUT, "%s: outcome %d is not possible here", env->spec.name, outcome);
    }
    *out = (cm_env_outcome){0};
    out->terminated = env->def->chance(&env->params, cm_env_rules(state), outcome);
    finish(env, state, out);
    return CM_OK;
}

/* ---- views ---- */

int cm_env_outcome_between(const cm_env *env, const float *before, int action, const float *after) {
    return env->def->outcome_between(&env->params, before, action, after);
}

void cm_env_observe_rules(const cm_env *env, const void *rules, float *observation) {
    int32_t cells[CM_BOARD_CELLS];
    if (env->def->observe) {
        env->def->observe(&env->params, rules, observation);
        return;
    }
    env->def->board(&env->params, rules, cells);
    cm_board_observe(cells, env->spec.cells, env->def->to_play(&env->params, rules), observation);
}

void cm_env_observe(const cm_env *env, const void *state, float *observation) {
    cm_env_observe_rules(env, cm_env_rules_of(state), observation);
}

bool cm_env_ended(const void *state) {
    const cm_env_common *common = (const cm_env_common *)state;
    return common->terminated || common->truncated;
}

void cm_env_legal(const cm_env *env, const void *state, uint8_t *mask) {
    if (cm_env_ended(state)) {
        memset(mask, 0, (size_t)env->spec.actions);
    } else if (env->def->legal) {
        env->def->legal(&env->params, cm_env_rules_of(state), mask);
    } else {
        memset(mask, 1, (size_t)env->spec.actions);
    }
}

cm_status cm_env_check_listed(const cm_env *env, const char *what) {
    if (cm_env_is_listed(env)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s lists all actions, but %s has %d, more than %d%s", what, env->spec.name,
                   env->spec.actions, CM_ENV_MAX_SEARCHED, env->spec.angles ? "" : "; take fewer action_bins");
}

int cm_env_random_action(const cm_env *env, const void *state, cm_rng *rng) {
    uint8_t mask[CM_ENV_MAX_ACTIONS];
    if (!env->def->legal) return (int)cm_rng_below(rng, (uint32_t)env->spec.actions);
    cm_env_legal(env, state, mask);
    return cm_rng_pick(rng, mask, env->spec.actions);
}

int cm_env_to_play(const cm_env *env, const void *state) {
    return env->def->to_play ? env->def->to_play(&env->params, cm_env_rules_of(state)) : 0;
}

/* What a row has written, as people may see it; that it has an end is for cm_env_try to tell. */
static void make_printable(char *text, size_t size, char *printable(const char *text, char *out, size_t size)) {
    char shown[CM_ENV_PICTURE_BYTES];
    if (memchr(text, 0, size)) snprintf(text, size, "%s", printable(text, shown, sizeof shown));
}

void cm_env_picture(const cm_env *env, const void *state, char *text, size_t size) {
    int32_t cells[CM_BOARD_CELLS];
    if (env->def->picture) {
        env->def->picture(&env->params, cm_env_rules_of(state), text, size);
        make_printable(text, size, cm_printable_lines);
        return;
    }
    env->def->board(&env->params, cm_env_rules_of(state), cells);
    cm_board_picture(cells, env->spec.shape[0], env->spec.shape[1], 0, text, size);
}

/* Which of its values each number of a continuous action has: "3,0", of so many that are listed "0110011001". */
static void name_bins(const cm_env_spec *spec, int action, char *text, size_t size) {
    enum { APART = 8 };
    const char *between = spec->action_size > APART && spec->action_bins <= 10 ? "" : ",";
    const cm_policy_form form = cm_env_policy_form(spec);
    for (int d = 0, at = 0; d < form.numbers && at < (int)size; d++)
        at += snprintf(text + at, size - (size_t)at, "%s%d", d ? between : "", cm_policy_number(form, action, d));
}

void cm_env_action_name(const cm_env *env, int action, char *text, size_t size) {
    if (env->def->action_name) {
        env->def->action_name(&env->params, action, text, size);
        make_printable(text, size, cm_printable);
    } else if (env->spec.action_size > 1) {
        name_bins(&env->spec, action, text, size);
    } else if (!cm_board_serves(env->def, &env->spec, false) || !cm_board_action_name(&env->spec, action, text, size)) {
        snprintf(text, size, "%d", action);
    }
}

int cm_env_action_parse(const cm_env *env, const char *text) {
    char name[32], *end;
    for (int action = 0; cm_env_is_listed(env) && action < env->spec.actions; action++) {
        cm_env_action_name(env, action, name, sizeof name);
        if (strcasecmp(name, text) == 0) return action;
    }
    long number = strtol(text, &end, 10);
    bool whole = end != text && *end == '\0' && number >= 0 && number < env->spec.actions;
    return whole ? (int)number : -1;
}

void cm_env_board(const cm_env *env, const void *state, int32_t *cells) {
    if (env->def->board) env->def->board(&env->params, cm_env_rules_of(state), cells);
}

void cm_env_symmetry(const cm_env *env, int index, int32_t *cell_map, int32_t *action_map) {
    if (index > 0) {
        env->def->symmetry(&env->params, index, cell_map, action_map);
        return;
    }
    for (int c = 0; c < env->spec.cells; c++) cell_map[c] = c;
    for (int a = 0; a < env->spec.actions; a++) action_map[a] = a;
}
