#include "env/glide.h"

#include <stdio.h>

#include "env/control.h"

/* By the number of axes. */
static const char *const channels[CM_GLIDE_AXES][2 * CM_GLIDE_AXES] = {
    {"x1", "5 v1"},
    {"x1", "x2", "5 v1", "5 v2"},
    {"x1", "x2", "x3", "5 v1", "5 v2", "5 v3"},
    {"x1", "x2", "x3", "x4", "5 v1", "5 v2", "5 v3", "5 v4"},
    {"x1", "x2", "x3", "x4", "x5", "5 v1", "5 v2", "5 v3", "5 v4", "5 v5"},
    {"x1", "x2", "x3", "x4", "x5", "x6", "5 v1", "5 v2", "5 v3", "5 v4", "5 v5", "5 v6"}};

/* The same. They are odd, so that no force at all is among them, and give at most 729 actions. */
static const int bins[CM_GLIDE_AXES] = {11, 11, 9, 5, 3, 3};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    const int axes = params->size;
    if (params->action_bins == 0) params->action_bins = bins[axes - 1];
    spec->shape[0] = 2 * axes;
    spec->channels = channels[axes - 1];
    spec->action_bins = params->action_bins;
    spec->action_size = axes, spec->action_low = -1.0f, spec->action_high = 1.0f;
    spec->max_steps = 50, spec->discount = 0.97;
    spec->reward_low = cm_glide_worst(axes), spec->reward_high = 0.0;
    spec->rules_size = sizeof(cm_glide);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_glide *s = (cm_glide *)rules;
    *s = (cm_glide){0};
    for (int i = 0; i < params->size; i++) s->x[i] = cm_pcg64_uniform(random, -1.0, 1.0);
}

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    return (cm_env_outcome){cm_glide_step((cm_glide *)rules, params->size, value), false, false};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const cm_glide *s = (const cm_glide *)rules;
    for (int i = 0; i < params->size; i++) {
        observation[i] = (float)s->x[i];
        observation[params->size + i] = (float)(5.0 * s->v[i]);
    }
}

enum { LINE = 8 * CM_GLIDE_AXES };

/* " +0.25 -1.00". */
static void list(const double *number, int count, char line[LINE]) {
    for (int i = 0, used = 0; i < count && used < LINE; i++)
        used += snprintf(line + used, LINE - (size_t)used, " %+.2f", number[i]);
}

/* The plane of the first two axes, with a dot where both are whole; of one axis a line. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    enum { ROWS = 3, COLUMNS = 6, WALL = 2 }; /* the first two for a distance of 1 */
    const cm_glide *s = (const cm_glide *)rules;
    const int high = params->size > 1 ? WALL : 0;
    cm_canvas canvas;
    cm_canvas_clear(&canvas, 2 * high * ROWS + 1, 2 * WALL * COLUMNS + 1);
    for (int y = -high; y <= high; y++)
        for (int x = -WALL; x <= WALL; x++) cm_canvas_put(&canvas, (high - y) * ROWS, (x + WALL) * COLUMNS, '.');
    cm_canvas_put(&canvas, high * ROWS, WALL * COLUMNS, '+');
    cm_canvas_put(&canvas, (high - s->x[1]) * ROWS, (s->x[0] + WALL) * COLUMNS, 'O');
    char line[LINE];
    list(s->x, params->size, line);
    cm_canvas_text(&canvas, text, size, "x%s", line);
    list(s->v, params->size, line);
    cm_picture_line(text, size, "v%s", line);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_glide *s = (const cm_glide *)rules;
    (void)steps, (void)ended;
    for (int i = 0; i < CM_GLIDE_AXES; i++) {
        const double x = i < params->size ? 2.0 : 0.0, v = i < params->size ? 1.0 + 1e-9 : 0.0;
        CM_TRY(cm_env_check_real("its place along an axis", s->x[i], -x, x));
        CM_TRY(cm_env_check_real("its speed along an axis", s->v[i], -v, v));
    }
    return CM_OK;
}

CM_ENV_DEF(cm_env_glide, check, .name = "glide", .about = "Push a point to the middle with n forces", .min_size = 1,
           .max_size = CM_GLIDE_AXES, .default_size = 2, .options = CM_ENV_SIZE | CM_ENV_ACTION_BINS | CM_ENV_MAX_STEPS,
           .describe = describe, .reset = reset, .observe = observe, .picture = picture, .step_value = step_value);
