/* A target on a circle around the shooter, which each shot is aimed at: a task of our own whose action is an angle. It
 * pays to be finer than bins: a shot costs its error, and the best of 16 directions is off by 5.6 degrees in the mean.
 */
#include <math.h>
#include <stdio.h>

#include "env/control.h"
#include "env/drawing.h"
#include "env/maths.h"

typedef struct aim {
    double target; /* where it is, in [-pi, pi] */
    double missed; /* the error of the last shot, in [-pi, pi]; 0 before it */
} aim;

static const double turn = 2.0 * CM_PI, step_on = 2.39996322972865332223; /* the golden angle */
static const double degree = CM_PI / 180.0;

static const char *const channels[] = {"cos target", "sin target"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    if (params->action_bins == 0) params->action_bins = 16;
    spec->shape[0] = 2;
    spec->channels = channels;
    spec->action_bins = params->action_bins;
    spec->action_size = 1, spec->action_low = (float)-CM_PI, spec->action_high = (float)CM_PI;
    spec->angles = 1;
    spec->max_steps = 10, spec->discount = 0.8;
    spec->reward_low = -18.0 - 1e-9, spec->reward_high = 0.0;
    spec->rules_size = sizeof(aim);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    *(aim *)rules = (aim){.target = cm_pcg64_uniform(random, -CM_PI, CM_PI)};
}

/* A tenth of the error in degrees: over the ten shots of an episode the return is minus the mean error. */
static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    aim *s = (aim *)rules;
    (void)params;
    s->missed = remainder((double)*value - s->target, turn);
    s->target = remainder(s->target + step_on, turn);
    return (cm_env_outcome){-fabs(s->missed) / (10.0 * degree), false, false};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    const cm_sincos_pair at = cm_sincos(((const aim *)rules)->target);
    (void)params;
    observation[0] = (float)at.cos, observation[1] = (float)at.sin;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    enum { MIDDLE = 5, SIDE = 2 * MIDDLE + 1, DOTS = 24 };
    const aim *s = (const aim *)rules;
    cm_canvas canvas;
    (void)params;
    cm_canvas_clear(&canvas, SIDE, 2 * SIDE + 1);
    for (int i = 0; i < DOTS; i++)
        cm_canvas_put(&canvas, MIDDLE - MIDDLE * sin(turn * i / DOTS), SIDE + 2.0 * MIDDLE * cos(turn * i / DOTS), '.');
    cm_canvas_put(&canvas, MIDDLE, SIDE, '+');
    cm_canvas_put(&canvas, MIDDLE - MIDDLE * sin(s->target), SIDE + 2.0 * MIDDLE * cos(s->target), 'O');
    cm_canvas_text(&canvas, text, size, "target %+.1f, last shot off by %+.1f", s->target / degree, s->missed / degree);
}

static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const aim *s = (const aim *)rules;
    (void)params, (void)steps, (void)ended;
    CM_TRY(cm_env_check_real("its target", s->target, -CM_PI, CM_PI));
    return cm_env_check_real("the error of its last shot", s->missed, -CM_PI, CM_PI);
}

/* Where the target is, and after a shot where it was, with the shot. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const aim *s = (const aim *)rules;
    const double middle = 160.0, radius = 120.0, before = s->target - step_on, shot = before + s->missed;
    (void)params;
    cm_scene_ring(scene, middle, middle, radius, 2.0, CM_COLOUR_SHADE, CM_COLOUR_PAPER);
    cm_scene_circle(scene, middle + radius * cos(s->target), middle - radius * sin(s->target), 11.0, CM_COLOUR_ORANGE);
    if (moment->action >= 0) {
        const double x = middle + radius * cos(before), y = middle - radius * sin(before);
        cm_scene_ring(scene, x, y, 9.0, 4.0, CM_COLOUR_GREEN, CM_COLOUR_PAPER);
        cm_scene_arrow(scene, middle, middle, middle + radius * cos(shot), middle - radius * sin(shot), 3.5,
                       CM_COLOUR_BLUE);
    }
    cm_scene_circle(scene, middle, middle, 8.0, CM_COLOUR_INK);
}

CM_ENV_DEF(cm_env_aim, check, .name = "aim", .about = "Aim at a target that jumps around a circle",
           .options = CM_ENV_MAX_STEPS | CM_ENV_ACTION_BINS, .describe = describe, .reset = reset, .observe = observe,
           .picture = picture, .step_value = step_value, .draw = draw);
