#include "run/task_defaults.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- conditions ---- */

/* Nothing, or hardly anything, is paid to random play, and nothing tells a step that is good from one that is not. */
static bool is_sparse(const cm_env_spec *spec, const cm_env_survey *seen) {
    const int few = 20; /* one step in so many */
    return spec->players == 1 && seen->paid * few < seen->steps;
}

/* The same, where equal moves lead to different places: what one episode met says little of the next. */
static bool is_sparse_by_chance(const cm_env_spec *spec, const cm_env_survey *seen) {
    return seen->has_chance && is_sparse(spec, seen);
}

/* Every step costs, and random play hardly ever gets to the end that saves the rest. */
static bool is_long_toll(const cm_env_spec *spec, const cm_env_survey *seen) {
    const int few = 100;
    return spec->players == 1 && seen->kinds < CM_ENV_SURVEY_KINDS && seen->ends * few < seen->steps &&
           seen->paid == seen->steps && seen->kind[0] < 0.0;
}

/* The same, where states are a list. */
static bool is_listed_toll(const cm_env_spec *spec, const cm_env_survey *seen) {
    return seen->is_onehot && is_long_toll(spec, seen);
}

static bool is_long_listed_toll(const cm_env_spec *spec, const cm_env_survey *seen) {
    const int many = 100;
    return spec->observation_size >= many && is_listed_toll(spec, seen);
}

static bool is_worn(const cm_env_spec *spec, const cm_env_survey *seen) {
    (void)spec;
    return seen->is_worn;
}

bool cm_task_is_picture(const cm_env_spec *spec) {
    const int least = 10;
    return spec->rank == 3 && spec->cells == 0 && spec->shape[0] >= least && spec->shape[1] >= least;
}

static bool is_picture(const cm_env_spec *spec, const cm_env_survey *seen) {
    (void)seen;
    return cm_task_is_picture(spec);
}

/* ---- rows ---- */

static const cm_task_row rows[] = {
    {"resets leave something of the last episode", is_worn, false, {{"reusable", "false"}}},
    {"observations are pictures", is_picture, true, {{"family", "resnet"}, {"preset", "none"}}},
    {"rewards are rare",
     is_sparse,
     false,
     {{"policy", "gumbel_muzero"},  {"env_steps", NULL},          {"td_steps", "50"},
      {"discount", NULL},           {"value_support_min", NULL},  {"value_support_max", NULL},
      {"reward_support_min", NULL}, {"reward_support_max", NULL}, {"value_transform", "false"},
      {"value_weight", "0.25"},     {"prioritized", "true"},      {"random_move_probability", "0.1"},
      {"random_move_steps", "1"},   {"random_move_end", "0.7"},   {"rescale_values", "false"},
      {"value_scale", NULL},        {"num_simulations", "16"},    {"evaluation_simulations", "16"},
      {"num_unroll_steps", "5"},    {"hidden_dim", "64"},         {"learning_rate", "0.001"},
      {"memory_steps", "60000"},    {"replay_ratio", "16"},       {"evaluation_interval", "10000"},
      {"evaluation_episodes", "50"}}},
    {"chance decides where moves lead",
     is_sparse_by_chance,
     false,
     {{"env_steps", NULL},
      {"max_depth", "1"},
      {"policy_smoothing", "0.1"},
      {"td_steps", "3"},
      {"discount", "0.995"},
      {"value_weight", "1"},
      {"prioritized", "false"},
      {"random_move_probability", "0.2"},
      {"random_move_end", "0"},
      {"rescale_values", "true"},
      {"value_scale", "0.1"},
      {"qtransform_epsilon", NULL},
      {"num_simulations", "8"},
      {"evaluation_simulations", "8"},
      {"num_unroll_steps", "3"},
      {"ema_decay", "0.99"},
      {"num_envs", "64"},
      {"memory_steps", "30000"},
      {"replay_ratio", "8"},
      {"evaluation_interval", "30000"},
      {"evaluation_episodes", NULL},
      {"final_evaluation_episodes", NULL}}},
    {"every step costs until an end that is hard to meet",
     is_long_toll,
     false,
     {{"policy", "gumbel_muzero"},
      {"env_steps", "200000"},
      {"td_steps", "100"},
      {"discount", "0.99"},
      {"random_move_probability", "0.03"},
      {"random_move_steps", "30"},
      {"random_move_end", "0.6"},
      {"memory_steps", "100000"},
      {"replay_ratio", "8"},
      {"evaluation_interval", "10000"}}},
    {"states are a list",
     is_listed_toll,
     false,
     {{"max_steps", NULL},
      {"env_steps", "40000"},
      {"td_steps", "20"},
      {"random_move_probability", "0.2"},
      {"random_move_steps", "8"},
      {"random_move_end", "0"},
      {"num_simulations", "16"},
      {"num_unroll_steps", "5"},
      {"memory_steps", "30000"},
      {"evaluation_interval", "5000"}}},
    {"of hundreds",
     is_long_listed_toll,
     false,
     {{"policy", "muzero"},
      {"env_steps", "400000"},
      {"td_steps", "3"},
      {"random_move_probability", "0.5"},
      {"random_move_steps", "1"},
      {"random_move_end", "0.7"},
      {"evaluation_simulations", "16"},
      {"num_unroll_steps", "3"},
      {"hidden_dim", "64"},
      {"learning_rate", "0.001"},
      {"num_envs", "64"},
      {"memory_steps", "50000"},
      {"evaluation_interval", "25000"}}},
};

const cm_task_row *cm_task_rows(int *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

/* ---- the whole ---- */

/* What a task has for a key whose row leaves it open; "", as `text` is at first: nothing. */
typedef void writer(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]);

/* Of a size; 1 stands for one not met. A reward may be the larger the sooner it is reached: what random play met has
 * space to the next power of ten. */
static double largest_reward(const cm_env_survey *seen) {
    const double largest = fmax(-seen->reward_low, seen->reward_high), barely = 1e-6;
    return largest > 0.0 ? pow(10.0, ceil(log10(largest) - barely)) : 1.0;
}

/* A limit on steps is for tasks that have hardly one: a list of states has no shorter way of more steps than states, of
 * which there are as many as numbers. */
static void write_limit(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    enum { HARDLY = 10000, WAYS = 10 };
    const int limit = WAYS * spec->observation_size;
    (void)key, (void)seen;
    if (spec->max_steps >= HARDLY && limit <= HARDLY) snprintf(text, 16, "%d", limit);
}

/* A discount weighs a fifth of the longest episode. */
static void write_discount(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    const double reach = fmax(20.0, spec->max_steps / 5.0);
    (void)key, (void)seen;
    snprintf(text, 16, "%.3g", fmin(0.997, 1.0 - 1.0 / reach));
}

/* Values that are not rescaled count as those of a task do whose largest reward is 1. */
static void write_value_scale(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    (void)key, (void)spec;
    snprintf(text, 16, "%.3g", fmin(1000.0, 0.5 / largest_reward(seen)));
}

/* Before the first reward values differ by noise, on which policies settle where it is rescaled to the full. Where
 * random play meets rewards there is hardly a time before them. */
static void write_epsilon(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    (void)key, (void)spec;
    if (seen->paid == 0) snprintf(text, 16, "%.3g", 0.01 * largest_reward(seen));
}

/* Supports reach as far as the largest reward, which where it ends the episode is the largest return, too. */
static void write_support(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    const bool is_value = strncmp(key, "value", 5) == 0, is_min = strstr(key, "_min") != NULL;
    const double reach = largest_reward(seen) * (is_value && seen->paid_within > 0 ? 4.0 : 1.0);
    (void)spec;
    snprintf(text, 16, "%.8g", is_min ? -reach : reach);
}

/* Rare rewards, and more so what chance brings, take the longer to learn the longer episodes are. */
static void write_length(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    const bool chance = seen->has_chance;
    const double episodes = chance ? 3000.0 : 600.0, least = chance ? 300000.0 : 60000.0,
                 most = chance ? 600000.0 : 200000.0;
    (void)key;
    snprintf(text, 16, "%.0f", fmax(least, fmin(most, episodes * spec->max_steps)));
}

/* A mean over chance asks for more episodes than are usual: as many as can be had in some steps. */
static void write_episodes(const char *key, const cm_env_spec *spec, const cm_env_survey *seen, char text[16]) {
    const bool is_final = strncmp(key, "final", 5) == 0;
    const int least = is_final ? 100 : 20, most = is_final ? 1000 : 100, steps = is_final ? 100000 : 10000;
    const int count = spec->max_steps > 0 ? steps / spec->max_steps : least;
    (void)seen;
    snprintf(text, 16, "%d", count < least ? least : count > most ? most : count);
}

static const struct {
    const char *key;
    writer *write;
} by_task[] = {
    {"env_steps", write_length},
    {"max_steps", write_limit},
    {"discount", write_discount},
    {"value_scale", write_value_scale},
    {"qtransform_epsilon", write_epsilon},
    {"value_support_min", write_support},
    {"value_support_max", write_support},
    {"reward_support_min", write_support},
    {"reward_support_max", write_support},
    {"evaluation_episodes", write_episodes},
    {"final_evaluation_episodes", write_episodes},
};

/* What is to be set; "": nothing. */
static const char *value_of(const cm_task_setting *setting, const cm_env_spec *spec, const cm_env_survey *seen,
                            char text[16]) {
    if (setting->value) return setting->value;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof by_task / sizeof *by_task; i++)
        if (strcmp(by_task[i].key, setting->key) == 0) by_task[i].write(setting->key, spec, seen, text);
    return text;
}

static size_t append(char *text, size_t used, const char *format, const char *a, const char *b) {
    const int n = snprintf(text + used, CM_TASK_LINE - used, format, a, b);
    return used + (size_t)n < CM_TASK_LINE ? used + (size_t)n : CM_TASK_LINE - 1;
}

/* Whether none of the keys were given of a row. */
static bool is_open(const cm_task_row *row, const cm_config *config) {
    for (const cm_task_setting *s = row->settings; s->key; s++)
        if (!cm_config_is_open(config, s->key)) return false;
    return true;
}

/* Whether a later row that fits has another value for a key. */
static bool is_overruled(const bool *fits, int row, const char *key) {
    for (int r = row + 1; r < (int)(sizeof rows / sizeof *rows); r++)
        for (const cm_task_setting *s = rows[r].settings; fits[r] && s->key; s++)
            if (strcmp(s->key, key) == 0) return true;
    return false;
}

void cm_task_defaults_apply(const cm_env_spec *spec, const cm_env_survey *seen, cm_config *config,
                            char why[CM_TASK_LINE]) {
    enum { ROWS = sizeof rows / sizeof *rows, TOLD = 4 };
    bool fits[ROWS];
    size_t used = 0;
    int taken = 0;
    why[0] = '\0';
    for (int r = 0; r < ROWS; r++) {
        fits[r] = rows[r].asks_spec ? rows[r].fits(spec, seen) && is_open(&rows[r], config)
                                    : seen && rows[r].fits(spec, seen);
        if (fits[r]) used = append(why, used, "%s%s", used > 0 ? ", " : "", rows[r].what);
    }
    for (int r = 0; r < ROWS; r++)
        for (const cm_task_setting *s = rows[r].settings; fits[r] && s->key; s++) {
            char text[16];
            const char *value = value_of(s, spec, seen, text);
            if (!*value || is_overruled(fits, r, s->key)) continue;
            if (!cm_config_suggest(config, s->key, value, rows[r].what)) continue;
            if (taken++ == 0) used = append(why, used, "%s%s", ":", "");
            if (taken <= TOLD) used = append(why, used, " %s=%s", s->key, value);
        }
    if (taken <= TOLD) return;
    snprintf(why + used, CM_TASK_LINE - used, ", and %d more (cumind config --env NAME)", taken - TOLD);
}
