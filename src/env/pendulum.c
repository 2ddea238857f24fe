#include "env/pendulum.h"

#include <math.h>

#include "env/control.h"
#include "env/drawing.h"

static const char *const channels[] = {"cos angle", "sin angle", "angular velocity"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    if (isnan(params->x_init)) params->x_init = CM_PI;
    if (isnan(params->y_init)) params->y_init = 1.0;
    if (params->action_bins == 0) params->action_bins = 11;
    spec->shape[0] = 3;
    spec->channels = channels;
    spec->action_bins = params->action_bins;
    spec->action_size = 1, spec->action_low = -2.0f, spec->action_high = 2.0f;
    spec->max_steps = 200, spec->discount = 0.99;
    spec->reward_low = -(CM_PI * CM_PI + 6.4 + 0.004), spec->reward_high = 0.0;
    spec->rules_size = sizeof(cm_pendulum);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_pendulum *s = (cm_pendulum *)rules;
    s->theta = cm_pcg64_uniform(random, -params->x_init, params->x_init);
    s->omega = cm_pcg64_uniform(random, -params->y_init, params->y_init);
}

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    (void)params;
    cm_pendulum *s = (cm_pendulum *)rules;
    float torque = cm_pendulum_torque(*value);
    double cost = cm_pendulum_cost(*s, torque);
    *s = cm_pendulum_step(*s, torque);
    return (cm_env_outcome){-cost, false, false};
}

static void step_lanes(const cm_env_params *params, const cm_env_lanes *lanes) {
    const int count = lanes->count; /* the stores below might alias it */
    (void)params;
    double *restrict theta = lanes->field[0], *restrict omega = lanes->field[1];
    const float *restrict value = lanes->value;
    float *restrict observation = lanes->observation;
    float *restrict torque = lanes->reward; /* until the reward is known */
    for (int i = 0; i < count; i++) torque[i] = cm_pendulum_torque(value[i]);
    for (int i = 0; i < count; i++) {
        cm_pendulum s = {theta[i], omega[i]}, next = cm_pendulum_step(s, torque[i]);
        theta[i] = next.theta, omega[i] = next.omega;
        torque[i] = (float)-cm_pendulum_cost(s, torque[i]);
    }
    for (int i = 0; i < count; i++) {
        cm_sincos_pair a = cm_sincos(theta[i]);
        observation[3 * i] = (float)a.cos, observation[3 * i + 1] = (float)a.sin;
        observation[3 * i + 2] = (float)omega[i];
    }
    memset(lanes->terminated, 0, (size_t)count);
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const cm_pendulum *s = (const cm_pendulum *)rules;
    cm_sincos_pair a = cm_sincos(s->theta);
    observation[0] = (float)a.cos, observation[1] = (float)a.sin, observation[2] = (float)s->omega;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    const cm_pendulum *s = (const cm_pendulum *)rules;
    enum { SIDE = 11, WIDTH = 23, MIDDLE = 5 };
    cm_canvas canvas;
    cm_canvas_clear(&canvas, SIDE, WIDTH);
    for (int part = 1; part <= 10; part++) {
        double reach = MIDDLE * part / 10.0;
        cm_canvas_put(&canvas, MIDDLE - reach * cos(s->theta), 11.0 - 2.0 * reach * sin(s->theta),
                      part == 10 ? 'O' : '*');
    }
    cm_canvas_put(&canvas, MIDDLE, 11, '+');
    cm_canvas_text(&canvas, text, size, "angle %+.2f rad  velocity %+.2f", cm_pendulum_wrap(s->theta), s->omega);
}

/* It turns by at most 0.4 a step. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)ended;
    const cm_pendulum *s = (const cm_pendulum *)rules;
    const double theta = params->x_init + (0.4 + 1e-6) * steps, omega = fmax(params->y_init, 8.0);
    CM_TRY(cm_env_check_real("its angle", s->theta, -theta, theta));
    return cm_env_check_real("its angular velocity", s->omega, -omega, omega);
}

/* The rod from its pivot, where it is to stand, and the torque. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_pendulum *s = (const cm_pendulum *)rules;
    const double middle = 160.0, length = 110.0;
    const double x = middle - length * sin(s->theta), y = middle - length * cos(s->theta);
    cm_scene_ring(scene, middle, middle, length, 2.0, CM_COLOUR_SHADE, CM_COLOUR_PAPER);
    cm_scene_line(scene, middle, middle - length - 14.0, middle, middle - length + 14.0, 3.0, CM_COLOUR_GREEN);
    cm_scene_line(scene, middle, middle, x, y, 16.0, CM_COLOUR_RED);
    cm_scene_circle(scene, x, y, 16.0, CM_COLOUR_RED);
    cm_scene_ring(scene, middle, middle, 7.0, 4.0, CM_COLOUR_INK, CM_COLOUR_PAPER);
    cm_drawing_turn(scene, middle, middle, 36.0, -0.8 * cm_drawing_share(moment, params->action_bins), CM_COLOUR_BLUE);
}

CM_ENV_DEF(cm_env_pendulum, check, .name = "Pendulum-v1", .alias = "Pendulum",
           .about = "Swing a pendulum up and hold it",
           .options = CM_ENV_MAX_STEPS | CM_ENV_X_INIT | CM_ENV_Y_INIT | CM_ENV_ACTION_BINS, .describe = describe,
           .reset = reset, .observe = observe, .picture = picture, .step_value = step_value, .step_lanes = step_lanes,
           .draw = draw);
