#include "env/glide.h"

#include <math.h>
#include <stdio.h>

#include "env/control.h"
#include "env/drawing.h"

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

/* The end of an arrow at `place` that shows a speed: within the drawing. */
static double tip_of(double place, double speed) { return fmax(6.0, fmin(CM_ENV_DRAWN - 6.0, place + 160.0 * speed)); }

/* The plane of two axes with its middle, and the point with its speed. */
static void draw_plane(cm_scene *scene, const cm_glide *s) {
    const double middle = 160.0, unit = 66.0, x = middle + unit * s->x[0], y = middle - unit * s->x[1];
    cm_scene_rectangle(scene, 14.0, 14.0, 292.0, 292.0, 8.0, CM_COLOUR_SHADE);
    for (int ring = 2; ring >= 1; ring--)
        cm_scene_ring(scene, middle, middle, 0.5 * unit * ring, 1.0, CM_COLOUR_FAINT, CM_COLOUR_SHADE);
    cm_scene_line(scene, middle - 10.0, middle, middle + 10.0, middle, 2.0, CM_COLOUR_GREEN);
    cm_scene_line(scene, middle, middle - 10.0, middle, middle + 10.0, 2.0, CM_COLOUR_GREEN);
    cm_scene_arrow(scene, x, y, tip_of(x, s->v[0]), tip_of(y, -s->v[1]), 3.5, CM_COLOUR_BLUE);
    cm_scene_circle(scene, x, y, 10.0, CM_COLOUR_ORANGE);
}

/* A line for each axis. */
static void draw_axes(cm_scene *scene, const cm_glide *s, int axes) {
    const double middle = 160.0, unit = 68.0, apart = 40.0;
    scene->height = 20.0 + apart * axes;
    for (int i = 0; i < axes; i++) {
        const double y = 10.0 + apart * (i + 0.5), x = middle + unit * s->x[i];
        cm_scene_line(scene, middle - 2.0 * unit, y, middle + 2.0 * unit, y, 8.0, CM_COLOUR_SHADE);
        cm_scene_line(scene, middle, y - 11.0, middle, y + 11.0, 2.0, CM_COLOUR_GREEN);
        cm_scene_arrow(scene, x, y, tip_of(x, s->v[i]), y, 3.5, CM_COLOUR_BLUE);
        cm_scene_circle(scene, x, y, 9.0, CM_COLOUR_ORANGE);
    }
}

static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_glide *s = (const cm_glide *)rules;
    (void)moment;
    if (params->size == 2) {
        draw_plane(scene, s);
    } else {
        draw_axes(scene, s, params->size);
    }
}

CM_ENV_DEF(cm_env_glide, check, .name = "glide", .about = "Push a point to the middle with n forces", .min_size = 1,
           .max_size = CM_GLIDE_AXES, .default_size = 2, .options = CM_ENV_SIZE | CM_ENV_ACTION_BINS | CM_ENV_MAX_STEPS,
           .describe = describe, .reset = reset, .observe = observe, .picture = picture, .step_value = step_value,
           .draw = draw);
