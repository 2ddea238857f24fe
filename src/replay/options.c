#include "replay/options.h"

#define OPTIONS cm_replay_options
#define MAX_INT 9007199254740992.0

static const char *unless_prioritized(const void *options) {
    return ((const cm_replay_options *)options)->prioritized ? NULL
                                                             : "prioritized is false: positions are drawn uniformly";
}

static const char *unless_file(const void *options) {
    return ((const cm_replay_options *)options)->memory_store < CM_MEMORY_FILE
               ? "memory_store is ram or compressed: there is no file"
               : NULL;
}

const cm_option cm_replay_option_rows[] = {
    CM_OPTION(INT, num_unroll_steps, "Self-Play", "3", 0, 64, "Steps that the model is unrolled in training (K).",
              .sweep = {1, 8}),
    CM_OPTION(INT, td_steps, "Self-Play", "30", 1, 1048576,
              "Rewards in a value target before it bootstraps (n); more than an episode has: the final result.",
              .sweep = {1, 50}, .alias = "n_step|n_steps"),
    CM_OPTION(DOUBLE, discount, "Self-Play", "0.997", 0, 1, "Weight of a reward one step later (gamma).",
              .sweep = {0.9, 0.999}, .usual = {0.8, 1}, .alias = "gamma"),

    CM_OPTION(INT, memory_capacity, "Memory", "0", 0, 2147483647,
              "Episodes that are kept, the oldest go first; 0: no limit of this kind.", .group = "memory"),
    CM_OPTION(INT, min_memory_size, "Memory", "0", 0, 2147483647, "Finished episodes that the first update waits for.",
              .group = "ready"),
    CM_OPTION(DOUBLE, min_memory_pct, "Memory", "0", 0, 1,
              "Fraction of memory_capacity that the first update waits for.", .group = "ready"),
    CM_OPTION(DOUBLE, per_alpha, "Memory", "0.6", 0, 10,
              "How much priorities count when positions are drawn; 0: not at all.", .sweep = {0.1, 1}, .usual = {0, 2},
              .idle = unless_prioritized),
    CM_OPTION(DOUBLE, per_epsilon, "Memory", "1e-06", 0, 1, "Added to every priority.", .idle = unless_prioritized),
    CM_OPTION(DOUBLE, per_beta, "Memory", "0.4", 0, 1,
              "How much the weights make up for priorities at the start of a run.", .sweep = {0.1, 1},
              .idle = unless_prioritized),
    CM_OPTION(INT64, memory_steps, "Memory", "5000", 0, MAX_INT,
              "So many of the newest steps are drawn, older ones are not; 0: no limit of this kind. An episode of more "
              "than memory_steps / num_envs steps, and than 1000, is kept in segments.",
              .sweep = {1000, 100000}, .group = "memory", .alias = "buffer_size|replay_size|memory_size"),
    CM_OPTION(INT64, memory_bytes, "Memory", "0", 0, MAX_INT,
              "Bytes that the memory may take, over all ranks; 0: what memory_steps or memory_capacity need."),
    CM_OPTION(
        ENUM, memory_store, "Memory", "ram", 0, 0,
        "Where observations of the memory lie: ram; compressed, in RAM, each by zstd, with a quarter of the space: of "
        "those that shrink less fewer steps are kept; file, without a name and gone with the process, which the "
        "system's page cache keeps in memory as far as there is some; auto: the first of these by which the whole "
        "memory takes at most 80 % of what there is, or of memory_limit. Changes no result, unless memory_bytes, or "
        "the space of compressed ones, limits the memory.",
        .choices = "ram|compressed|file|auto", .flags = CM_OPTION_RESUME),
    CM_OPTION(STRING, memory_path, "Memory", "", 0, 0,
              "Folder of that file, on a disk of this machine; empty: the run's.", .flags = CM_OPTION_RESUME,
              .idle = unless_file),
    CM_OPTION(INT64, min_memory_steps, "Memory", "1000", 0, MAX_INT,
              "Steps that the first update waits for; those that can be drawn count: all of finished episodes, and all "
              "but the last td_steps of each under way, or with memory_capacity none of it. A memory that is full with "
              "fewer is learnt from all the same; so with the episodes of the other keys.",
              .group = "ready"),
    CM_OPTION(BOOL, prioritized, "Memory", "false", 0, 0,
              "Draw positions by their last error in value, corrected by weights, in place of uniformly."),
    CM_OPTION(DOUBLE, per_beta_final, "Memory", "1", 0, 1, "What per_beta rises to, linearly, at the end of the run.",
              .idle = unless_prioritized),
    CM_OPTION(DOUBLE, per_weight_min, "Memory", "0", 0, 1,
              "Smallest weight of a position, whose largest in a batch is 1 (EfficientZero V2: 0.1); 0: as they come.",
              .idle = unless_prioritized),
    CM_OPTION(INT, prefetch_depth, "Memory", "4", 0, 64,
              "Batches that threads of their own prepare ahead; 0: none. Changes no result.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(INT, prefetch_threads, "Memory", "0", 0, 64,
              "Threads that prepare them, each a batch; 0: one, for a GPU up to four. Changes no result.",
              .flags = CM_OPTION_RESUME),
    CM_OPTION(BOOL, symmetries, "Memory", "true", 0, 0,
              "Show every sample in a random symmetry of the board, where the environment has any."),
    CM_OPTION(INT, augmentation_shift, "Memory", "0", 0, 64,
              "Learning sees every picture shifted by random offsets of so many pixels at most, its borders repeated "
              "(EfficientZero: 4); what states are compared with is shifted by other ones. 0: none.",
              .usual = {0, 8}),
    CM_OPTION(DOUBLE, augmentation_intensity, "Memory", "0", 0, 0.5,
              "And multiplied by 1 + this times a normal number within -2 .. 2 (EfficientZero: 0.05); 0: not at all."),
    CM_OPTION(DOUBLE, policy_smoothing, "Memory", "0", 0, 1, "Share of the uniform distribution in policy targets.",
              .usual = {0, 0.5}),
    CM_OPTION(INT64, td_interval, "Memory", "0", 0, MAX_INT,
              "td_steps shrinks by one for every so many steps of age, down to 1; 0: never."),
};
const int cm_replay_option_count = sizeof cm_replay_option_rows / sizeof *cm_replay_option_rows;
