#include "trainer/options.h"

#define SECTION "Training"
#define OPTIONS cm_trainer_options
#define MAX_INT 9007199254740992.0

static const cm_trainer_options *of(const void *options) { return options; }

static const char *unless_momentum(const void *o) {
    const bool used = of(o)->optimizer == CM_OPTIMIZER_SGD || of(o)->optimizer == CM_OPTIMIZER_MUON;
    return used ? NULL : "only the optimizers sgd and muon use it";
}
static const char *if_sgd(const void *o) {
    return of(o)->optimizer == CM_OPTIMIZER_SGD ? "optimizer sgd does not use it" : NULL;
}
static const char *unless_cosine(const void *o) {
    return of(o)->schedule == CM_RATE_COSINE ? NULL : "only schedule cosine uses it";
}

static const char *unless_decaying(const void *o) {
    bool used = of(o)->schedule == CM_RATE_STEP || of(o)->schedule == CM_RATE_EXPONENTIAL;
    return used ? NULL : "only the schedules step and exponential use it";
}

static const char *unless_planned(const void *o) {
    bool used = of(o)->schedule == CM_RATE_PIECEWISE || of(o)->schedule == CM_RATE_COSINE;
    return used ? NULL : "only the schedules piecewise and cosine use it";
}

static const char *if_no_ema(const void *o) {
    return of(o)->ema_decay > 0.0 ? NULL : "ema_decay is 0: no average is kept";
}

static const char *if_other_ratio(const void *o) {
    return of(o)->replay_ratio > 0.0 || of(o)->updates_per_iteration > 0
               ? "replay_ratio or updates_per_iteration is set: they decide how much is learnt"
               : NULL;
}

static const char *if_fixed_updates(const void *o) {
    return of(o)->updates_per_iteration > 0 ? "updates_per_iteration is set: it decides how much is learnt" : NULL;
}

static const char *if_no_hidden_scale(const void *o) {
    return of(o)->hidden_gradient_form == CM_HIDDEN_NONE ? "hidden_gradient_form is none" : NULL;
}

const cm_option cm_trainer_option_rows[] = {
    CM_OPTION(INT, batch_size, SECTION, "128", 1, 1048576, "Positions in one update, over all ranks.",
              .sweep = {32, 512}, .alias = "batch"),
    CM_OPTION(DOUBLE, learning_rate, SECTION, "0.003", 1e-12, 1, "Learning rate after the warm-up.",
              .sweep = {0.0001, 0.03}, .usual = {1e-6, 0.3}, .flags = CM_OPTION_RESUME, .alias = "lr"),
    CM_OPTION(DOUBLE, weight_decay, SECTION, "0.0001", 0, 10, "Decoupled decay with adamw, coupled with adam and sgd.",
              .sweep = {1e-06, 0.01}, .usual = {0, 0.1}, .flags = CM_OPTION_RESUME, .alias = "wd|l2"),
    CM_OPTION(INT64, target_update_frequency, SECTION, "0", 0, MAX_INT,
              "Updates between copies of the parameters to a target network, which then gives the bootstrap values; 0: "
              "no target network.",
              .group = "bootstrap"),
    CM_OPTION(INT, train_frequency, SECTION, "0", 0, 1000000000,
              "One update per so many finished episodes; 0: replay_ratio or updates_per_iteration decide.",
              .group = "ratio", .idle = if_other_ratio),
    CM_OPTION(INT, chunk_rows, SECTION, "0", 0, 65536,
              "Rows of a batch that one worker unrolls at a time; 0: 64 on a CPU, all on a GPU. Batch statistics are "
              "taken per chunk."),
    CM_OPTION(ENUM, recompute, SECTION, "none", 0, 0,
              "Planes between layers that are computed a second time in the backward pass instead of being kept "
              "(gradient checkpointing): none; blocks, those inside residual blocks; full, all but the states between "
              "unroll steps. Changes no result, but for rounding with 16 bits on a GPU. It is raised where memory does "
              "not suffice.",
              .choices = "none|blocks|full", .flags = CM_OPTION_RESUME),

    CM_OPTION(ENUM, optimizer, SECTION, "adamw", 0, 0,
              "The optimizer. muon: orthogonalised momentum for matrices, adamw for the rest.",
              .choices = "adamw|adam|sgd|muon"),
    CM_OPTION(ENUM, decay_on, SECTION, "all", 0, 0,
              "What decays: all parameters, or only the weights of layers (no biases, no norms).",
              .choices = "all|weights"),
    CM_OPTION(DOUBLE, clip_norm, SECTION, "5", 0, 1e9,
              "Largest norm of a gradient; a larger one is scaled down. 0: none.", .sweep = {0.5, 20},
              .flags = CM_OPTION_RESUME),
    CM_OPTION(DOUBLE, momentum, SECTION, "0.9", 0, 0.999999, "Momentum.", .usual = {0, 0.999}, .idle = unless_momentum),
    CM_OPTION(DOUBLE, beta1, SECTION, "0.9", 0, 0.999999, "Decay of the mean of gradients.", .usual = {0, 0.99},
              .idle = if_sgd),
    CM_OPTION(DOUBLE, beta2, SECTION, "0.999", 0, 0.99999999, "Decay of the mean of squared gradients.",
              .usual = {0.9, 0.99999}, .idle = if_sgd),
    CM_OPTION(DOUBLE, adam_epsilon, SECTION, "1e-08", 1e-30, 1, "Added to the root of the mean squared gradient.",
              .usual = {1e-15, 0.01}, .idle = if_sgd),
    CM_OPTION(INT, gradient_accumulation, SECTION, "1", 1, 65536,
              "Batches whose gradients are averaged for one update."),
    CM_OPTION(DOUBLE, loss_scale, SECTION, "65536", 1, 16777216,
              "With model_dtype float16: what gradients are multiplied by at first, a power of two, so that small ones "
              "are not lost. An update whose gradient is not finite is skipped, and the scale halves."),
    CM_OPTION(INT, loss_scale_growth_interval, SECTION, "2000", 0, 16777216,
              "With model_dtype float16: updates without such a gradient until the scale doubles; 0: it never does.",
              .flags = CM_OPTION_RESUME),

    CM_OPTION(ENUM, schedule, SECTION, "cosine", 0, 0, "How the learning rate goes on after the warm-up.",
              .choices = "constant|step|exponential|piecewise|cosine", .flags = CM_OPTION_RESUME),
    CM_OPTION(INT64, warmup_steps, SECTION, "50", 0, MAX_INT, "Updates over which the learning rate rises from 0.",
              .sweep = {1, 1000}, .flags = CM_OPTION_RESUME),
    CM_OPTION(DOUBLE, final_learning_rate, SECTION, "6e-05", 0, 1, "Learning rate at the end of the cosine.",
              .usual = {0, 0.3}, .flags = CM_OPTION_RESUME, .idle = unless_cosine),
    CM_OPTION(DOUBLE, decay_rate, SECTION, "0.1", 1e-9, 1, "Factor per decay_steps.", .flags = CM_OPTION_RESUME,
              .idle = unless_decaying),
    CM_OPTION(INT64, decay_steps, SECTION, "100000", 1, MAX_INT, "Updates per factor decay_rate.",
              .flags = CM_OPTION_RESUME, .idle = unless_decaying),
    CM_OPTION(INT64, schedule_steps, SECTION, "0", 0, MAX_INT,
              "Updates that the schedule lasts after the warm-up; 0: to the end of the run.", .flags = CM_OPTION_RESUME,
              .idle = unless_planned),

#define CM_LOSS_WEIGHT(key, standard, ...) CM_OPTION(DOUBLE, key, SECTION, standard, 0, 1e6, __VA_ARGS__),
#include "trainer/losses.def"
    CM_OPTION(DOUBLE, entropy_weight, SECTION, "0", 0, 1e6, "Weight of the bonus for the entropy of the policy.",
              .sweep = {0.0001, 0.1}, .usual = {0, 1}),
    CM_OPTION(ENUM, policy_loss, SECTION, "ce", 0, 0,
              "Cross-entropy, or Kullback-Leibler divergence: the same gradient.", .choices = "ce|kl"),
    CM_OPTION(BOOL, mask_illegal, SECTION, "false", 0, 0, "Leave illegal actions out of the policy loss."),
    CM_OPTION(ENUM, unroll_scale, SECTION, "paper", 0, 0,
              "Weight of the terms of unrolled steps: paper 1/K, whole 1/K on all terms, cumind 1/(K+1) on value and "
              "policy and 1/K on reward, none 1.",
              .choices = "paper|whole|cumind|none"),
    CM_OPTION(DOUBLE, hidden_gradient_scale, SECTION, "1", 0, 1,
              "Factor on the gradient between unrolled steps; 0.5 in the paper.", .idle = if_no_hidden_scale),
    CM_OPTION(
        ENUM, hidden_gradient_form, SECTION, "paper", 0, 0,
        "Where that factor acts: paper, on the way into the next step; hook, on the whole gradient of a state; none.",
        .choices = "paper|hook|none"),

    CM_OPTION(DOUBLE, ema_decay, SECTION, "0.98", 0, 0.9999999,
              "Decay per update of a moving average of the parameters; 0: none is kept.", .sweep = {0.9, 0.999}),
    CM_OPTION(BOOL, ema_acts, SECTION, "true", 0, 0, "Self-play uses the average.", .idle = if_no_ema),
    CM_OPTION(BOOL, ema_evaluates, SECTION, "true", 0, 0, "Evaluation uses the average.", .idle = if_no_ema),
    CM_OPTION(BOOL, ema_bootstraps, SECTION, "true", 0, 0,
              "Bootstrap values come from the average, found when a batch is learnt from. Without it and without a "
              "target network they are the values that the search found.",
              .group = "bootstrap", .idle = if_no_ema),

    CM_OPTION(DOUBLE, replay_ratio, SECTION, "32", 0, 1e6,
              "Positions trained per new step; 0: updates_per_iteration or train_frequency decide.", .sweep = {4, 64},
              .group = "ratio", .idle = if_fixed_updates),
    CM_OPTION(INT, updates_per_iteration, SECTION, "0", 0, 1000000,
              "Updates after every iteration of acting; 0: replay_ratio or train_frequency decide.", .group = "ratio"),
};
const int cm_trainer_option_count = sizeof cm_trainer_option_rows / sizeof *cm_trainer_option_rows;
