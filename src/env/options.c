#include "env/options.h"

#define SECTION "Environment"
#define OPTIONS cm_env_options

const cm_option cm_env_option_rows[] = {
    CM_OPTION(STRING, env_name, SECTION, "CartPole-v1", 1, 0, "What is played."),
    CM_OPTION(INT, action_space_size, SECTION, "0", 0, 1024,
              "Number of actions; 0: as the environment says. Another number than the environment's is an error."),
    CM_OPTION(
        SHAPE, observation_shape, SECTION, "[]", 1, 65536,
        "Shape of an observation, [features] or [height, width, channels]; empty: as the environment says. Another "
        "shape than the environment's is an error."),
    CM_OPTION(INT, num_envs, SECTION, "32", 1, 65536, "Environments that are played at once, over all ranks."),
    CM_OPTION(INT, board_size, SECTION, "0", 0, 64, "Board size of hex, go and gomoku; 0: that of env_name (\"go9\")."),
    CM_OPTION(INT, rows, SECTION, "0", 0, 64, "Rows of catch; 0: 10."),
    CM_OPTION(INT, columns, SECTION, "0", 0, 64, "Columns of catch; 0: 5."),
    CM_OPTION(INT, action_bins, SECTION, "11", 2, 1001, "Values that a continuous action is divided into."),
    CM_OPTION(INT, max_steps, SECTION, "0", 0, 10000000,
              "Steps after which an episode is truncated; 0: the environment's."),
    CM_OPTION(DOUBLE, komi, SECTION, "7.5", -400, 400, "Points that White gets in go."),
    CM_OPTION(BOOL, swap, SECTION, "false", 0, 0, "The second player of hex may take over the first stone."),
    CM_OPTION(BOOL, exactly_five, SECTION, "false", 0, 0, "Six or more in a row do not win gomoku."),
    CM_OPTION(BOOL, sutton_barto_reward, SECTION, "false", 0, 0,
              "CartPole: reward 0, and -1 when the pole falls, in place of 1 on every step."),
    CM_OPTION(DOUBLE, reset_low, SECTION, "null", -1000, 1000,
              "CartPole, Acrobot, MountainCar: lower bound of the random start; null: the environment's.",
              .flags = CM_OPTION_NULL),
    CM_OPTION(DOUBLE, reset_high, SECTION, "null", -1000, 1000, "Upper bound of the random start.",
              .flags = CM_OPTION_NULL),
    CM_OPTION(DOUBLE, x_init, SECTION, "null", 0, 1000, "Pendulum: largest angle of the random start.",
              .flags = CM_OPTION_NULL),
    CM_OPTION(DOUBLE, y_init, SECTION, "null", 0, 1000, "Pendulum: largest angular velocity of the random start.",
              .flags = CM_OPTION_NULL),
    CM_OPTION(DOUBLE, goal_velocity, SECTION, "0", -1000, 1000, "MountainCar: velocity needed at the goal."),
};
const int cm_env_option_count = sizeof cm_env_option_rows / sizeof *cm_env_option_rows;
