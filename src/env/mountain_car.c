#include "env/mountain_car.h"

#include <math.h>
#include <string.h>

#include "env/control.h"
#include "env/drawing.h"

static const char *const channels[] = {"position", "velocity"};

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    CM_TRY(cm_control_bounds(params, -0.6, -0.4));
    spec->shape[0] = 2;
    spec->channels = channels;
    spec->discount = 0.997;
    return CM_OK;
}

static cm_status describe_discrete(cm_env_params *params, cm_env_spec *spec) {
    spec->actions = 3;
    spec->max_steps = 200, spec->reward_threshold = -110.0;
    spec->reward_low = -1.0, spec->reward_high = -1.0;
    spec->rules_size = sizeof(cm_mountain_car);
    return describe(params, spec);
}

static cm_status describe_continuous(cm_env_params *params, cm_env_spec *spec) {
    if (params->action_bins == 0) params->action_bins = 11;
    spec->action_bins = params->action_bins;
    spec->action_size = 1, spec->action_low = -1.0f, spec->action_high = 1.0f;
    spec->max_steps = 999, spec->reward_threshold = 90.0;
    spec->reward_low = -0.1, spec->reward_high = 100.0;
    spec->rules_size = sizeof(cm_mountain_car_continuous);
    return describe(params, spec);
}

/* ---- MountainCar-v0 ---- */

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_mountain_car *s = (cm_mountain_car *)rules;
    s->position = cm_pcg64_uniform(random, params->low, params->high);
    s->velocity = 0.0;
}

static cm_env_outcome step(const cm_env_params *params, void *rules, int action, cm_pcg64 *random) {
    (void)random;
    cm_mountain_car *s = (cm_mountain_car *)rules;
    *s = cm_mountain_car_step(*s, action);
    return (cm_env_outcome){-1.0, s->position >= 0.5 && s->velocity >= params->goal_velocity, false};
}

static void step_lanes(const cm_env_params *params, const cm_env_lanes *lanes) {
    const int count = lanes->count; /* the stores below might alias it */
    double *restrict position = lanes->field[0], *restrict velocity = lanes->field[1];
    const int32_t *restrict action = lanes->action;
    uint8_t *restrict terminated = lanes->terminated;
    float *restrict observation = lanes->observation, *restrict reward = lanes->reward;
    const double goal_velocity = params->goal_velocity;
    for (int i = 0; i < count; i++) {
        cm_mountain_car s = {position[i], velocity[i]};
        s = cm_mountain_car_step(s, action[i]);
        position[i] = s.position, velocity[i] = s.velocity;
    }
    for (int i = 0; i < count; i++) {
        terminated[i] = (position[i] >= 0.5) & (velocity[i] >= goal_velocity);
        reward[i] = -1.0f;
    }
    for (int i = 0; i < count; i++) {
        observation[2 * i] = (float)position[i], observation[2 * i + 1] = (float)velocity[i];
    }
}

/* ---- MountainCarContinuous-v0 ---- */

static void reset_continuous(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    cm_mountain_car_continuous *s = (cm_mountain_car_continuous *)rules;
    s->position = cm_pcg64_uniform(random, params->low, params->high);
    s->velocity = 0.0, s->fresh = 1.0;
}

/* Position and velocity as compared with the goal: those of the state, float32. */
static inline bool at_goal(double position, double velocity, double goal_velocity) {
    return (position >= (double)0.45f) & (velocity >= goal_velocity);
}

static inline double reward_of(bool goal, float value) {
    return (goal ? 100.0 : 0.0) - (double)value * (double)value * 0.1;
}

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    cm_mountain_car_continuous *s = (cm_mountain_car_continuous *)rules;
    *s = cm_mountain_car_continuous_step(*s, *value);
    bool goal = at_goal(s->position, s->velocity, params->goal_velocity);
    return (cm_env_outcome){reward_of(goal, *value), goal, false};
}

static void step_lanes_continuous(const cm_env_params *params, const cm_env_lanes *lanes) {
    const int count = lanes->count; /* the stores below might alias it */
    double *restrict position = lanes->field[0], *restrict velocity = lanes->field[1];
    double *restrict fresh = lanes->field[2];
    const float *restrict value = lanes->value;
    uint8_t *restrict terminated = lanes->terminated;
    float *restrict observation = lanes->observation, *restrict reward = lanes->reward;
    const double goal_velocity = params->goal_velocity;
    for (int i = 0; i < count; i++) {
        cm_mountain_car_continuous s = {position[i], velocity[i], fresh[i]};
        s = cm_mountain_car_continuous_step(s, value[i]);
        position[i] = s.position, velocity[i] = s.velocity, fresh[i] = s.fresh;
    }
    for (int i = 0; i < count; i++) {
        terminated[i] = at_goal(position[i], velocity[i], goal_velocity);
        reward[i] = (float)reward_of(terminated[i], value[i]);
    }
    for (int i = 0; i < count; i++) {
        observation[2 * i] = (float)position[i], observation[2 * i + 1] = (float)velocity[i];
    }
}

/* ---- both: their states begin alike ---- */

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const double *s = (const double *)rules;
    observation[0] = (float)s[0], observation[1] = (float)s[1];
}

/* The valley, the car on it, a flag at the goal. */
static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    (void)params;
    const double *s = (const double *)rules;
    enum { HEIGHT = 10, WIDTH = 39 };
    cm_canvas canvas;
    cm_canvas_clear(&canvas, HEIGHT, WIDTH);
    for (int c = 0; c < WIDTH; c++) {
        double p = -1.2 + 1.8 * c / (WIDTH - 1);
        cm_canvas_put(&canvas, 5.5 - 3.5 * sin(3.0 * p), c, '.');
    }
    double goal = (0.5 + 1.2) / 1.8 * (WIDTH - 1), car = (s[0] + 1.2) / 1.8 * (WIDTH - 1);
    cm_canvas_put(&canvas, 5.5 - 3.5 * sin(1.5) - 1.0, goal, 'P');
    cm_canvas_put(&canvas, 5.5 - 3.5 * sin(3.0 * s[0]) - 1.0, car, 'o');
    cm_canvas_text(&canvas, text, size, "position %+.3f  velocity %+.4f", s[0], s[1]);
}

static void action_name(const cm_env_params *params, int action, char *text, size_t size) {
    (void)params;
    const char *const names[] = {"left", "none", "right"};
    cm_name_pick(text, size, names[action]);
}

/* A start may lie beyond the walls. */
static cm_status check(const cm_env_params *params, const double *s, int steps, double low, double high, double fast) {
    const double least = steps > 0 ? low : params->low, most = steps > 0 ? high : params->high;
    CM_TRY(cm_env_check_real("its position", s[0], least, most));
    return cm_env_check_real("its velocity", s[1], steps > 0 ? -fast : 0.0, steps > 0 ? fast : 0.0);
}

static cm_status check_discrete(const cm_env_params *params, const void *rules, int steps, bool ended) {
    (void)ended;
    return check(params, (const double *)rules, steps, -1.2, 0.6, 0.07);
}

static cm_status check_continuous(const cm_env_params *params, const void *rules, int steps, bool ended) {
    const double fresh = steps == 0 ? 1.0 : 0.0;
    (void)ended;
    CM_TRY(cm_env_check_real("its mark of a fresh start", ((const double *)rules)[2], fresh, fresh));
    return check(params, (const double *)rules, steps, (double)-1.2f, (double)0.6f, (double)0.07f);
}

/* ---- drawings ---- */

static const double wide = CM_ENV_DRAWN / 1.8; /* units for a distance of 1 */

static double place_of(double position) { return (position + 1.2) * wide; }
static double height_of(double position) { return 228.0 - (0.45 * sin(3.0 * position) + 0.55) * wide; }

/* The ground below the valley, and a flag at the goal. */
static void draw_valley(cm_scene *scene, double goal) {
    enum { PIECES = 64 };
    const double x = place_of(goal), y = height_of(goal);
    double xy[2 * (PIECES + 3)];
    for (int i = 0; i <= PIECES; i++) {
        const double position = -1.2 + 1.8 * i / PIECES;
        xy[2 * i] = place_of(position), xy[2 * i + 1] = height_of(position);
    }
    const double corners[] = {CM_ENV_DRAWN, scene->height, 0.0, scene->height},
                 flag[] = {x, y - 36, x + 20, y - 29, x, y - 22};
    memcpy(xy + 2 * (PIECES + 1), corners, sizeof corners);
    cm_scene_polygon(scene, xy, PIECES + 3, CM_COLOUR_SHADE);
    for (int i = 0; i < PIECES; i++)
        cm_scene_line(scene, xy[2 * i], xy[2 * i + 1], xy[2 * i + 2], xy[2 * i + 3], 2.0, CM_COLOUR_GREY);
    cm_scene_line(scene, x, y, x, y - 36.0, 2.0, CM_COLOUR_INK);
    cm_scene_polygon(scene, flag, 3, CM_COLOUR_GREEN);
}

/* A point of the car: `along` the ground from its middle, and `up` from it. */
static void put_point(double position, double along, double up, double xy[2]) {
    const double slope = 0.45 * 3.0 * cos(3.0 * position), length = sqrt(1.0 + slope * slope);
    xy[0] = place_of(position) + (along - up * slope) / length;
    xy[1] = height_of(position) - (along * slope + up) / length;
}

static void draw_car(cm_scene *scene, double position, double force) {
    static const double outline[][2] = {{-20, 6}, {20, 6},   {20, 14},  {10, 15},
                                        {5, 22},  {-12, 22}, {-15, 15}, {-20, 15}};
    enum { CORNERS = sizeof outline / sizeof *outline };
    double body[2 * CORNERS], wheel[2], from[2], to[2];
    for (int i = 0; i < CORNERS; i++) put_point(position, outline[i][0], outline[i][1], body + 2 * i);
    cm_scene_polygon(scene, body, CORNERS, CM_COLOUR_RED);
    for (int side = -1; side <= 1; side += 2) {
        put_point(position, 11.0 * side, 6.0, wheel);
        cm_scene_ring(scene, wheel[0], wheel[1], 4.0, 3.5, CM_COLOUR_INK, CM_COLOUR_FAINT);
    }
    const double side = force > 0.0 ? 1.0 : -1.0;
    put_point(position, 24.0 * side, 13.0, from);
    put_point(position, 24.0 * side + 26.0 * force, 13.0, to);
    cm_scene_arrow(scene, from[0], from[1], to[0], to[1], 3.5, CM_COLOUR_BLUE);
}

static void draw_discrete(const cm_env_params *params, const void *rules, const cm_env_moment *moment,
                          cm_scene *scene) {
    (void)params;
    scene->height = 240.0;
    draw_valley(scene, 0.5);
    draw_car(scene, *(const double *)rules, moment->action < 0 ? 0.0 : moment->action - 1.0);
}

static void draw_continuous(const cm_env_params *params, const void *rules, const cm_env_moment *moment,
                            cm_scene *scene) {
    scene->height = 240.0;
    draw_valley(scene, 0.45);
    draw_car(scene, *(const double *)rules, cm_drawing_share(moment, params->action_bins));
}

CM_ENV_DEF(cm_env_mountain_car, check_discrete, .name = "MountainCar-v0", .alias = "MountainCar",
           .about = "Rock a weak car out of a valley",
           .options = CM_ENV_MAX_STEPS | CM_ENV_LOW | CM_ENV_HIGH | CM_ENV_GOAL_VELOCITY, .describe = describe_discrete,
           .reset = reset, .step = step, .observe = observe, .picture = picture, .action_name = action_name,
           .step_lanes = step_lanes, .draw = draw_discrete);

CM_ENV_DEF(cm_env_mountain_car_continuous, check_continuous, .name = "MountainCarContinuous-v0",
           .alias = "MountainCarContinuous", .about = "The same with a force in [-1, 1] that costs",
           .options = CM_ENV_MAX_STEPS | CM_ENV_LOW | CM_ENV_HIGH | CM_ENV_GOAL_VELOCITY | CM_ENV_ACTION_BINS,
           .describe = describe_continuous, .reset = reset_continuous, .observe = observe, .picture = picture,
           .step_value = step_value, .step_lanes = step_lanes_continuous, .draw = draw_continuous);
