#include "env/acrobot.h"

#include <float.h>
#include <math.h>

#include "env/control.h"
#include "env/drawing.h"

static const char *const channels[] = {"cos angle 1", "sin angle 1",        "cos angle 2",
                                       "sin angle 2", "angular velocity 1", "angular velocity 2"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    CM_TRY(cm_control_bounds(params, -0.1, 0.1));
    spec->shape[0] = 6;
    spec->channels = channels;
    spec->actions = 3;
    spec->max_steps = 500, spec->reward_threshold = -100.0, spec->discount = 0.997;
    spec->reward_low = -1.0, spec->reward_high = 0.0;
    spec->rules_size = sizeof(cm_acrobot);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_acrobot_reset((cm_acrobot *)rules, params->low, params->high, random);
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)params, (void)random;
    cm_acrobot *s = (cm_acrobot *)rules;
    *s = cm_acrobot_step(*s, action);
    bool up = cm_acrobot_is_up(s->theta1, s->theta2);
    return (cm_env_outcome){up ? 0.0 : -1.0, up, false};
}

static void step_lanes(const cm_env_params *params, const cm_env_lanes *lanes) {
    const int count = lanes->count; /* the stores below might alias it */
    (void)params;
    double *restrict theta1 = lanes->field[0], *restrict theta2 = lanes->field[1];
    double *restrict omega1 = lanes->field[2], *restrict omega2 = lanes->field[3];
    const int32_t *restrict action = lanes->action;
    uint8_t *restrict terminated = lanes->terminated;
    float *restrict observation = lanes->observation, *restrict reward = lanes->reward;
    for (int i = 0; i < count; i++) {
        cm_acrobot s = {theta1[i], theta2[i], omega1[i], omega2[i]};
        s = cm_acrobot_step(s, action[i]);
        theta1[i] = s.theta1, theta2[i] = s.theta2, omega1[i] = s.omega1, omega2[i] = s.omega2;
    }
    for (int i = 0; i < count; i++) {
        cm_sincos_pair a = cm_sincos(theta1[i]), b = cm_sincos(theta2[i]);
        observation[6 * i] = (float)a.cos, observation[6 * i + 1] = (float)a.sin;
        observation[6 * i + 2] = (float)b.cos, observation[6 * i + 3] = (float)b.sin;
        observation[6 * i + 4] = (float)omega1[i], observation[6 * i + 5] = (float)omega2[i];
    }
    for (int i = 0; i < count; i++) terminated[i] = cm_acrobot_is_up(theta1[i], theta2[i]);
    for (int i = 0; i < count; i++) reward[i] = terminated[i] ? 0.0f : -1.0f;
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const cm_acrobot *s = (const cm_acrobot *)rules;
    cm_sincos_pair a = cm_sincos(s->theta1), b = cm_sincos(s->theta2);
    observation[0] = (float)a.cos, observation[1] = (float)a.sin;
    observation[2] = (float)b.cos, observation[3] = (float)b.sin;
    observation[4] = (float)s->omega1, observation[5] = (float)s->omega2;
}

/* Both links from the fixed point in the middle; the line of dots is the height to reach. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    const cm_acrobot *s = (const cm_acrobot *)rules;
    enum { HEIGHT = 13, WIDTH = 39, MIDDLE = 19, PIVOT = 6, LINK = 3 };
    cm_canvas canvas;
    cm_canvas_clear(&canvas, HEIGHT, WIDTH);
    for (int c = 0; c < WIDTH; c += 2) cm_canvas_put(&canvas, PIVOT - LINK, c, '.');
    double row = PIVOT, column = MIDDLE, angle = s->theta1;
    for (int link = 0; link < 2; link++, angle += s->theta2) {
        for (int part = 1; part <= 6; part++) {
            row += LINK / 6.0 * cos(angle), column += 2.0 * LINK / 6.0 * sin(angle);
            cm_canvas_put(&canvas, row, column, link == 0 ? '*' : 'o');
        }
    }
    cm_canvas_put(&canvas, PIVOT, MIDDLE, '+');
    cm_canvas_text(&canvas, text, size, "angles %+.2f %+.2f  height %.2f of 1", s->theta1, s->theta2,
                   -cos(s->theta1) - cos(s->theta1 + s->theta2));
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    const char *const names[] = {"left", "none", "right"};
    cm_name_pick(text, size, names[action]);
}

/* The velocities are bounded by every step, the angles turned back, if they began within a turn. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)ended;
    const cm_acrobot *s = (const cm_acrobot *)rules;
    const double start = (double)(float)fmax(fabs(params->low), fabs(params->high));
    const double theta = steps == 0 ? start : start > CM_PI ? DBL_MAX : CM_PI;
    const double omega1 = steps == 0 ? start : 4.0 * CM_PI, omega2 = steps == 0 ? start : 9.0 * CM_PI;
    CM_TRY(cm_env_check_real("its first angle", s->theta1, -theta, theta));
    CM_TRY(cm_env_check_real("its second angle", s->theta2, -theta, theta));
    CM_TRY(cm_env_check_real("its first angular velocity", s->omega1, -omega1, omega1));
    return cm_env_check_real("its second angular velocity", s->omega2, -omega2, omega2);
}

/* Both links from the fixed point in the middle, the height to reach, and the torque between the links. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_acrobot *s = (const cm_acrobot *)rules;
    const double link = 64.0, middle = 160.0, goal = middle - link, both = s->theta1 + s->theta2;
    const double x = middle + link * sin(s->theta1), y = middle + link * cos(s->theta1);
    const double tip[2] = {x + link * sin(both), y + link * cos(both)};
    (void)params;
    for (int i = 0; i < 16; i++)
        cm_scene_line(scene, 5.0 + 20.0 * i, goal, 15.0 + 20.0 * i, goal, 2.0, CM_COLOUR_GREEN);
    cm_scene_line(scene, middle, middle, x, y, 14.0, CM_COLOUR_BLUE);
    cm_scene_line(scene, x, y, tip[0], tip[1], 14.0, CM_COLOUR_ORANGE);
    cm_scene_ring(scene, middle, middle, 6.0, 4.0, CM_COLOUR_INK, CM_COLOUR_PAPER);
    cm_scene_ring(scene, x, y, 4.0, 3.0, CM_COLOUR_INK, CM_COLOUR_PAPER);
    if (moment->action >= 0) cm_drawing_turn(scene, x, y, 20.0, 0.6 * (1 - moment->action), CM_COLOUR_INK);
}

CM_ENV_DEF(cm_env_acrobot, check, .name = "Acrobot-v1", .alias = "Acrobot",
           .about = "Swing the lower of two links above a line", .options = CM_ENV_MAX_STEPS | CM_ENV_LOW | CM_ENV_HIGH,
           .describe = describe, .reset = reset, .step = step, .observe = observe, .picture = picture,
           .action_name = action_name, .step_lanes = step_lanes, .draw = draw);
