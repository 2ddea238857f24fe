#include "run/options.h"

#define OPTIONS cm_run_options
#define MAX_INT 9007199254740992.0

static const cm_run_options *of(const void *options) { return options; }

static const char *if_no_goal(const void *o) {
    return of(o)->stop_at_goal ? NULL : "the run goes on to its length: --set stop_at_goal=true ends it at the goal";
}
static const char *if_not_evaluated(const void *o) {
    return cm_run_is_evaluated(o) ? NULL : "evaluation_interval and evaluation_updates are 0";
}

static const char *if_never_at_goal(const void *o) { return of(o)->stop_at_goal ? if_not_evaluated(o) : NULL; }

static const char *if_acting_has_no_end(const void *o) {
    return of(o)->env_steps > 0 || of(o)->num_episodes > 0 ? NULL : "env_steps and num_episodes are 0";
}

static const char *if_no_events(const void *o) { return of(o)->tensorboard ? NULL : "tensorboard is false"; }

static const char *always_int32(const void *o) {
    return of(o)->action_dtype == CM_ACTIONS_INT32 ? NULL : "actions are always stored as 32-bit integers";
}

static const char *always_float32(const void *o) {
    return of(o)->target_dtype == CM_MODEL_FLOAT32 ? NULL : "targets are always stored as float32";
}

const cm_option cm_run_option_rows[] = {
    CM_OPTION(INT64, checkpoint_interval, "Training", "0", 0, MAX_INT,
              "Finished episodes between checkpoints; 0: none of this kind.", .flags = CM_OPTION_RESUME,
              .group = "checkpoint"),
    CM_OPTION(INT64, num_episodes, "Training", "0", 0, MAX_INT,
              "The run ends after so many episodes; 0: no such limit.", .flags = CM_OPTION_RESUME, .group = "limit",
              .alias = "episodes|n_episodes"),
    CM_OPTION(STRING, checkpoint_root_dir, "Training", "checkpoints", 1, 0, "Folder in which runs are kept.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT64, updates, "Training", "0", 0, MAX_INT, "The run ends after so many updates; 0: no such limit.",
              .flags = CM_OPTION_RESUME, .group = "limit", .alias = "training_steps|iterations|epochs"),
    CM_OPTION(INT64, env_steps, "Training", "15872", 0, MAX_INT,
              "The run ends after so many steps of all environments together; 0: no such limit.",
              .flags = CM_OPTION_RESUME, .group = "limit", .alias = "steps|total_steps|timesteps|total_timesteps"),
    CM_OPTION(
        INT64, extra_updates, "Training", "0", 0, MAX_INT,
        "Updates after the last step of env_steps or num_episodes, when no more is acted; schedules last to their "
        "end. EfficientZero makes 20,000 after 100,000; 0: none.",
        .flags = CM_OPTION_RESUME, .idle = if_acting_has_no_end),
    CM_OPTION(DOUBLE, time_limit, "Training", "0", 0, 1e9,
              "The run ends after so many seconds of a process: acting and learning early enough for the evaluations "
              "that end it, in the midst of an iteration, too; 0: no such limit. One in a file gives way to a length "
              "on the command line.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT64, checkpoint_updates, "Training", "1000", 0, MAX_INT,
              "Updates between checkpoints; 0: none of this kind. There is always one at the end.",
              .flags = CM_OPTION_RESUME, .group = "checkpoint"),
    CM_OPTION(INT, keep_checkpoints, "Training", "3", 1, 1000000,
              "Newest checkpoints that are kept; the best evaluated one is kept besides.", .flags = CM_OPTION_RESUME),
    CM_OPTION(ENUM, overlap, "Training", "auto", 0, 0,
              "Act for the next iteration while learning from this one, one version behind; auto: on a GPU.",
              .choices = "auto|off|on"),

    CM_OPTION(INT64, evaluation_interval, "Evaluation", "2048", 0, MAX_INT,
              "Environment steps between evaluations during the run; 0: none of this kind.", .flags = CM_OPTION_RESUME,
              .group = "evaluation"),
    CM_OPTION(INT64, evaluation_updates, "Evaluation", "0", 0, MAX_INT,
              "Updates between evaluations during the run; 0: none of this kind.", .flags = CM_OPTION_RESUME,
              .group = "evaluation"),
    CM_OPTION(INT, evaluation_episodes, "Evaluation", "20", 1, 1000000, "Episodes of such an evaluation.",
              .flags = CM_OPTION_RESUME, .idle = if_not_evaluated),
    CM_OPTION(INT, final_evaluation_episodes, "Evaluation", "100", 0, 1000000,
              "Greedy episodes of the report at the end of a run; 0: none.", .flags = CM_OPTION_RESUME),
    CM_OPTION(INT, evaluation_gifs, "Evaluation", "3", 0, 1000,
              "Newest evaluations during the run of which the first episode is kept as a moving picture, in the folder "
              "episodes of the run; that of the best one is kept besides. 0: none. Changes no result.",
              .flags = CM_OPTION_RESUME, .idle = if_not_evaluated),
    CM_OPTION(STRING, evaluation_opponent, "Evaluation", "random", 1, 0,
              "Whom the agent meets there in a game of two: random, mcts:N (plain tree search with N random rollouts "
              "per move) or perfect (games with a solver; it takes minutes for the first moves of Connect4)."),
    CM_OPTION(BOOL, stop_at_goal, "Evaluation", "true", 0, 0,
              "End the run when an evaluation reaches the goal and final_evaluation_episodes more confirm it, their 95 "
              "% interval above it. An environment without a goal runs to its limit, and so does a run whose length is "
              "given with more precedence than this; on the command line both count.",
              .flags = CM_OPTION_RESUME, .idle = if_never_at_goal),
    CM_OPTION(DOUBLE, goal_return, "Evaluation", "null", -1e12, 1e12,
              "Mean return that is the goal; null: the threshold of the environment.",
              .flags = CM_OPTION_RESUME | CM_OPTION_NULL, .idle = if_no_goal),

    CM_OPTION(ENUM, model_dtype, "Data Types", "float32", 0, 0,
              "Precision of matrix work: bfloat16 is faster where the processor has it; sums, losses and parameters "
              "stay in float32. float16, with dynamic loss scaling, is for GPUs.",
              .choices = "float32|float16|bfloat16"),
    CM_OPTION(ENUM, action_dtype, "Data Types", "int32", 0, 0, "Kept for CuMind's files; actions are stored as int32.",
              .choices = "int32|int64", .idle = always_int32),
    CM_OPTION(ENUM, target_dtype, "Data Types", "float32", 0, 0,
              "Kept for CuMind's files; targets are stored as float32.", .choices = "float32|float16|bfloat16",
              .idle = always_float32),

    CM_OPTION(ENUM, device_type, "Device", "auto", 0, 0,
              "auto takes a GPU if cumind can use one, else the CPU; gpu is CUDA; tpu is refused.",
              .choices = "auto|cpu|gpu|tpu", .flags = CM_OPTION_RESUME),
    CM_OPTION(ENUM, backend, "Device", "auto", 0, 0,
              "What does the arithmetic; auto follows device_type. ref is the slow reference implementation.",
              .choices = "auto|ref|cpu|cuda", .flags = CM_OPTION_RESUME, .alias = "device|gpu|cuda"),
    CM_OPTION(INT, threads, "Device", "0", 0, 1024,
              "Worker threads; 0: as many as the process may use; more take turns. Changes no result.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT64, memory_limit, "Device", "0", 0, MAX_INT,
              "Bytes that a run may plan for, of main memory and of a GPU's each; 0: what the machine has.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(BOOL, auto_fit, "Device", "false", 0, 0,
              "A new run whose plan needs more memory than there is has an update made of several smaller batches "
              "(batch_size, gradient_accumulation) instead of being refused; without it only recompute is raised. What "
              "is chosen is printed and saved with the run. Of one process.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(DOUBLE, rank_timeout, "Device", "60", 1, 86400,
              "Seconds from the last sign of life of a rank to the end of a run of several ranks; from 10 on it is "
              "kept also where a machine is cut off.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT, rank_bucket_kib, "Device", "1024", 0, 1 << 20,
              "Least size in KiB of the pieces in which gradients are summed over ranks while the backward pass goes "
              "on; 0: in one piece behind it. Changes no result.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT64, rank_check_updates, "Device", "1000", 0, MAX_INT,
              "Updates between comparisons of the parameters of all ranks, which must be equal; 0: none.",
              .flags = CM_OPTION_RESUME),

    CM_OPTION(ENUM, log_level, "Logging", "info", 0, 0, "Least important lines that are shown.",
              .choices = "debug|info|warning|error", .flags = CM_OPTION_RESUME),
    CM_OPTION(DOUBLE, log_interval, "Logging", "5", 0, 86400,
              "Seconds between progress lines when the output is no terminal.", .flags = CM_OPTION_RESUME),
    CM_OPTION(INT, metrics_interval, "Logging", "1", 1, 1000000,
              "Iterations between lines of metrics.jsonl; from the 8,192nd line on twice as many, from the 16,384th on "
              "four times, and so on.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(BOOL, tensorboard, "Logging", "true", 0, 0,
              "Write event files for TensorBoard into the folder tensorboard of the run: the numbers of metrics.jsonl, "
              "hyper-parameters, pictures. Changes no result.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT64, histogram_interval, "Logging", "0", 0, MAX_INT,
              "Updates between histograms of all weights and gradients in these event files; 0: none.",
              .flags = CM_OPTION_RESUME, .idle = if_no_events),
    CM_OPTION(
        BOOL, monitor, "Logging", "true", 0, 0,
        "Write monitor.csv: return, length and time of every episode of self-play, as Stable-Baselines3 writes it. "
        "Changes no result.",
        .flags = CM_OPTION_RESUME),

    CM_OPTION(INT64, seed, "Other", "42", 0, MAX_INT - 1, /* the next one could be read as this one */
              "All random numbers of a run follow from it: same configuration and seed, same run."),
};
const int cm_run_option_count = sizeof cm_run_option_rows / sizeof *cm_run_option_rows;
