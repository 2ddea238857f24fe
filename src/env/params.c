#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "env/env.h"

#define AT(member) offsetof(cm_env_params, member)

static const cm_env_option options[CM_ENV_OPTION_COUNT] = {
    {"size", CM_ENV_INT, AT(size), 1, 19, "Size n of hex, go, gomoku and glide; normally part of the name, as in hex7"},
    {"rows", CM_ENV_INT, AT(rows), 2, 64, "Rows of catch"},
    {"columns", CM_ENV_INT, AT(columns), 2, 64, "Columns of catch"},
    {"action_bins", CM_ENV_INT, AT(action_bins), 2, 1001, "Values of each number of a discretised continuous action"},
    {"max_steps", CM_ENV_INT, AT(max_steps), 1, 1e9, "Time limit in steps in place of the environment's own"},
    {"komi", CM_ENV_REAL, AT(komi), -400, 400, "Points that White is given in go"},
    {"low", CM_ENV_REAL, AT(low), -1000, 1000, "Lower bound of the uniform reset of CartPole, Acrobot, MountainCar"},
    {"high", CM_ENV_REAL, AT(high), -1000, 1000, "Upper bound of the uniform reset of CartPole, Acrobot, MountainCar"},
    {"x_init", CM_ENV_REAL, AT(x_init), 0, 1000, "Pendulum starts at an angle in [-x_init, x_init]"},
    {"y_init", CM_ENV_REAL, AT(y_init), 0, 1000, "Pendulum starts at an angular velocity in [-y_init, y_init]"},
    {"goal_velocity", CM_ENV_REAL, AT(goal_velocity), -1000, 1000, "Velocity that MountainCar must have at the goal"},
    {"swap", CM_ENV_FLAG, AT(swap), 0, 1, "Hex: the second player may take over the first stone"},
    {"exactly_five", CM_ENV_FLAG, AT(exactly_five), 0, 1, "Gomoku: six or more in a row do not win"},
    {"sutton_barto_reward", CM_ENV_FLAG, AT(sutton_barto_reward), 0, 1, "CartPole: reward 0, and -1 at the end"},
    {"sticky_actions", CM_ENV_REAL, AT(sticky_actions), 0, 1, "MinAtar: probability that the last action is repeated"},
    {"ramping", CM_ENV_FLAG, AT(ramping), 0, 1, "MinAtar: games grow harder as they go on"},
    {"minimal_actions", CM_ENV_FLAG, AT(minimal_actions), 0, 1, "MinAtar: only the actions that do something"},
    {"frame_stack", CM_ENV_INT, AT(frame_stack), 1, CM_ENV_MAX_FRAMES,
     "Newest frames that an observation is a stack of"},
    {"picture_size", CM_ENV_INT, AT(picture_size), 8, 160, "Atari: pixels of a side of a picture"},
    {"picture_gray", CM_ENV_FLAG, AT(picture_gray), 0, 1, "Atari: pictures of one channel"},
    {"full_actions", CM_ENV_FLAG, AT(full_actions), 0, 1, "Atari: all 18 actions"},
    {"life_ends", CM_ENV_FLAG, AT(life_ends), 0, 1, "Atari: in training a lost life ends the episode"},
    {"clip_rewards", CM_ENV_FLAG, AT(clip_rewards), 0, 1, "Atari: in training rewards are their signs"},
};

const cm_env_option *cm_env_option_list(int *count) {
    *count = CM_ENV_OPTION_COUNT;
    return options;
}

cm_env_params cm_env_params_default(void) {
    cm_env_params params;
    memset(&params, 0, sizeof params);
    params.komi = 7.5;
    params.timeout = 60.0;
    params.low = params.high = params.x_init = params.y_init = params.sticky_actions = (double)NAN;
    params.ramping = params.life_ends = params.clip_rewards = true;
    return params;
}

double cm_env_params_get(const cm_env_params *params, int row) {
    const char *from = (const char *)params + options[row].offset;
    int number;
    bool flag;
    double value = 0.0;
    if (options[row].kind == CM_ENV_REAL) memcpy(&value, from, sizeof value);
    if (options[row].kind == CM_ENV_INT) memcpy(&number, from, sizeof number), value = number;
    if (options[row].kind == CM_ENV_FLAG) memcpy(&flag, from, sizeof flag), value = flag;
    return value;
}

static const char *option_name(const void *rows, int i) { return ((const cm_env_option *)rows)[i].name; }

cm_status cm_env_params_set(cm_env_params *params, const char *option, double value) {
    const cm_env_option *row = NULL;
    for (int i = 0; i < CM_ENV_OPTION_COUNT; i++) {
        if (strcmp(options[i].name, option) == 0) row = &options[i];
    }
    if (!row) {
        int nearest = cm_nearest_name(option, options, CM_ENV_OPTION_COUNT, option_name);
        if (nearest < 0) return cm_fail(CM_ERR_INPUT, "%s: no environment has such an option", option);
        const char *near = option_name(options, nearest);
        return cm_fail(CM_ERR_INPUT, "%s: no environment has such an option; the nearest one is %s", option, near);
    }
    bool whole = value == floor(value) || row->kind == CM_ENV_REAL;
    if (!(value >= row->min && value <= row->max) || !whole) {
        return cm_fail(CM_ERR_INPUT, "%s: must be %s in [%g, %g], got %g", option,
                       row->kind == CM_ENV_REAL ? "a number" : "an integer", row->min, row->max, value);
    }
    char *to = (char *)params + row->offset;
    int number = (int)value;
    bool flag = value != 0.0;
    if (row->kind == CM_ENV_INT) memcpy(to, &number, sizeof number);
    if (row->kind == CM_ENV_REAL) memcpy(to, &value, sizeof value);
    if (row->kind == CM_ENV_FLAG) memcpy(to, &flag, sizeof flag);
    return CM_OK;
}
