/* Section "Environment": which environment, how many of it, and what may be chosen about it. */
#ifndef CM_ENV_OPTIONS_H
#define CM_ENV_OPTIONS_H

#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_env_options {
    char env_name[CM_OPTION_TEXT];
    int action_space_size;             /* 0: the environment's; else it must be equal to it */
    cm_option_shape observation_shape; /* rank 0: the environment's; else it must be equal to it */
    int num_envs;                      /* E of the whole run */
    int board_size;                    /* hex, go, gomoku, glide; 0: that of the name */
    int rows, columns;                 /* catch; 0: the environment's */
    int action_bins;                   /* continuous tasks; 0: the environment's */
    int max_steps;                     /* 0: the environment's limit */
    bool reusable;                     /* in Python: an object plays one episode after another */
    double env_timeout;                /* seconds of a call of an environment in Python; 0: any */
    double komi;                       /* go */
    bool swap;                         /* hex */
    bool exactly_five;                 /* gomoku */
    bool sutton_barto_reward;          /* CartPole */
    double sticky_actions;             /* MinAtar, Atari; NaN: the environment's */
    bool ramping, minimal_actions;     /* MinAtar */
    int frame_stack;                   /* frames in an observation; 0: the environment's, or 1 */
    int picture_size;                  /* Atari; 0: 96 */
    bool picture_gray, full_actions;   /* Atari */
    bool life_ends, clip_rewards;      /* Atari, in training */
    double reset_low, reset_high;      /* bounds of the uniform reset; NaN: the environment's */
    double x_init, y_init;             /* Pendulum; NaN: the environment's */
    double goal_velocity;              /* MountainCar */
} cm_env_options;

extern const cm_option cm_env_option_rows[];
extern const int cm_env_option_count;

#ifdef __cplusplus
}
#endif
#endif
