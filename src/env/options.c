#include "env/options.h"

#include "env/atari.h"
#include "env/env.h"
#include "env/python.h"

#define SECTION "Environment"
#define OPTIONS cm_env_options

/* NULL if the environment reads the option of this bit, or is unknown. */
static const char *unless_read(const void *options, unsigned bit) {
    const cm_env_options *o = options;
    cm_env_params params = cm_env_params_default();
    cm_env env;
    static const char unread[] = "env_name has no such option";
    if (cm_env_is_atari(o->env_name)) return CM_ATARI_OPTIONS & bit ? NULL : unread; /* without a process of its own */
    params.timeout = o->env_timeout;
    if (cm_env_open(&env, o->env_name, &params) != CM_OK) return NULL;
    if (env.def->options & bit) return NULL;
    const char *name = o->env_name;
    return cm_env_is_library(name) ? "the library of env_name reads no such option: its row's .options does not name it"
                                   : unread;
}

#define IDLE(name, bit)                                                                                                \
    static const char *name(const void *options) { return unless_read(options, bit); }
IDLE(unless_size, CM_ENV_SIZE)
IDLE(unless_rows, CM_ENV_ROWS)
IDLE(unless_columns, CM_ENV_COLUMNS)
IDLE(unless_action_bins, CM_ENV_ACTION_BINS)
IDLE(unless_max_steps, CM_ENV_MAX_STEPS)
IDLE(unless_komi, CM_ENV_KOMI)
IDLE(unless_swap, CM_ENV_SWAP)
IDLE(unless_exactly_five, CM_ENV_EXACTLY_FIVE)
IDLE(unless_sutton_barto, CM_ENV_SUTTON_BARTO)
IDLE(unless_sticky_actions, CM_ENV_STICKY_ACTIONS)
IDLE(unless_ramping, CM_ENV_RAMPING)
IDLE(unless_minimal_actions, CM_ENV_MINIMAL_ACTIONS)
IDLE(unless_picture_size, CM_ENV_PICTURE_SIZE)
IDLE(unless_picture_gray, CM_ENV_PICTURE_GRAY)
IDLE(unless_full_actions, CM_ENV_FULL_ACTIONS)
IDLE(unless_life_ends, CM_ENV_LIFE_ENDS)
IDLE(unless_clip_rewards, CM_ENV_CLIP_REWARDS)
IDLE(unless_low, CM_ENV_LOW)
IDLE(unless_high, CM_ENV_HIGH)
IDLE(unless_x_init, CM_ENV_X_INIT)
IDLE(unless_y_init, CM_ENV_Y_INIT)
IDLE(unless_goal_velocity, CM_ENV_GOAL_VELOCITY)

static const char *unless_python(const void *options) {
    const bool is_python = cm_env_is_python(((const cm_env_options *)options)->env_name);
    return is_python ? NULL : "env_name is not written in Python, and other code cannot be interrupted";
}

const cm_option cm_env_option_rows[] = {
    CM_OPTION(STRING, env_name, SECTION, "CartPole-v1", 1, 0,
              "What is played; cumind environments lists the names. The path of a file of your own, ./grid.so (a "
              "library in C) or ./grid.py, is an environment, too, gymnasium:LunarLander-v3 one that Python's "
              "gymnasium knows, and atari:Pong a game that Python's ale-py brings (docs/ADDING_AN_ENVIRONMENT.md).",
              .alias = "env|environment|env_id|game|task"),
    CM_OPTION(INT, action_space_size, SECTION, "0", 0, CM_ENV_MAX_COMBINATIONS,
              "Number of actions; 0: as the environment says. Another number than the environment's is an error."),
    CM_OPTION(SHAPE, observation_shape, SECTION, "[]", 1, 65536,
              "Shape of an observation, [features] or [height, width, channels]; empty: as the environment says. "
              "Another shape than the environment's is an error."),
    CM_OPTION(INT, num_envs, SECTION, "32", 1, 65536, "Environments that are played at once, over all ranks.",
              .sweep = {4, 128}, .alias = "n_envs|envs|num_actors"),
    CM_OPTION(INT, board_size, SECTION, "0", 0, 19,
              "Size of the board of hex, go and gomoku, number of axes of glide; 0: that of env_name (\"go9\").",
              .idle = unless_size),
    CM_OPTION(INT, rows, SECTION, "0", 0, 64, "Rows of catch; 0: 10.", .idle = unless_rows),
    CM_OPTION(INT, columns, SECTION, "0", 0, 64, "Columns of catch; 0: 5.", .idle = unless_columns),
    CM_OPTION(INT, action_bins, SECTION, "0", 0, 1001,
              "Values that each number of a continuous action is divided into; 0: the environment's own, 11 in those "
              "that are built in, fewer in glide of three axes and more.",
              .idle = unless_action_bins),
    CM_OPTION(INT, max_steps, SECTION, "0", 0, 10000000,
              "Steps after which an episode is truncated; 0: the environment's.", .idle = unless_max_steps),
    CM_OPTION(DOUBLE, env_timeout, SECTION, "60", 0, 86400,
              "Seconds that the import, a reset or a step of an environment in Python may take; what takes longer has "
              "its process ended, and the run ends, saved. 0: any.",
              .flags = CM_OPTION_RESUME, .idle = unless_python),
    CM_OPTION(BOOL, reusable, SECTION, "true", 0, 0,
              "Objects of an environment in Python play one episode after another; false: each plays one, for a reset "
              "that leaves something of the last episode. A task that is played before its run, as it has no recipe, "
              "gets false by itself where its random steps ask for that.",
              .idle = unless_python),
    CM_OPTION(DOUBLE, komi, SECTION, "7.5", -400, 400, "Points that White gets in go.", .idle = unless_komi),
    CM_OPTION(BOOL, swap, SECTION, "false", 0, 0, "The second player of hex may take over the first stone.",
              .idle = unless_swap),
    CM_OPTION(BOOL, exactly_five, SECTION, "false", 0, 0, "Six or more in a row do not win gomoku.",
              .idle = unless_exactly_five),
    CM_OPTION(BOOL, sutton_barto_reward, SECTION, "false", 0, 0,
              "CartPole: reward 0, and -1 when the pole falls, in place of 1 on every step.",
              .idle = unless_sutton_barto),
    CM_OPTION(DOUBLE, sticky_actions, SECTION, "null", 0, 1,
              "MinAtar, Atari: probability that the action before is carried out in place of the one that is chosen, "
              "in Atari "
              "for each frame; null: 0.1 in MinAtar, 0 in Atari.",
              .flags = CM_OPTION_NULL, .idle = unless_sticky_actions),
    CM_OPTION(BOOL, ramping, SECTION, "true", 0, 0,
              "MinAtar: Asterix, Seaquest and Space Invaders grow harder as they go on.", .idle = unless_ramping),
    CM_OPTION(BOOL, minimal_actions, SECTION, "false", 0, 0,
              "MinAtar: only the actions that do something, in place of all six.", .idle = unless_minimal_actions),
    CM_OPTION(INT, frame_stack, SECTION, "0", 0, CM_ENV_MAX_FRAMES,
              "Newest frames that an observation shows, along its channels, the oldest first, for tasks of one player "
              "without chance; the memory keeps each frame once. 0: as the environment says, else 1."),
    CM_OPTION(INT, picture_size, SECTION, "0", 0, 160, "Atari: pixels of a side of a picture; 0: 96.",
              .idle = unless_picture_size),
    CM_OPTION(BOOL, picture_gray, SECTION, "false", 0, 0, "Atari: gray pictures in place of red, green and blue.",
              .idle = unless_picture_gray),
    CM_OPTION(BOOL, full_actions, SECTION, "false", 0, 0,
              "Atari: all 18 actions in place of those that do something in the game.", .idle = unless_full_actions),
    CM_OPTION(BOOL, life_ends, SECTION, "true", 0, 0,
              "Atari: in training a lost life ends the episode, and the next one goes on from there; evaluations play "
              "whole games.",
              .idle = unless_life_ends),
    CM_OPTION(BOOL, clip_rewards, SECTION, "true", 0, 0,
              "Atari: in training rewards are their signs, -1, 0 or 1; evaluations count points.",
              .idle = unless_clip_rewards),
    CM_OPTION(DOUBLE, reset_low, SECTION, "null", -100, 100,
              "CartPole, Acrobot, MountainCar: lower bound of the random start; null: the environment's.",
              .flags = CM_OPTION_NULL, .idle = unless_low),
    CM_OPTION(DOUBLE, reset_high, SECTION, "null", -100, 100, "Upper bound of the random start.",
              .flags = CM_OPTION_NULL, .idle = unless_high),
    CM_OPTION(DOUBLE, x_init, SECTION, "null", 0, 100, "Pendulum: largest angle of the random start.",
              .flags = CM_OPTION_NULL, .idle = unless_x_init),
    CM_OPTION(DOUBLE, y_init, SECTION, "null", 0, 8, "Pendulum: largest angular velocity of the random start.",
              .flags = CM_OPTION_NULL, .idle = unless_y_init),
    CM_OPTION(DOUBLE, goal_velocity, SECTION, "0", 0, 0.07, "MountainCar: velocity needed at the goal.",
              .idle = unless_goal_velocity),
};
const int cm_env_option_count = sizeof cm_env_option_rows / sizeof *cm_env_option_rows;
