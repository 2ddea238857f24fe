#include "run/configuration.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/env.h"
#include "run/learner.h"
#include "run/progress.h"

#define TABLE(module, rows_, count_)                                                                                   \
    { .rows = rows_, .count = count_, .base = offsetof(cm_configuration, module) }

/* --- presets and what follows from other keys --- */

/* Sets `member` to `value` if `key` is of lower precedence than the key it follows from. */
#define FOLLOW(config, leader, key, member, value, because)                                                            \
    do {                                                                                                               \
        if (cm_config_source_of(config, key) < cm_config_source_of(config, leader) && (member) != (value)) {           \
            (member) = (value);                                                                                        \
            cm_config_derive(config, key, because);                                                                    \
        }                                                                                                              \
    } while (0)

/* A preset sets what it changes, but for what is given with the same precedence or a higher one, and, where it is only
 * the default that a file repeats, for what the task asks for. */
static void apply_preset(cm_config *config, cm_network_options *network) {
    static const char *const because[] = {"preset none", "preset plain", "preset small"};
    const cm_config_source source = cm_config_source_of(config, "preset");
    cm_network_options wanted = *network;
    cm_network_options_apply(&wanted, (cm_network_preset)network->preset);
    for (int i = 0; i < cm_network_option_count; i++) {
        const cm_option *row = &cm_network_option_rows[i];
        char *member = (char *)network + row->offset;
        const char *value = (const char *)&wanted + row->offset;
        if (memcmp(member, value, row->size) == 0 || cm_config_source_of(config, row->key) >= source) continue;
        if (cm_config_is_open(config, "preset") && cm_config_is_suggested(config, row->key)) continue;
        memcpy(member, value, row->size);
        cm_config_derive(config, row->key, because[network->preset]);
    }
}

/* The presets are networks of family mlp; the original's heads are scalar. */
static void apply_family(cm_config *config, cm_network_options *network) {
    if (network->family == CM_FAMILY_MLP) return;
    bool cumind = network->family == CM_FAMILY_CUMIND;
    char why[32];
    snprintf(why, sizeof why, "family %s", cm_network_family_names[network->family]);
    FOLLOW(config, "family", "preset", network->preset, CM_PRESET_NONE, why);
    if (!cumind) return;
    FOLLOW(config, "family", "value_support_size", network->value_support_size, 1, why);
    FOLLOW(config, "family", "reward_support_size", network->reward_support_size, 1, why);
}

static void switch_off(cm_config *config, const char *key, bool *member, const char *because) {
    if (!*member) return;
    *member = false;
    cm_config_derive(config, key, because);
}

static void apply_ema(cm_config *config, cm_trainer_options *trainer) {
    if (trainer->ema_decay > 0.0) return;
    switch_off(config, "ema_acts", &trainer->ema_acts, "ema_decay 0");
    switch_off(config, "ema_evaluates", &trainer->ema_evaluates, "ema_decay 0");
    switch_off(config, "ema_bootstraps", &trainer->ema_bootstraps, "ema_decay 0");
}

/* A length that is given where the goal is not is meant: the run goes on to it. So it does where a file limits its
 * time, as that of a run whose last process had --time. What stands next to it on the command line is meant, too. */
static void apply_length(cm_config *config, cm_run_options *run, const char *key, int64_t length) {
    if (length <= 0) return;
    if (cm_config_source_of(config, "stop_at_goal") <= CM_FROM_FILE)
        FOLLOW(config, key, "stop_at_goal", run->stop_at_goal, false, key);
    if (cm_config_source_of(config, "time_limit") <= CM_FROM_FILE)
        FOLLOW(config, key, "time_limit", run->time_limit, 0.0, key);
}

/* What ends the run otherwise gives way to a time that the command line gives alone. */
static void prefer_time(cm_config *config, const char *key, int64_t *length) {
    if (cm_config_source_of(config, key) >= CM_FROM_SET || *length == 0) return;
    *length = 0;
    cm_config_derive(config, key, "time_limit");
}

void cm_configuration_prefer_time(cm_config *config, cm_configuration *c) {
    cm_run_options *run = &c->run;
    const bool has_length = cm_config_source_of(config, "env_steps") >= CM_FROM_SET ||
                            cm_config_source_of(config, "updates") >= CM_FROM_SET ||
                            cm_config_source_of(config, "num_episodes") >= CM_FROM_SET;
    if (run->time_limit <= 0.0 || cm_config_source_of(config, "time_limit") < CM_FROM_SET || has_length) return;
    prefer_time(config, "env_steps", &run->env_steps);
    prefer_time(config, "updates", &run->updates);
    prefer_time(config, "num_episodes", &run->num_episodes);
    FOLLOW(config, "time_limit", "stop_at_goal", run->stop_at_goal, false, "time_limit");
}

static void apply_limits(cm_config *config, cm_run_options *run) {
    apply_length(config, run, "num_episodes", run->num_episodes);
    apply_length(config, run, "updates", run->updates);
    apply_length(config, run, "env_steps", run->env_steps);
}

/* A run finds its environment from whatever folder it is gone on with in. */
static void apply_path(cm_env_options *env) {
    char path[PATH_MAX];
    if (cm_env_is_file(env->env_name) && realpath(env->env_name, path) && strlen(path) < sizeof env->env_name)
        memcpy(env->env_name, path, strlen(path) + 1);
}

/* Single positions are trained: there is nothing to unroll. */
static void apply_policy(cm_config *config, cm_configuration *c) {
    if (c->mcts.policy != CM_MCTS_ALPHAZERO) return;
    FOLLOW(config, "policy", "num_unroll_steps", c->replay.num_unroll_steps, 0, "policy alphazero");
}

/* Offline: the run ends by updates, and policies are reanalysed where searches can begin at observations. */
static void apply_collect(cm_config *config, cm_configuration *c) {
    if (c->agent.collect) return;
    FOLLOW(config, "collect", "env_steps", c->run.env_steps, 0, "collect false");
    FOLLOW(config, "collect", "num_episodes", c->run.num_episodes, 0, "collect false");
    FOLLOW(config, "collect", "checkpoint_interval", c->run.checkpoint_interval, 0, "collect false");
    if (c->mcts.policy == CM_MCTS_ALPHAZERO) return;
    FOLLOW(config, "collect", "reanalyse_ratio", c->agent.reanalyse_ratio, 1.0, "collect false");
}

/* Offline, evaluations come after as many updates as acting so many steps would bring. */
static void apply_evaluation(cm_config *config, cm_configuration *c) {
    cm_run_options *run = &c->run;
    if (c->agent.collect || run->evaluation_interval == 0) return;
    if (run->evaluation_updates == 0) {
        const double iterations = (double)run->evaluation_interval / cm_run_learner_iteration_steps(c);
        run->evaluation_updates = (int64_t)fmin(ceil(iterations * (double)cm_run_learner_round(c)), 0x1p53);
        cm_config_derive(config, "evaluation_updates", "collect false");
    }
    run->evaluation_interval = 0;
    cm_config_derive(config, "evaluation_interval", "collect false");
}

/* A support of which nothing is given, nor suggested, is widened to what the task needs where that is known
 * (run/session.h). */
static bool support_fits(const cm_config *config, const char *const keys[3]) {
    for (int i = 0; i < 3; i++)
        if (cm_config_source_of(config, keys[i]) != CM_FROM_DEFAULT || cm_config_is_suggested(config, keys[i]))
            return false;
    return true;
}

static void apply_supports(const cm_config *config, cm_configuration *c) {
    cm_network_options *n = &c->network;
    static const char *const value[] = {"value_support_min", "value_support_max", "value_support_size"};
    static const char *const reward[] = {"reward_support_min", "reward_support_max", "reward_support_size"};
    const bool is_fixed = n->preset == CM_PRESET_PLAIN; /* the network of comparisons */
    n->fits_value_support = !is_fixed && n->value_support_size > 1 && support_fits(config, value);
    n->fits_reward_support =
        !is_fixed && n->reward_support_size > 1 && c->mcts.policy != CM_MCTS_ALPHAZERO && support_fits(config, reward);
}

/* --- checks between keys --- */

static cm_status check_rules(const cm_config *config, const cm_configuration *c) {
    const cm_network_options *n = &c->network;
    const cm_trainer_options *t = &c->trainer;
    const cm_mcts_options *s = &c->mcts;
    const cm_env_options *e = &c->env;
    const cm_replay_options *m = &c->replay;
    const cm_agent_options *a = &c->agent;
    const cm_run_options *r = &c->run;
#define REFUSE(when, key, ...)                                                                                         \
    if (when) return cm_config_fail(config, #key, __VA_ARGS__);
#include "run/configuration_rules.def"
#undef REFUSE
    return CM_OK;
}

/* --- keys without effect, for reasons that their own module does not know --- */

static bool is_offline(const cm_configuration *c) { return !c->agent.collect; }
static bool has_no_dynamics(const cm_configuration *c) { return c->mcts.policy == CM_MCTS_ALPHAZERO; }
static bool is_gumbel(const cm_configuration *c) { return cm_mcts_is_gumbel(&c->mcts); }
static bool has_no_chance(const cm_configuration *c) { return c->mcts.policy != CM_MCTS_STOCHASTIC_MUZERO; }
static bool learns_no_codes(const cm_configuration *c) { return !has_no_chance(c) && c->network.chance_codes == 0; }
static bool has_no_consistency(const cm_configuration *c) { return c->trainer.consistency_weight <= 0.0; }

static const struct {
    bool (*when)(const cm_configuration *c);
    const char *why, *leader; /* of a key with less precedence than the leader, as one of a file, it is not said */
    const char *keys[12];
} idle[] = {
    {is_offline,
     "the run is offline (collect is false)",
     "collect",
     {"temperature", "temperature_schedule", "temperature_threshold", "overlap", "random_move_probability",
      "random_first_steps", "extra_updates", "min_memory_steps", "min_memory_size", "min_memory_pct"}},
    {has_no_dynamics,
     "policy alphazero learns no dynamics",
     NULL,
     {"reward_weight", "unroll_scale", "hidden_gradient_scale", "hidden_gradient_form", "residual_dynamics",
      "action_encoding", "action_embedding", "reward_support_min", "reward_support_max", "reward_support_size"}},
    {is_gumbel,
     "selection by gumbel plays what its halving leaves, at no temperature",
     NULL,
     {"temperature", "temperature_schedule", "temperature_threshold"}},
    {has_no_chance,
     "only policy stochastic_muzero has chance codes",
     NULL,
     {"chance_codes", "chance_weight", "commitment_weight"}},
    {learns_no_codes, "chance_codes is 0: no codes are learnt", NULL, {"commitment_weight"}},
    {has_no_consistency,
     "consistency_weight is 0",
     NULL,
     {"consistency_hidden", "consistency_output", "consistency_predictor"}},
};

static void warn_of_idle(const cm_config *config, const cm_configuration *c) {
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        const char *leader = idle[i].leader;
        for (const char *const *key = idle[i].keys; idle[i].when(c) && *key; key++)
            if (!leader || cm_config_source_of(config, *key) >= cm_config_source_of(config, leader))
                cm_config_warn_key(config, *key, idle[i].why);
    }
}

/* --- what is legal and cannot work --- */

static void warn_of_search(const cm_config *config, const cm_configuration *c) {
    if (c->mcts.policy != CM_MCTS_ALPHAZERO && c->replay.num_unroll_steps == 0)
        cm_config_warn(config, "num_unroll_steps",
                       "0 trains no dynamics, and the search plans with them: set 1 or more");
    if (cm_mcts_is_gumbel(&c->mcts)) return;
    if (c->mcts.num_simulations == 1)
        cm_config_warn(config, "num_simulations",
                       "1 visits one action of the root, so that the policy has nothing to learn: set 2 or more, or "
                       "policy gumbel_muzero");
    if (c->agent.collect && c->agent.temperature <= 0.0 && c->mcts.exploration_fraction <= 0.0 &&
        c->agent.random_move_probability <= 0.0)
        cm_config_warn(config, "temperature",
                       "self-play never tries anything new: temperature, exploration_fraction and "
                       "random_move_probability are 0");
}

/* A GPU takes a batch as one chunk, unless chunk_rows is set. */
static void warn_of_lone_row(const cm_config *config, const cm_configuration *c) {
    const int batch = c->trainer.batch_size, rows = c->trainer.chunk_rows, chunk = rows > 0 ? rows : CM_CHUNK_ROWS;
    const bool is_whole = rows == 0 && c->run.backend == CM_BACKEND_CUDA;
    if (c->network.family != CM_FAMILY_MLP || c->network.norm != CM_NORM_BATCH || is_whole) return;
    if (chunk == 1 || batch % chunk == 1)
        cm_config_warn(config, rows > 0 ? "chunk_rows" : "batch_size",
                       "a batch of %d in chunks of %d%s leaves one row alone, of which a batch norm makes zeros: set "
                       "another batch_size or chunk_rows",
                       batch, chunk, rows > 0 ? "" : ", as on a CPU,");
}

static void warn_of_learning(const cm_config *config, const cm_configuration *c) {
    const int64_t plan = cm_run_learner_plan(c), warmup = c->trainer.warmup_steps;
    if (c->replay.memory_steps > 0 && c->trainer.batch_size > c->replay.memory_steps)
        cm_config_warn(config, "batch_size", "%d is more than the %lld positions that the memory holds (memory_steps)",
                       c->trainer.batch_size, (long long)c->replay.memory_steps);
    warn_of_lone_row(config, c);
    const bool is_of_batches = c->agent.reanalyse == CM_REANALYSE_BATCH;
    if (is_of_batches && c->agent.reanalyse_ratio > 0.0 && c->agent.reanalyse_ratio * c->trainer.batch_size < 1.0)
        cm_config_warn(config, "reanalyse_ratio",
                       "%g of a batch of %d is less than one position: nothing is reanalysed", c->agent.reanalyse_ratio,
                       c->trainer.batch_size);
    if (warmup >= plan && cm_config_is_chosen(config, "warmup_steps"))
        cm_config_warn(config, "warmup_steps",
                       "the run makes about %lld updates, so that the learning rate never gets to learning_rate",
                       (long long)plan);
    const double memory = 1.0 / (1.0 - c->trainer.ema_decay); /* of the average, in updates */
    if (c->trainer.ema_decay > 0.0 && memory >= (double)plan && cm_config_is_chosen(config, "ema_decay"))
        cm_config_warn(config, "ema_decay",
                       "is an average over the last %.0f updates, but the run makes about %lld: it hardly moves",
                       memory, (long long)plan);
}

/* Steps from one update to the next; false where replay_ratio does not decide that. */
static bool format_pace(const cm_configuration *c, char out[16]) {
    if (c->trainer.updates_per_iteration > 0 || c->trainer.replay_ratio <= 0.0) return false;
    cm_format_count(1.0 / cm_run_learner_rate(c), out);
    return true;
}

/* A run whose length is not given in steps goes on until updates are made. */
static void warn_of_rare_updates(const cm_config *config, const cm_configuration *c) {
    const double rarest = 0.01; /* positions trained per new step: nearly all that is played is never drawn */
    char pace[16], all[16], limit[64] = "";
    if (!c->agent.collect || c->run.env_steps > 0 || c->trainer.replay_ratio >= rarest || !format_pace(c, pace)) return;
    if (c->run.updates > 0) {
        cm_format_count((double)c->run.updates / cm_run_learner_rate(c), all);
        snprintf(limit, sizeof limit, ", and the %lld of this run take %s", (long long)c->run.updates, all);
    }
    cm_config_warn(config, "replay_ratio",
                   "%g makes an update every %s steps%s: raise it (1 trains as many positions as are played)",
                   c->trainer.replay_ratio, pace, limit);
}

/* A run whose length is given in steps. */
static void warn_of_length(const cm_config *config, const cm_configuration *c) {
    const int64_t steps = c->run.env_steps, iteration = (int64_t)c->env.num_envs * c->agent.steps_per_iteration;
    char pace[16];
    if (steps == 0) return;
    const int64_t played = (steps + iteration - 1) / iteration * iteration;
    if (c->replay.min_memory_steps >= played && cm_config_is_chosen(config, "min_memory_steps"))
        cm_config_warn(config, "min_memory_steps", "nothing will be learnt: the run ends after %lld steps",
                       (long long)played);
    const int64_t learning = (played - c->replay.min_memory_steps + iteration - 1) / iteration * iteration;
    if (learning > 0 && (double)learning * cm_run_learner_rate(c) < 1.0 && format_pace(c, pace))
        cm_config_warn(config, "replay_ratio",
                       "nothing will be learnt: %g makes an update every %s steps, and the run ends after %lld: "
                       "raise it",
                       c->trainer.replay_ratio, pace, (long long)played);
    const char *key = cm_config_is_chosen(config, "num_envs") ? "num_envs" : "steps_per_iteration";
    if (iteration > steps && cm_config_is_chosen(config, key))
        cm_config_warn(
            config, key,
            "%d environments act %d steps each before anything is learnt, which is longer than the run: %lld",
            c->env.num_envs, c->agent.steps_per_iteration, (long long)steps);
}

/* --- the whole --- */

cm_status cm_configuration_create(cm_configuration *configuration, cm_config **config) {
    const cm_option_table tables[] = {
        TABLE(network, cm_network_option_rows, cm_network_option_count),
        TABLE(trainer, cm_trainer_option_rows, cm_trainer_option_count),
        TABLE(mcts, cm_mcts_option_rows, cm_mcts_option_count),
        TABLE(env, cm_env_option_rows, cm_env_option_count),
        TABLE(replay, cm_replay_option_rows, cm_replay_option_count),
        TABLE(agent, cm_agent_option_rows, cm_agent_option_count),
        TABLE(run, cm_run_option_rows, cm_run_option_count),
    };
    *configuration = (cm_configuration){0};
    return cm_config_create(tables, sizeof tables / sizeof *tables, configuration, config);
}

cm_status cm_configuration_finish(cm_config *config, cm_configuration *configuration) {
    apply_preset(config, &configuration->network);
    apply_family(config, &configuration->network);
    apply_supports(config, configuration);
    apply_ema(config, &configuration->trainer);
    apply_policy(config, configuration);
    apply_collect(config, configuration);
    apply_path(&configuration->env);
    cm_config_resolve_groups(config);
    apply_evaluation(config, configuration);
    apply_limits(config, &configuration->run);
    CM_TRY(check_rules(config, configuration));
    cm_config_warn_idle(config);
    cm_config_warn_unusual(config);
    warn_of_idle(config, configuration);
    warn_of_search(config, configuration);
    warn_of_learning(config, configuration);
    warn_of_rare_updates(config, configuration);
    warn_of_length(config, configuration);
    return CM_OK;
}

static cm_status load(cm_config *config, const char *path, const char *const *assignments, int count) {
    if (path) CM_TRY(cm_config_read(config, path));
    for (int i = 0; i < count; i++) CM_TRY(cm_config_set(config, assignments[i]));
    return CM_OK;
}

cm_status cm_configuration_load(const char *path, const char *const *assignments, int count,
                                cm_configuration *configuration, cm_config **config) {
    CM_TRY(cm_configuration_create(configuration, config));
    cm_status status = load(*config, path, assignments, count);
    if (status == CM_OK) status = cm_configuration_finish(*config, configuration);
    if (status == CM_OK) return CM_OK;
    cm_config_destroy(*config);
    *config = NULL;
    return status;
}
