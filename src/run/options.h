/* What belongs to a run as a whole: limits, checkpoints, evaluation, precision, device, threads, seed. */
#ifndef CM_RUN_OPTIONS_H
#define CM_RUN_OPTIONS_H

#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_overlap { CM_OVERLAP_AUTO, CM_OVERLAP_OFF, CM_OVERLAP_ON } cm_overlap;
typedef enum cm_model_dtype { CM_MODEL_FLOAT32, CM_MODEL_FLOAT16, CM_MODEL_BFLOAT16 } cm_model_dtype;
typedef enum cm_action_dtype { CM_ACTIONS_INT32, CM_ACTIONS_INT64 } cm_action_dtype;
typedef enum cm_device_type {
    CM_DEVICE_TYPE_AUTO,
    CM_DEVICE_TYPE_CPU,
    CM_DEVICE_TYPE_GPU,
    CM_DEVICE_TYPE_TPU
} cm_device_type;
typedef enum cm_backend_choice {
    CM_BACKEND_AUTO,
    CM_BACKEND_REF,
    CM_BACKEND_CPU,
    CM_BACKEND_CUDA,
    CM_BACKEND_CHOICES
} cm_backend_choice;

typedef struct cm_run_options {
    /* Training */
    int64_t num_episodes, updates,
        env_steps;               /* limits of the run, totals; 0: none of this kind. The first one met ends it */
    int64_t extra_updates;       /* after the last step of env_steps or num_episodes */
    double time_limit;           /* seconds of this process, 0: none */
    int64_t checkpoint_interval; /* finished episodes, 0: none of this kind */
    int64_t checkpoint_updates;  /* updates, 0: none of this kind */
    int keep_checkpoints;        /* newest ones, the best evaluated is kept besides */
    char checkpoint_root_dir[CM_OPTION_TEXT]; /* where run directories are made */
    int overlap;                              /* cm_overlap */

    /* Evaluation */
    int64_t evaluation_interval;              /* env steps between evaluations during the run, 0: none of this kind */
    int64_t evaluation_updates;               /* updates between them, 0: none of this kind */
    int evaluation_episodes;                  /* of each of these */
    int final_evaluation_episodes;            /* of the report at the end; 0: none */
    int evaluation_gifs;                      /* newest evaluations whose first episode is kept as a picture; 0: none */
    char evaluation_opponent[CM_OPTION_TEXT]; /* games of two: "random", "mcts:N" or "perfect" (arena/opponent.h) */
    bool stop_at_goal;                        /* end when an evaluation reaches the goal and a second one confirms it */
    double goal_return;                       /* NaN: the environment's threshold */

    /* Data Types, Device, Logging, Other */
    int model_dtype;      /* cm_model_dtype */
    int action_dtype;     /* cm_action_dtype */
    int target_dtype;     /* cm_model_dtype */
    int device_type;      /* cm_device_type */
    int backend;          /* cm_backend_choice */
    int threads;          /* 0: as many as the process may use */
    int64_t memory_limit; /* bytes that the run may plan for on host and device each, 0: what is there */
    bool auto_fit;        /* batches may be divided where memory does not suffice */
    double rank_timeout;  /* seconds from a rank's last sign of life to the end of the run */
    int rank_bucket_kib;  /* least piece of gradients that is summed over ranks concurrent with the backward pass */
    int64_t rank_check_updates; /* updates between comparisons of the ranks' parameters, 0: none */
    int log_level;              /* cm_log_level */
    double log_interval;        /* seconds between progress lines that are not on a terminal */
    int metrics_interval;       /* iterations between lines of metrics.jsonl */
    bool tensorboard;           /* event files in the run's folder */
    int64_t histogram_interval; /* updates between histograms in them, 0: none */
    bool monitor;               /* monitor.csv in the run's folder */
    int64_t seed;
} cm_run_options;

/* Whether a run is evaluated on the way to its end. */
static inline bool cm_run_is_evaluated(const cm_run_options *options) {
    return options->evaluation_interval > 0 || options->evaluation_updates > 0;
}

extern const cm_option cm_run_option_rows[];
extern const int cm_run_option_count;

#ifdef __cplusplus
}
#endif
#endif
