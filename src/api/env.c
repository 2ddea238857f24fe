#include "api/env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/session.h"

/* ---- opening ---- */

enum { MOST_NAMES = 64, NAME_BYTES = 32 };
static char names[MOST_NAMES][NAME_BYTES];

/* Those that come in sizes with the size that they have where none is named. */
static void write_names(void) {
    int count;
    const cm_env_def *const *rows = cm_env_registry(&count);
    for (int i = 0; i < count && i < MOST_NAMES; i++) {
        const int size = rows[i]->default_size, length = snprintf(names[i], NAME_BYTES, "%s", rows[i]->name);
        if (rows[i]->max_size > 0) snprintf(names[i] + length, (size_t)(NAME_BYTES - length), "%d", size);
    }
}

const char *cumind_env_name(int index) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, write_names);
    return index >= 0 && index < MOST_NAMES && names[index][0] ? names[index] : NULL;
}

static void alloc_arrays(cumind_env *e, cm_arena *arena) {
    const size_t n = (size_t)e->instances;
    const cm_env_spec *spec = &e->env.spec;
    e->arrays.observation = cm_arena_alloc(arena, n * (size_t)spec->observation_size * sizeof(float));
    e->arrays.legal = cm_env_is_listed(&e->env) ? cm_arena_alloc(arena, n * (size_t)spec->actions) : NULL;
    e->arrays.to_play = cm_arena_alloc(arena, n * sizeof(int32_t));
    e->arrays.reward = cm_arena_alloc(arena, n * sizeof(float));
    e->arrays.terminated = cm_arena_alloc(arena, n);
    e->arrays.truncated = cm_arena_alloc(arena, n);
    e->ended = cm_arena_alloc(arena, n);
    e->moves = cm_arena_alloc(arena, n * sizeof(int32_t));
    e->state = cm_arena_alloc(arena, spec->state_size);
}

static cm_env_rows rows_of(const cumind_env *e) {
    const cumind_env_arrays *a = &e->arrays;
    return (cm_env_rows){a->observation, a->legal, a->to_play, a->reward, a->terminated, a->truncated};
}

/* Settings of other sections would have no effect. */
static cm_status check_section(const char *setting) {
    const size_t length = strcspn(setting, "=");
    const char *key = memchr(setting, '.', length) ? strchr(setting, '.') + 1 : setting;
    const size_t rest = length - (size_t)(key - setting);
    for (int i = 0; i < cm_env_option_count; i++)
        if (strlen(cm_env_option_rows[i].key) == rest && strncmp(cm_env_option_rows[i].key, key, rest) == 0)
            return CM_OK;
    return cm_fail(CM_ERR_INPUT, "settings: %.100s is no key of the section Environment", setting);
}

/* The environment that the settings describe. */
static cm_status describe(const char *name, const char *const *settings, int count, cm_env *out) {
    cm_configuration configuration;
    cm_config *config = NULL;
    CM_TRY(cm_configuration_create(&configuration, &config));
    cm_status status = cm_config_assign(config, "env_name", name, "name");
    for (int i = 0; i < count && status == CM_OK; i++) {
        status = cm_config_take(config, settings[i], "settings");
        if (status == CM_OK) status = check_section(settings[i]);
    }
    if (status == CM_OK) status = cm_session_env(&configuration.env, out);
    cm_config_destroy(config);
    return status;
}

/* After every call that has written the arrays. */
static void note_ended(cumind_env *e) {
    const uint8_t *restrict terminated = e->arrays.terminated, *restrict truncated = e->arrays.truncated;
    uint8_t *restrict ended = e->ended; /* else every byte might be a pointer of *e */
    const int n = e->instances;
    for (int i = 0; i < n; i++) ended[i] = terminated[i] | truncated[i];
}

static cm_status build(cumind_env *e, uint64_t seed) {
    CM_TRY(cm_vector_env_create(&e->env, e->instances, seed, 0, &e->vector));
    CM_TRY(cm_vector_env_check_begun(e->vector, 0, e->instances));
    cm_arena measure = {NULL, SIZE_MAX, 0};
    alloc_arrays(e, &measure);
    CM_TRY(cm_arena_create(&e->arena, measure.used, e->env.spec.name));
    alloc_arrays(e, &e->arena);
    const cm_env_rows rows = rows_of(e);
    cm_vector_env_show(e->vector, 0, e->instances, &rows);
    note_ended(e);
    return CM_OK;
}

cm_status cm_api_make_env(const cm_env *env, int instances, uint64_t seed, cumind_env **out) {
    cumind_env *e;
    if (instances < 1) return cm_fail(CM_ERR_INPUT, "instances must be at least 1, got %d", instances);
    CM_TRY(cm_alloc(&e, 1, sizeof *e, "environments"));
    cm_api_guard_begin(&e->guard, "the batch of environments");
    e->env = *env;
    e->instances = instances;
    const cm_status status = build(e, seed);
    if (status == CM_OK) {
        *out = e;
    } else {
        cumind_env_close(e);
    }
    return status;
}

static cm_status open_env(const char *name, int instances, uint64_t seed, const char *const *settings, int count,
                          cumind_env **out) {
    cm_env env;
    CM_TRY(cm_api_need(out, "out"));
    *out = NULL;
    CM_TRY(cm_api_need(name, "name"));
    CM_TRY(cm_api_check_settings(settings, count));
    cm_api_begin_opening(name, settings, count);
    const cm_status status = describe(name, settings, count, &env);
    cm_api_end_opening();
    return status == CM_OK ? cm_api_make_env(&env, instances, seed, out) : status;
}

cumind_status cumind_env_open(const char *name, int instances, uint64_t seed, const char *const *settings,
                              int settings_count, cumind_env **out) {
    return (cumind_status)open_env(name, instances, seed, settings, settings_count, out);
}

void cumind_env_close(cumind_env *e) {
    if (!e || !cm_api_is_own(&e->guard)) return;
    cm_vector_env_destroy(e->vector);
    cm_arena_destroy(&e->arena);
    free(e);
}

/* ---- looking ---- */

int cumind_env_instances(const cumind_env *e) { return e ? e->instances : 0; }

void cumind_env_get_spec(const cumind_env *e, cumind_spec *out) { cm_api_spec(e ? &e->env : NULL, out); }

cumind_env_arrays cumind_env_get_arrays(const cumind_env *e) { return e ? e->arrays : (cumind_env_arrays){0}; }

cm_status cm_api_check_instances(const cumind_env *e, int first, int count) {
    if (first >= 0 && count >= 1 && count <= e->instances - first) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: instances %d to %lld are asked for; there are 0 to %d", e->env.spec.name, first,
                   (long long)first + count - 1, e->instances - 1);
}

static cm_status picture(cumind_env *e, int instance, char *text, size_t size) {
    CM_TRY(cm_api_check_instances(e, instance, 1));
    CM_TRY(cm_api_need(text, "text"));
    if (size == 0) return cm_fail(CM_ERR_INPUT, "size must be at least 1");
    cm_vector_env_get(e->vector, instance, e->state);
    cm_env_picture(&e->env, e->state, text, size);
    return CM_OK;
}

cumind_status cumind_env_picture(cumind_env *e, int instance, char *text, size_t size) {
    const cm_status status = cm_api_enter(e ? &e->guard : NULL);
    return status == CM_OK ? cm_api_leave(&e->guard, picture(e, instance, text, size)) : (cumind_status)status;
}

cumind_status cumind_env_action_name(const cumind_env *e, int action, char *text, size_t size) {
    cm_status status = cm_api_need(e, "env");
    if (status == CM_OK) status = cm_api_need(text, "text");
    if (status == CM_OK && size == 0) status = cm_fail(CM_ERR_INPUT, "size must be at least 1");
    if (status == CM_OK && (action < 0 || action >= e->env.spec.actions))
        status =
            cm_fail(CM_ERR_INPUT, "%s: action %d is not in [0, %d)", e->env.spec.name, action, e->env.spec.actions);
    if (status == CM_OK) cm_env_action_name(&e->env, action, text, size);
    return (cumind_status)status;
}

/* The first `size` bytes of an array, where both are there. */
static void copy_bytes(void *to, const void *from, size_t size) {
    if (to && from) memcpy(to, from, size);
}

static void copy_arrays(const cumind_env *e, const cumind_env_copies *to) {
    const size_t n = (size_t)e->instances;
    const cumind_env_arrays *from = &e->arrays;
    copy_bytes(to->observation, from->observation, n * (size_t)e->env.spec.observation_size * sizeof(float));
    copy_bytes(to->legal, from->legal, n * (size_t)e->env.spec.actions);
    copy_bytes(to->to_play, from->to_play, n * sizeof *to->to_play);
    copy_bytes(to->terminated, from->terminated, n);
    copy_bytes(to->truncated, from->truncated, n);
    double *restrict reward = to->reward;
    const float *restrict given = from->reward;
    for (size_t i = 0; reward && i < n; i++) reward[i] = (double)given[i];
}

cumind_status cumind_env_copy_arrays(cumind_env *e, const cumind_env_copies *copies) {
    cm_status status = cm_api_enter(e ? &e->guard : NULL);
    if (status != CM_OK) return (cumind_status)status;
    status = cm_api_need(copies, "copies");
    if (status == CM_OK) copy_arrays(e, copies);
    return cm_api_leave(&e->guard, status);
}

/* ---- resets ---- */

static cm_status reset(cumind_env *e, const uint8_t *which, const uint64_t *seeds) {
    const cm_env_rows rows = rows_of(e);
    for (int i = 0; i < e->instances; i++) {
        if (which && !which[i]) continue;
        e->arrays.reward[i] = 0.0f;
        if (seeds) {
            cm_vector_env_reset_seed(e->vector, i, seeds[i], &rows);
        } else {
            cm_vector_env_reset(e->vector, i, 1, &rows);
        }
        e->ended[i] = 0;
    }
    return cm_vector_env_check_begun(e->vector, 0, e->instances);
}

cumind_status cumind_env_reset(cumind_env *e, const uint8_t *which, const uint64_t *seeds) {
    const cm_status status = cm_api_enter(e ? &e->guard : NULL);
    return status == CM_OK ? cm_api_leave(&e->guard, reset(e, which, seeds)) : (cumind_status)status;
}

static cm_status copy(cumind_env *e, int to, int from) {
    CM_TRY(cm_api_check_instances(e, to, 1));
    CM_TRY(cm_api_check_instances(e, from, 1));
    const cm_env_rows rows = rows_of(e);
    cm_vector_env_copy(e->vector, to, e->vector, from);
    cm_vector_env_show(e->vector, to, 1, &rows);
    e->arrays.reward[to] = e->arrays.reward[from];
    e->ended[to] = e->ended[from];
    return CM_OK;
}

cumind_status cumind_env_copy(cumind_env *e, int to, int from) {
    const cm_status status = cm_api_enter(e ? &e->guard : NULL);
    return status == CM_OK ? cm_api_leave(&e->guard, copy(e, to, from)) : (cumind_status)status;
}

/* ---- steps ---- */

typedef struct moves {
    const int32_t *actions; /* [n]; NULL: values are given */
    const float *values;    /* [n, D] */
} moves;

typedef cm_status range_function(cumind_env *e, int first, int count, const moves *given);

static cm_status check_range(cumind_env *e, int first, int count, const moves *given) {
    return cm_vector_env_check_step(e->vector, first, count, given->actions, given->values);
}

static cm_status step_range(cumind_env *e, int first, int count, const moves *given) {
    const cm_env_rows rows = rows_of(e);
    return given->actions ? cm_vector_env_step(e->vector, first, count, given->actions, &rows)
                          : cm_vector_env_step_value(e->vector, first, count, given->values, &rows);
}

/* Each range of instances whose episode had not ended. */
static cm_status for_each_range(cumind_env *e, const moves *given, range_function *function) {
    for (int first = 0, end; first < e->instances; first = end + 1) {
        const uint8_t *next = memchr(e->ended + first, 1, (size_t)(e->instances - first));
        end = next ? (int)(next - e->ended) : e->instances;
        if (end > first) CM_TRY(function(e, first, end - first, given));
    }
    return CM_OK;
}

/* Nothing moves before all is known to be right. */
static cm_status step_all(cumind_env *e, const moves *given) {
    const int n = e->instances;
    const cm_env_rows rows = rows_of(e);
    if (!memchr(e->ended, 1, (size_t)n)) return step_range(e, 0, n, given);
    if (cm_vector_env_has_lanes(e->vector))
        return cm_vector_env_step_next(e->vector, 0, n, given->actions, given->values, &rows);
    CM_TRY(for_each_range(e, given, check_range));
    cm_vector_env_reset_ended(e->vector, 0, n, &rows);
    for (int i = 0; i < n; i++)
        if (e->ended[i]) e->arrays.reward[i] = 0.0f;
    CM_TRY(cm_vector_env_check_begun(e->vector, 0, n));
    return for_each_range(e, given, step_range);
}

static cm_status step(cumind_env *e, const moves *given) {
    const cm_status status = step_all(e, given);
    note_ended(e);
    return status;
}

cumind_status cumind_env_step(cumind_env *e, const int32_t *actions) {
    const moves given = {.actions = actions};
    cm_status status = cm_api_enter(e ? &e->guard : NULL);
    if (status != CM_OK) return (cumind_status)status;
    status = cm_api_need(actions, "actions");
    return cm_api_leave(&e->guard, status == CM_OK ? step(e, &given) : status);
}

cumind_status cumind_env_step_values(cumind_env *e, const float *values) {
    const moves given = {.values = values};
    cm_status status = cm_api_enter(e ? &e->guard : NULL);
    if (status != CM_OK) return (cumind_status)status;
    status = cm_api_need(values, "values");
    if (status == CM_OK && e->env.spec.action_size == 0)
        status = cm_fail(CM_ERR_INPUT, "%s has %d actions and takes no values; use cumind_env_step", e->env.spec.name,
                         e->env.spec.actions);
    return cm_api_leave(&e->guard, status == CM_OK ? step(e, &given) : status);
}

/* Actions of 64 bits in 32. */
static cm_status narrow(cumind_env *e, const int64_t *actions) {
    int32_t *restrict narrowed = e->moves;
    const int n = e->instances;
    int64_t lost = 0;
    CM_TRY(cm_api_need(actions, "actions"));
    for (int i = 0; i < n; i++) narrowed[i] = (int32_t)actions[i], lost |= narrowed[i] ^ actions[i];
    return lost == 0 ? CM_OK : cm_fail(CM_ERR_INPUT, "actions: numbers out of the range of int32");
}

cumind_status cumind_env_step_int64(cumind_env *e, const int64_t *actions, const cumind_env_copies *copies) {
    cm_status status = cm_api_enter(e ? &e->guard : NULL);
    if (status != CM_OK) return (cumind_status)status;
    const moves given = {.actions = e->moves};
    status = narrow(e, actions);
    if (status == CM_OK) status = step(e, &given);
    if (status == CM_OK && copies) copy_arrays(e, copies);
    return cm_api_leave(&e->guard, status);
}
