/* The rows of the registry: one line per environment, in the order shown to users. */
#ifndef CM_ENV_ALL_H
#define CM_ENV_ALL_H

#include "env/env.h"

/* clang-format off */
#define CM_ENV_ALL                      \
    CM_ENV_ROW(cm_env_cartpole_v1)       \
    CM_ENV_ROW(cm_env_cartpole_v0)       \
    CM_ENV_ROW(cm_env_acrobot)           \
    CM_ENV_ROW(cm_env_mountain_car)      \
    CM_ENV_ROW(cm_env_mountain_car_continuous) \
    CM_ENV_ROW(cm_env_pendulum)          \
    CM_ENV_ROW(cm_env_glide)             \
    CM_ENV_ROW(cm_env_catch)             \
    CM_ENV_ROW(cm_env_tictactoe)         \
    CM_ENV_ROW(cm_env_connect4)          \
    CM_ENV_ROW(cm_env_othello)           \
    CM_ENV_ROW(cm_env_gomoku)            \
    CM_ENV_ROW(cm_env_hex)               \
    CM_ENV_ROW(cm_env_go)                \
    CM_ENV_ROW(cm_env_2048)
/* clang-format on */

#define CM_ENV_ROW(def) extern const cm_env_def def;
CM_ENV_ALL
#undef CM_ENV_ROW

#endif
