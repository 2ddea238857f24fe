#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "env/board.h"
#include "env/python.h"
#include "env/python_internal.h"

enum { LIMIT = 10000 };

/* An episode needs one: states keep the actions that led to them. */
static int limit_of(const cm_env_params *params) {
    const int own = cm_python_env_of(params)->said.spec.max_steps;
    return params->max_steps > 0 ? params->max_steps : own > 0 ? own : LIMIT;
}

void cm_env_warn_endless(const cm_env *env, int max_steps) {
    if (max_steps > 0 || env->params.python == 0) return;
    cm_python_env *e = cm_python_env_of(&env->params);
    if (e->said.spec.max_steps > 0 || cm_python_has_screens(e) || e->is_endless) return;
    e->is_endless = true;
    cm_log(CM_WARNING, "%s has no limit on steps, so an episode gets %d; --set max_steps=500 sets another", e->name,
           LIMIT);
}

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    const cm_python_env *e = cm_python_env_of(params);
    *spec = e->said.spec;
    if (spec->action_size > 0 && params->action_bins > 0) spec->action_bins = params->action_bins;
    spec->max_steps = params->max_steps = limit_of(params);
    spec->rules_size = cm_python_state_bytes(params);
    return CM_OK;
}

/* The record is as long as the episode. */
static size_t used(const cm_env_params *params, int steps) {
    const cm_python_env *e = cm_python_env_of(params);
    return cm_python_record_at(e) + (size_t)steps * cm_python_action_bytes(e);
}

/* What reset(seed=...) takes is below INT32_MAX. */
static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_python_begin(params, (cm_python_state *)rules, cm_pcg64_below(random, INT32_MAX));
}

/* As the user has it. */
static void reset_to(const cm_env_params *params, void *rules, uint64_t seed) {
    cm_pcg64 random;
    cm_pcg64_seed(&random, seed);
    cm_python_begin(params, (cm_python_state *)rules,
                    seed < INT32_MAX ? seed : (uint64_t)cm_pcg64_below(&random, INT32_MAX));
}

/* The action that state k is to take, after those that it has taken. */
static void record(const cm_env_params *params, void *rules, int k, const void *action) {
    const cm_python_env *e = cm_python_env_of(params);
    char *state = (char *)rules + (size_t)k * cm_env_stride(params, cm_python_state_bytes(params));
    memcpy(cm_python_next_action(e, (cm_python_state *)(void *)state), action, cm_python_action_bytes(e));
}

static void step_together(const cm_env_params *params, void *rules, int count, const int32_t *action,
                          const float *value, cm_env_outcome *out) {
    const size_t size = (size_t)cm_python_env_of(params)->said.spec.action_size;
    for (int k = 0; k < count; k++)
        record(params, rules, k, size > 0 ? (const void *)(value + (size_t)k * size) : (const void *)(action + k));
    cm_python_advance(params, rules, count, out);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    const int32_t number = action;
    cm_env_outcome out;
    (void)random;
    record(params, rules, 0, &number);
    cm_python_advance(params, rules, 1, &out);
    return out;
}

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    cm_env_outcome out;
    record(params, rules, 0, value);
    cm_python_advance(params, rules, 1, &out);
    return out;
}

static float number_of(const cm_python_env *e, const cm_python_state *s, int i) {
    const uint8_t *bytes = cm_python_observation(s);
    const float unit = e->said.spec.observation_unit;
    return unit > 0.0f ? (float)bytes[i] * unit : ((const float *)(const void *)bytes)[i];
}
static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const cm_python_env *e = cm_python_env_of(params);
    const uint8_t *bytes = cm_python_observation((const cm_python_state *)rules);
    const float unit = e->said.spec.observation_unit;
    if (unit > 0.0f) {
        for (int i = 0, count = e->said.spec.observation_size; i < count; i++) observation[i] = (float)bytes[i] * unit;
    } else {
        memcpy(observation, bytes, cm_python_observation_bytes(e));
    }
}

static const uint8_t *observation_bytes(const cm_env_params *params, const void *rules) {
    (void)params;
    return cm_python_observation((const cm_python_state *)rules);
}

static void legal(const cm_env_params *params, const void *rules, uint8_t *mask) {
    const cm_python_env *e = cm_python_env_of(params);
    const bool has_failed = ((const cm_python_state *)rules)->failed != 0; /* the next step says so */
    memcpy(mask, cm_python_observation((const cm_python_state *)rules) + cm_python_observation_bytes(e),
           (size_t)e->said.spec.actions);
    if (has_failed) memset(mask, 1, (size_t)e->said.spec.actions);
}

static int to_play(const cm_env_params *params, const void *rules) {
    (void)params;
    return ((const cm_python_state *)rules)->to_play;
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    snprintf(text, size, "%s", cm_python_env_of(params)->said.action_names[action]);
}

static cm_status failure(const cm_env_params *params, const void *rules) {
    cm_python_env *e = cm_python_env_of(params);
    if (!((const cm_python_state *)rules)->failed) return CM_OK;
    pthread_mutex_lock(&e->lock);
    const cm_status status = cm_fail(e->status, "%s", e->failed);
    pthread_mutex_unlock(&e->lock);
    return status;
}

/* Numbers are finite, as those of its process are. */
static cm_status check_reply(const cm_python_env *e, const cm_python_state *s) {
    CM_TRY(cm_env_check_real("its reward", s->reward, -DBL_MAX, DBL_MAX));
    CM_TRY(cm_python_check_flags(e, s));
    for (int i = 0; i < e->said.spec.observation_size; i++)
        CM_TRY(cm_env_check_real("a number of its observation", (double)number_of(e, s, i), -(double)FLT_MAX,
                                 (double)FLT_MAX));
    return CM_OK;
}

static cm_status check_action(const cm_python_env *e, const char *action) {
    int32_t number;
    float value[CM_ENV_MAX_NUMBERS];
    if (e->said.spec.action_size == 0) {
        memcpy(&number, action, sizeof number);
        return cm_env_check_int("an action of its episode", number, 0, e->said.spec.actions - 1);
    }
    memcpy(value, action, cm_python_action_bytes(e));
    for (int d = 0; d < e->said.spec.action_size; d++)
        CM_TRY(cm_env_check_real("a number of an action of its episode", (double)value[d],
                                 (double)e->said.spec.action_low, (double)e->said.spec.action_high));
    return CM_OK;
}

static cm_status check(const cm_env_params *params, const void *rules, int count, bool ended) {
    const cm_python_env *e = cm_python_env_of(params);
    const cm_python_state *s = (const cm_python_state *)rules;
    const char *action = (const char *)s + cm_python_record_at(e);
    (void)ended;
    if (s->seed >= INT32_MAX) return cm_fail(CM_ERR_INPUT, "its seed is %llu", (unsigned long long)s->seed);
    CM_TRY(cm_env_check_int("the number of its actions", s->steps, count, count));
    CM_TRY(cm_env_check_int("its mark of a failure", s->failed, 0, 0));
    CM_TRY(check_reply(e, s));
    for (int i = 0; i < count; i++, action += cm_python_action_bytes(e)) CM_TRY(check_action(e, action));
    if (cm_python_key(e, s, count) == s->key) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its key is not that of its seed and actions");
}

/* Its own picture, else the first numbers of its observation. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    enum { LINES = 12, EACH = 4 };
    cm_python_env *e = cm_python_env_of(params);
    const cm_python_state *s = (const cm_python_state *)rules;
    const size_t shown = cm_python_show(params, s, text, size);
    text[shown] = '\0';
    for (int i = 0; shown == 0 && i < e->said.spec.observation_size && i < LINES * EACH; i += EACH) {
        char line[EACH * 10 + 1] = "";
        for (int k = i; k < i + EACH && k < e->said.spec.observation_size; k++)
            snprintf(line + strlen(line), sizeof line - strlen(line), " %8.3g", (double)number_of(e, s, k));
        cm_picture_line(text, size, "%s", line);
    }
}

/* Its own pixels. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    int width, height;
    uint8_t *rgb = cm_python_frame(params, (const cm_python_state *)rules, &width, &height);
    (void)moment;
    if (!rgb) return;
    scene->height = scene->width * height / width;
    cm_scene_image(scene, 0.0, 0.0, scene->width, scene->height, rgb, width, height);
    free(rgb);
}

void cm_python_row_make(cm_python_env *e) {
    e->def = (cm_env_def){.name = e->name,
                          .about = "an environment in Python",
                          .options = CM_ENV_MAX_STEPS,
                          .describe = describe,
                          .reset = reset,
                          .reset_to = reset_to,
                          .observe = observe,
                          .picture = picture,
                          .step_together = step_together,
                          .strides = true,
                          .failure = failure,
                          .check = check,
                          .used = used,
                          .draw = draw};
    if (e->said.spec.action_size > 0) {
        e->def.step_value = step_value;
        e->def.options |= CM_ENV_ACTION_BINS;
    } else {
        e->def.step = step;
    }
    if (e->said.spec.observation_unit > 0.0f) e->def.observation_bytes = observation_bytes;
    if (e->said.has_mask) e->def.legal = legal;
    if (e->said.spec.players == 2) e->def.to_play = to_play;
    if (e->said.action_names) e->def.action_name = action_name;
}
