#include "agent/options.h"

#define SECTION "Self-Play"
#define MOST    1e12 /* updates or steps */
#define OPTIONS cm_agent_options

static const char *unless_it_acts(const void *o) {
    return ((const cm_agent_options *)o)->collect ? NULL : "collect is false";
}

static const char *if_no_random_moves(const void *o) {
    return ((const cm_agent_options *)o)->random_move_probability > 0.0 ? NULL : "random_move_probability is 0";
}

static bool is_buffer(const void *o) { return ((const cm_agent_options *)o)->reanalyse == CM_REANALYSE_BUFFER; }

static const char *unless_of_batches(const void *o) { return is_buffer(o) ? "reanalyse is buffer" : NULL; }

static const char *unless_reanalysed(const void *o) {
    return is_buffer(o) || ((const cm_agent_options *)o)->reanalyse_ratio > 0.0 ? NULL : "reanalyse_ratio is 0";
}

static const char *unless_mixed(const void *o) {
    return ((const cm_agent_options *)o)->mixed_value_updates > 0 ? NULL : "mixed_value_updates is 0";
}

const cm_option cm_agent_option_rows[] = {
    CM_OPTION(BOOL, collect, SECTION, "true", 0, 0,
              "Act in the environment. false: learn from the games that a new run begins with (train --replay-from) "
              "and from nothing else, which is called offline or unplugged."),
    CM_OPTION(
        ENUM, acting_dtype, SECTION, "same", 0, 0,
        "Precision of matrix work in self-play. same: model_dtype. int8: dense layers and convolutions in 8 bits, "
        "while learning, reanalysis and evaluation stay in model_dtype. Ranges are measured on the memory after "
        "iterations 1, 2, 4, 8 and every 16th, or are those of training with quantization=qat; before the first one "
        "it is same.",
        .choices = "same|int8", .flags = CM_OPTION_RESUME, .idle = unless_it_acts),
    CM_OPTION(INT, steps_per_iteration, SECTION, "8", 1, 1048576,
              "Steps that every environment acts before the next round of learning.", .sweep = {2, 64}),
    CM_OPTION(DOUBLE, temperature, SECTION, "1", 0, 100,
              "Moves are drawn from visits ^ (1 / temperature) while training; 0: always the most visited.",
              .sweep = {0.25, 1.5}, .usual = {0, 2}),
    CM_OPTION(ENUM, temperature_schedule, SECTION, "constant", 0, 0,
              "stairs: the temperature is halved after 50 % and again after 75 % of the run.",
              .choices = "constant|stairs"),
    CM_OPTION(INT, temperature_threshold, SECTION, "0", 0, 1048576,
              "Moves of an episode after which the most visited move is played; 0: never."),
    CM_OPTION(DOUBLE, random_move_probability, SECTION, "0", 0, 1,
              "Probability that a uniformly random legal move is played in place of the search's."),
    CM_OPTION(DOUBLE, random_move_end, SECTION, "0", 0, 1,
              "Share of the run after which there are no random moves; their probability falls linearly to 0 until "
              "then. 0: it is constant.",
              .idle = if_no_random_moves),
    CM_OPTION(INT, random_move_steps, SECTION, "1", 1, 1024,
              "Steps for which a random move is repeated: random pushes that last reach goals that jitter never does.",
              .idle = if_no_random_moves),
    CM_OPTION(
        INT64, random_first_steps, SECTION, "0", 0, 9007199254740992.0,
        "Steps at the start of the run, of all environments together, whose moves are uniformly random legal ones "
        "(EfficientZero: 2000). Searches are made all the same, for the targets; 0: none."),
    CM_OPTION(
        ENUM, reanalyse, SECTION, "batch", 0, 0,
        "What is reanalysed. batch: the positions of every batch (reanalyse_ratio). buffer: every position of "
        "the memory, once with every copy of the weights (target_update_frequency); batches look up its policies, "
        "and its network values for their bootstraps.",
        .choices = "batch|buffer"),
    CM_OPTION(DOUBLE, reanalyse_ratio, SECTION, "0", 0, 1,
              "Share of every batch whose policy targets are reanalysed by the network as it is now; 0: they stay as "
              "they were played. Costs a search per position and unrolled step.",
              .sweep = {0, 1}, .idle = unless_of_batches),
    CM_OPTION(BOOL, reanalyse_noise, SECTION, "true", 0, 0, "These searches have root noise, like those of self-play.",
              .idle = unless_reanalysed),
    CM_OPTION(INT64, mixed_value_updates, SECTION, "0", 0, MOST,
              "Updates after which the value targets of old positions are the values of these searches, in place of "
              "n-step returns, as in EfficientZero V2 (30,000); 0: never.",
              .idle = unless_reanalysed),
    CM_OPTION(INT64, mixed_value_steps, SECTION, "5000", 0, MOST,
              "Steps of all environments that must have followed a position for it to be old.", .idle = unless_mixed),
    CM_OPTION(INT, evaluation_simulations, SECTION, "25", 0, 65536,
              "Simulations per move in evaluation and play; never fewer than num_simulations.",
              .flags = CM_OPTION_RESUME),
};
const int cm_agent_option_count = sizeof cm_agent_option_rows / sizeof *cm_agent_option_rows;
