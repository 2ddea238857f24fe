#include "env/cartpole.h"

#include <math.h>

#include "env/control.h"
#include "env/drawing.h"

static const char *const channels[] = {"cart position", "cart velocity", "pole angle", "pole angular velocity"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    CM_TRY(cm_control_bounds(params, -0.05, 0.05));
    spec->shape[0] = 4;
    spec->channels = channels;
    spec->actions = 2;
    spec->discount = 0.997;
    spec->reward_low = params->sutton_barto_reward ? -1.0 : 0.0, spec->reward_high = 1.0;
    spec->rules_size = sizeof(cm_cartpole);
    return CM_OK;
}

static cm_status describe_v1(cm_env_params *params, cm_env_spec *spec) {
    spec->max_steps = 500, spec->reward_threshold = 475.0;
    return describe(params, spec);
}

static cm_status describe_v0(cm_env_params *params, cm_env_spec *spec) {
    spec->max_steps = 200, spec->reward_threshold = 195.0;
    return describe(params, spec);
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_cartpole_reset((cm_cartpole *)rules, params->low, params->high, random);
}

static double reward_of(const cm_env_params *params, bool fallen) {
    if (params->sutton_barto_reward) return fallen ? -1.0 : 0.0;
    return 1.0;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    cm_cartpole *s = (cm_cartpole *)rules;
    *s = cm_cartpole_step(*s, action);
    bool fallen = cm_cartpole_fallen(s->x, s->theta);
    return (cm_env_outcome){reward_of(params, fallen), fallen, false};
}

static void step_lanes(const cm_env_params *params, const cm_env_lanes *lanes) {
    const int count = lanes->count; /* the stores below might alias it */
    double *restrict x = lanes->field[0], *restrict x_dot = lanes->field[1];
    double *restrict theta = lanes->field[2], *restrict theta_dot = lanes->field[3];
    const int32_t *restrict action = lanes->action;
    uint8_t *restrict terminated = lanes->terminated;
    for (int i = 0; i < count; i++) {
        cm_cartpole s = {x[i], x_dot[i], theta[i], theta_dot[i]};
        s = cm_cartpole_step(s, action[i]);
        x[i] = s.x, x_dot[i] = s.x_dot, theta[i] = s.theta, theta_dot[i] = s.theta_dot;
    }
    for (int i = 0; i < count; i++) terminated[i] = cm_cartpole_fallen(x[i], theta[i]);
    float *restrict observation = lanes->observation, *restrict reward = lanes->reward;
    for (int i = 0; i < count; i++) {
        observation[4 * i] = (float)x[i], observation[4 * i + 1] = (float)x_dot[i];
        observation[4 * i + 2] = (float)theta[i], observation[4 * i + 3] = (float)theta_dot[i];
    }
    const float alive = (float)reward_of(params, false), fallen = (float)reward_of(params, true);
    for (int i = 0; i < count; i++) reward[i] = terminated[i] ? fallen : alive;
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const cm_cartpole *s = (const cm_cartpole *)rules;
    observation[0] = (float)s->x, observation[1] = (float)s->x_dot;
    observation[2] = (float)s->theta, observation[3] = (float)s->theta_dot;
}

/* The track from -2.4 to 2.4 with the cart, the pole above it, leaning by its angle times four. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    const cm_cartpole *s = (const cm_cartpole *)rules;
    enum { HEIGHT = 7, WIDTH = 39 };
    cm_canvas canvas;
    cm_canvas_clear(&canvas, HEIGHT, WIDTH);
    double cart = (s->x + CM_CARTPOLE_X_LIMIT) / (2.0 * CM_CARTPOLE_X_LIMIT) * (WIDTH - 1);
    for (int c = 0; c < WIDTH; c++) cm_canvas_put(&canvas, HEIGHT - 1, c, '-');
    for (int up = 1; up < HEIGHT - 1; up++) {
        cm_canvas_put(&canvas, HEIGHT - 2 - up, cart + 2.0 * up * sin(4.0 * s->theta), '|');
    }
    for (int d = -2; d <= 2; d++) cm_canvas_put(&canvas, HEIGHT - 2, cart + d, d == -2 ? '[' : d == 2 ? ']' : '=');
    cm_canvas_text(&canvas, text, size, "x %+.2f m  angle %+.1f deg", s->x, s->theta * 180.0 / CM_PI);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    cm_name_pick(text, size, action == 1 ? "right" : "left");
}

/* A start lies within its bounds, of at most `start`; the step that ends an episode may lead anywhere. As long as the
 * pole stands, what moved it there was no faster than two limits in a step, and pushed it as fast as the start,
 * squared, does. */
static cm_status check(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const cm_cartpole *s = (const cm_cartpole *)rules;
    const double start = fmax(fabs(params->low), fabs(params->high)), fast = 250.0 + start + 0.002 * start * start;
    const double any = steps == 0 ? start : 1e6;
    const bool is_standing = steps > 0 && !ended;
    const double x = is_standing ? CM_CARTPOLE_X_LIMIT : any, theta = is_standing ? CM_CARTPOLE_THETA_LIMIT : any;
    const double rate = is_standing ? fast : any;
    CM_TRY(cm_env_check_real("its cart's position", s->x, -x, x));
    CM_TRY(cm_env_check_real("its cart's velocity", s->x_dot, -rate, rate));
    CM_TRY(cm_env_check_real("its pole's angle", s->theta, -theta, theta));
    return cm_env_check_real("its pole's angular velocity", s->theta_dot, -rate, rate);
}

/* The track with its ends, the cart with the push that it got, and the pole as it leans. */
static void draw(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    const cm_cartpole *s = (const cm_cartpole *)rules;
    const double metre = 280.0 / (2.0 * CM_CARTPOLE_X_LIMIT), ground = 176.0, pole = 112.0;
    const double x = 0.5 * CM_ENV_DRAWN + metre * s->x, top = ground - 40.0;
    (void)params;
    scene->height = 200.0;
    cm_scene_rectangle(scene, 0.0, ground, CM_ENV_DRAWN, 24.0, 0.0, CM_COLOUR_SHADE);
    cm_scene_line(scene, 0.0, ground, CM_ENV_DRAWN, ground, 2.0, CM_COLOUR_GREY);
    for (int side = -1; side <= 1; side++) {
        const double at = 0.5 * CM_ENV_DRAWN + 140.0 * side, high = side == 0 ? 5.0 : 10.0;
        cm_scene_line(scene, at, ground - high, at, ground + high, 2.0, side == 0 ? CM_COLOUR_GREY : CM_COLOUR_RED);
    }
    if (moment->action >= 0) {
        const double side = moment->action == 1 ? 1.0 : -1.0;
        cm_scene_arrow(scene, x + side * 34.0, top + 14.0, x + side * 64.0, top + 14.0, 4.0, CM_COLOUR_BLUE);
    }
    for (int side = -1; side <= 1; side += 2)
        cm_scene_ring(scene, x + 16.0 * side, ground - 7.0, 5.0, 4.0, CM_COLOUR_INK, CM_COLOUR_FAINT);
    cm_scene_rectangle(scene, x - 28.0, top, 56.0, 27.0, 5.0, CM_COLOUR_INK);
    cm_scene_line(scene, x, top, x + pole * sin(s->theta), top - pole * cos(s->theta), 8.0, CM_COLOUR_ORANGE);
    cm_scene_circle(scene, x, top, 4.5, CM_COLOUR_FAINT);
}

#define CARTPOLE(row, id, row_alias, describe_row, text)                                                               \
    CM_ENV_DEF(row, check, .name = id, .alias = row_alias, .about = text,                                              \
               .options = CM_ENV_MAX_STEPS | CM_ENV_LOW | CM_ENV_HIGH | CM_ENV_SUTTON_BARTO, .describe = describe_row, \
               .reset = reset, .step = step, .observe = observe, .picture = picture, .action_name = action_name,       \
               .step_lanes = step_lanes, .draw = draw)

CARTPOLE(cm_env_cartpole_v1, "CartPole-v1", "CartPole", describe_v1, "Balance a pole on a cart for 500 steps");
CARTPOLE(cm_env_cartpole_v0, "CartPole-v0", NULL, describe_v0, "Balance a pole on a cart for 200 steps");
