#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/nearest.h"
#include "core/printable.h"
#include "env/advice.h"
#include "env/board.h"
#include "env/env.h"
#include "env/frame_stack.h"
#include "env/python.h"
#include "env/trust.h"

/* Whether `name`, in capitals or not, means this row; *size is the number after a stem, 0 if there is none. */
static bool matches(const cm_env_def *def, const char *name, int *size) {
    *size = 0;
    if (strcasecmp(name, def->name) == 0 || (def->alias && strcasecmp(name, def->alias) == 0)) return true;
    size_t stem = strlen(def->name);
    if (def->max_size == 0 || strncasecmp(name, def->name, stem) != 0) return false;
    const char *digits = name + stem;
    if (digits[0] < '1' || digits[0] > '9' || strlen(digits) > 3 || strspn(digits, "0123456789") != strlen(digits)) {
        return false;
    }
    *size = atoi(digits);
    return true;
}

/* The names of all rows, then their second names. */
static const char *row_name(const void *rows, int i) {
    int count;
    (void)cm_env_registry(&count);
    const cm_env_def *def = ((const cm_env_def *const *)rows)[i % count];
    return i >= count && def->alias ? def->alias : def->name;
}

static const cm_env_def *find_row(const char *name) {
    int size, count;
    const cm_env_def *const *rows = cm_env_registry(&count);
    for (int i = 0; i < count; i++)
        if (matches(rows[i], name, &size)) return rows[i];
    return NULL;
}

static cm_status fail_unknown(const char *name) {
    char word[64];
    snprintf(word, sizeof word, "%s", name);
    for (char *c = word; *c; c++) *c = (char)tolower((unsigned char)*c);
    int count;
    const cm_env_def *const *rows = cm_env_registry(&count);
    int nearest = cm_nearest_name(word, rows, 2 * count, row_name);
    if (nearest < 0) {
        CM_TRY(cm_env_advise_near(name));
        return cm_fail(CM_ERR_INPUT, "%.64s: there is no such environment; cumind environments lists all", name);
    }
    const cm_env_def *near = rows[nearest % count];
    char suffix[16] = "";
    if (near->max_size > 0) snprintf(suffix, sizeof suffix, "%d", near->default_size);
    return cm_fail(CM_ERR_INPUT, "%.64s: there is no such environment; the nearest one is %s%s", name, near->name,
                   suffix);
}

cm_status cm_env_open(cm_env *env, const char *name, const cm_env_params *params) {
    const cm_env_def *def;
    CM_TRY(cm_env_trust_check(name));
    if (cm_env_is_python(name)) {
        cm_env_params with = params ? *params : cm_env_params_default();
        CM_TRY(cm_env_open_python(name, &with, &def));
        return cm_env_open_def(env, def, def->name, &with);
    }
    def = find_row(name);
    if (def) return cm_env_open_def(env, def, name, params);
    CM_TRY(cm_env_advise(name));
    if (!cm_env_is_library(name)) return fail_unknown(name);
    CM_TRY(cm_env_open_library(name, &def));
    return cm_env_open_def(env, def, def->name, params);
}

/* The size: from the name, else from the options, else the row's own. */
static cm_status choose_size(const cm_env_def *def, const char *name, cm_env_params *params) {
    int named;
    if (!matches(def, name, &named)) return cm_fail(CM_ERR_INPUT, "%.64s: is not a name of %s", name, def->name);
    if (def->max_size == 0) return CM_OK;
    if (named > 0 && params->size > 0 && named != params->size) {
        return cm_fail(CM_ERR_INPUT, "%s: the size is set to %d; leave it out or make them equal", name, params->size);
    }
    if (named > 0) params->size = named;
    if (params->size == 0) params->size = def->default_size;
    if (params->size < def->min_size || params->size > def->max_size) {
        return cm_fail(CM_ERR_INPUT, "%s: the size must be in [%d, %d], got %d", def->name, def->min_size,
                       def->max_size, params->size);
    }
    return CM_OK;
}

/* Options that the row reads must be in their ranges, whoever filled the struct. */
static cm_status check_ranges(const cm_env_def *def, const cm_env_params *params) {
    int count;
    const cm_env_option *rows = cm_env_option_list(&count);
    for (int i = 0; i < count; i++) {
        if (!(def->options >> i & 1)) continue;
        double value = cm_env_params_get(params, i);
        bool left_out = rows[i].kind == CM_ENV_INT ? value == 0.0 : isnan(value);
        if (left_out || rows[i].kind == CM_ENV_FLAG) continue;
        cm_env_params scratch = *params;
        CM_TRY(cm_env_params_set(&scratch, rows[i].name, value));
    }
    return CM_OK;
}

/* What the rest of the program relies on; arrays of other code have these sizes. */
static cm_status check_number(const char *what, long long value, long long low, long long high) {
    if (value >= low && value <= high) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its describe sets %s to %lld; must be in %lld..%lld", what, value, low, high);
}

/* All that the row lacks; of one without describe what every task needs. */
static cm_status check_functions(const cm_env_def *def, const cm_env_spec *spec) {
    const bool is_known = def->describe != NULL;
    const bool has_chance = def->afterstate || def->chance || def->chance_weights; /* all of it, then */
    const struct {
        const char *name;
        bool is_missing;
    } rows[] = {
        {"describe", !is_known},
        {"reset", !def->reset},
        {"step", !def->step && (is_known ? spec->action_size == 0 : !def->step_value)},
        {"check", !def->check},
        {"step_value", !def->step_value && spec->action_size > 0},
        {"observe", !def->observe && is_known && !cm_board_serves(def, spec, true)},
        {"picture", !def->picture && is_known && !cm_board_serves(def, spec, false)},
        {"to_play", !def->to_play && spec->players == 2},
        {"symmetry", !def->symmetry && spec->symmetries > 1},
        {"afterstate", !def->afterstate && has_chance},
        {"chance", !def->chance && has_chance},
        {"chance_weights", !def->chance_weights && has_chance},
        {"reset_with", !def->reset_with && spec->reset_outcomes > 0},
    };
    char names[160] = ""; /* all of them fit */
    int missing = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].is_missing) continue;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", missing++ ? ", " : "", rows[i].name);
    }
    if (missing == 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its row lacks the function%s %s", missing > 1 ? "s" : "", names);
}

static cm_status check_numbers(const cm_env_def *def, const cm_env_spec *spec) {
    enum { LARGEST = 65536, MOST_SYMMETRIES = 4096, MOST_NUMBERS = 1 << 24, MOST_BYTES = 1 << 30 };
    const long long shape[] = {spec->shape[0], spec->shape[1], spec->shape[2]};
    const struct {
        const char *what;
        long long value, low, high;
    } rows[] = {
        {"a number of shape", shape[0], 1, LARGEST},
        {"a number of shape", shape[1], 1, LARGEST},
        {"a number of shape", shape[2], 1, LARGEST},
        {"the observation's size", shape[0] * shape[1] * shape[2], 1, MOST_NUMBERS},
        {"actions", spec->actions, 1,
         spec->action_size == 0 ? CM_ENV_MAX_ACTIONS
         : def->legal           ? CM_ENV_MAX_SEARCHED
                                : CM_ENV_MAX_COMBINATIONS},
        {"frames", spec->frames, 0, CM_ENV_MAX_FRAMES},
        {"max_legal", spec->max_legal, 0, spec->actions},
        {"players", spec->players, 1, 2},
        {"max_steps", spec->max_steps, 0, INT_MAX},
        {"max_plies", spec->max_plies, 0, INT_MAX},
        {"symmetries", spec->symmetries, 1, MOST_SYMMETRIES},
        {"cells", spec->cells, 0, LARGEST},
        {"chance_outcomes", spec->chance_outcomes, 0, CM_ENV_MAX_OUTCOMES},
        {"reset_outcomes", spec->reset_outcomes, 0, LARGEST},
        {"action_bins", spec->action_bins, spec->action_size > 0 ? 2 : 0, CM_ENV_MAX_SEARCHED},
        {"rules_size, of a row with step_lanes,", def->step_lanes ? (long long)spec->rules_size : 0, 0,
         CM_ENV_FIELDS * (long long)sizeof(double)},
        {"rules_size", (long long)spec->rules_size, 1, MOST_BYTES},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CM_TRY(check_number(rows[i].what, rows[i].value, rows[i].low, rows[i].high));
    return CM_OK;
}

/* Where combinations are too many to be listed nothing may list them, and no solver lists more than few. */
static cm_status check_combinations(const cm_env_def *def, const cm_env_spec *spec) {
    const char *lists = spec->actions <= CM_ENV_MAX_SEARCHED ? NULL
                        : def->solver                        ? "a solver"
                        : spec->action_size == 0             ? NULL
                        : spec->players > 1                  ? "two players"
                        : spec->chance_outcomes > 0          ? "chance"
                        : spec->symmetries > 1               ? "symmetries"
                                                             : NULL;
    if (!lists) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%d actions and %s: with more than %d there may be none", spec->actions, lists,
                   CM_ENV_MAX_SEARCHED);
}

/* Bounds of a step's reward may be infinite, those of actions may not. */
static cm_status check_reals(const cm_env_spec *spec) {
    const double low = (double)spec->action_low, high = (double)spec->action_high;
    if (spec->action_size > 0 && !(low < high && isfinite(low) && isfinite(high)))
        return cm_fail(CM_ERR_INPUT,
                       "its describe sets action_low to %g and action_high to %g; must rise, and be finite", low, high);
    if (!(spec->reward_low <= spec->reward_high))
        return cm_fail(CM_ERR_INPUT, "its describe sets reward_low to %g and reward_high to %g; must not fall",
                       spec->reward_low, spec->reward_high);
    if (!(spec->discount > 0.0 && spec->discount <= 1.0))
        return cm_fail(CM_ERR_INPUT, "its describe sets discount to %g; must be above 0 and at most 1", spec->discount);
    if (isinf(spec->reward_threshold))
        return cm_fail(CM_ERR_INPUT, "its describe sets reward_threshold to %g; must be finite, or NaN for none",
                       spec->reward_threshold);
    return CM_OK;
}

static cm_status check_spec(const cm_env_def *def, const cm_env_spec *spec) {
    if (spec->rank != 1 && spec->rank != 3)
        return cm_fail(CM_ERR_INPUT, "its describe sets rank to %d; must be 1, [F], or 3, [height, width, channels]",
                       spec->rank);
    if (spec->rank == 1 && (spec->shape[1] != 1 || spec->shape[2] != 1))
        return cm_fail(CM_ERR_INPUT,
                       "its describe sets rank to 1, and shape to [%d, %d, %d]: of rank 1 is [F], of 3 that",
                       spec->shape[0], spec->shape[1], spec->shape[2]);
    CM_TRY(check_numbers(def, spec));
    if (spec->rules_size % 8 != 0)
        return cm_fail(CM_ERR_INPUT,
                       "its describe sets rules_size to %zu; must be a multiple of 8, as of sizeof(state)",
                       spec->rules_size);
    CM_TRY(check_reals(spec));
    if (!(spec->observation_unit >= 0.0f && isfinite(spec->observation_unit)))
        return cm_fail(CM_ERR_INPUT, "its describe sets observation_unit to %g; must be above 0, or 0 for none",
                       (double)spec->observation_unit);
    if (spec->max_plies == 0 && spec->chance_outcomes == 0)
        return cm_fail(CM_ERR_INPUT, "its describe sets neither max_steps, a time limit, nor max_plies, which no "
                                     "episode exceeds: an agent that never reached the end would play on for ever");
    CM_TRY(check_combinations(def, spec));
    return check_functions(def, spec);
}

/* The actions of a continuous task: every combination of the values of its numbers. */
static cm_status count_actions(cm_env_spec *spec) {
    CM_TRY(check_number("action_size", spec->action_size, 0, CM_ENV_MAX_NUMBERS));
    if (spec->angles >> spec->action_size)
        return cm_fail(CM_ERR_INPUT, "its describe sets angles to %#x, of %d numbers of an action", spec->angles,
                       spec->action_size);
    if (spec->action_size == 0) return CM_OK;
    const cm_policy_form form = cm_policy_form_of_angles(spec->action_size, spec->action_bins, spec->angles);
    if (cm_policy_actions(form) > CM_ENV_MAX_COMBINATIONS) {
        const double most = floor(pow(CM_ENV_MAX_COMBINATIONS, 1.0 / spec->action_size) + 1e-9);
        return cm_fail(CM_ERR_INPUT,
                       "action_bins: with %d values of each of the %d numbers of an action there are more than %d "
                       "actions; take at most %.0f",
                       spec->action_bins, spec->action_size, CM_ENV_MAX_COMBINATIONS, most);
    }
    spec->angle_steps = form.steps;
    spec->actions = cm_policy_actions(form);
    return CM_OK;
}

cm_status cm_env_open_def(cm_env *env, const cm_env_def *def, const char *name, const cm_env_params *params) {
    memset(env, 0, sizeof *env);
    if (!def->name || !def->name[0]) return cm_fail(CM_ERR_INPUT, "an environment whose row has no name");
    if (!def->describe) return cm_fail_in(check_functions(def, &env->spec), "%s", def->name);
    env->def = def;
    env->params = params ? *params : cm_env_params_default();
    CM_TRY(choose_size(def, name, &env->params));
    cm_status ranges = check_ranges(def, &env->params);
    if (ranges != CM_OK) return cm_fail_in(ranges, "%s", def->name);

    cm_env_spec *spec = &env->spec;
    spec->reward_threshold = (double)NAN;
    spec->reward_low = -1.0, spec->reward_high = 1.0, spec->discount = 1.0;
    spec->symmetries = 1, spec->players = 1;
    spec->shape[0] = spec->shape[1] = spec->shape[2] = 1;
    (void)cm_fail(CM_ERR_INPUT, "its describe fails and says no reason (cm_fail)"); /* unless it says one */
    cm_status described = def->describe(&env->params, spec);
    if (described != CM_OK) return cm_fail_in(described, "%s", def->name);
    if ((def->options & CM_ENV_MAX_STEPS) && env->params.max_steps > 0) spec->max_steps = env->params.max_steps;
    env->params.max_steps = spec->max_steps;
    if (spec->max_steps > 0 && (spec->max_plies == 0 || spec->max_steps < spec->max_plies))
        spec->max_plies = spec->max_steps;
    cm_printable(def->name, spec->name, sizeof spec->name);
    const size_t length = strlen(spec->name);
    if (def->max_size > 0) snprintf(spec->name + length, sizeof spec->name - length, "%d", env->params.size);
    if (!def->observe) spec->observation_unit = 1.0f;
    if (spec->rank == 0) spec->rank = spec->shape[1] != 1 || spec->shape[2] != 1 ? 3 : 1;
    cm_status checked = count_actions(spec);
    if (spec->max_legal == 0) spec->max_legal = spec->actions;
    if (checked == CM_OK) checked = check_spec(def, spec);
    if (checked != CM_OK) return cm_fail_in(checked, "%s", def->name);
    spec->observation_size = spec->shape[0] * spec->shape[1] * spec->shape[2];
    spec->state_size = sizeof(cm_env_common) + spec->rules_size;
    return cm_env_stack_frames(env);
}
