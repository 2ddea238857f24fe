/* What a run has fitted to its task, and what it warns of where values or rewards are more than its network can say. */
#include <math.h>
#include <stdio.h>

#include "core/log.h"
#include "run/run_internal.h"
#include "run/supports.h"

#define TAKE(section, key, why)                                                                                        \
    do {                                                                                                               \
        request->configuration->section.key = run->session->configuration.section.key;                                 \
        cm_config_derive(request->config, #key, why);                                                                  \
    } while (0)

static const char of_rewards[] = "the rewards of the task";

void cm_run_adopt_fitted(const cm_run *run, const cm_run_request *request) {
    const cm_network_options *fitted = &cm_run_options_of(run)->network;
    if (run->session->draws) TAKE(mcts, num_sampled_actions, "the number of actions");
    if (fitted->fits_value_support) {
        TAKE(network, value_support_min, of_rewards);
        TAKE(network, value_support_max, of_rewards);
        TAKE(network, value_support_size, of_rewards);
    }
    if (fitted->fits_reward_support) {
        TAKE(network, reward_support_min, of_rewards);
        TAKE(network, reward_support_max, of_rewards);
        TAKE(network, reward_support_size, of_rewards);
    }
}

void cm_run_say_fitted(const cm_run *run) {
    const cm_network_options *o = &cm_run_options_of(run)->network;
    if (run->session->draws)
        cm_progress_say(run->progress, "actions   %d, of which a search draws %d at every node (num_sampled_actions)",
                        run->session->env.spec.actions, run->session->configuration.mcts.num_sampled_actions);
    const bool values = o->fits_value_support, rewards = o->fits_reward_support;
    char value[96] = "", reward[96] = "";
    if (values)
        snprintf(value, sizeof value, "of values %.9g..%.9g, %d atoms", o->value_support_min, o->value_support_max,
                 o->value_support_size);
    if (rewards)
        snprintf(reward, sizeof reward, "of rewards %.9g..%.9g, %d atoms", o->reward_support_min, o->reward_support_max,
                 o->reward_support_size);
    if (values || rewards)
        cm_progress_detail(run->progress, "supports  %s%s%s", value, values && rewards ? "; " : "", reward);
}

static double largest_reward(const cm_run *run) {
    const cm_env_tried *seen = &run->session->tried;
    return fmax(run->reward_reach, fmax(-seen->reward_low, seen->reward_high));
}

/* Bootstrapped values still grow: but hardly to more than four times of what was seen, nor beyond what the largest
 * reward at every step would bring. */
static double largest_value(const cm_run *run) {
    const double steps = cm_support_steps(&run->session->env.spec, cm_run_options_of(run)->replay.discount);
    return fmax(run->value_reach, fmin(4.0 * run->value_reach, steps * largest_reward(run)));
}

/* Of `head`, "value" or "reward". */
static void warn_of(const cm_run *run, const char *head, double share, double reach) {
    const double bound = cm_support_bound(reach, cm_run_options_of(run)->network.value_transform);
    char advice[256] = "";
    if (bound <= CM_SUPPORT_LARGEST)
        snprintf(advice, sizeof advice,
                 "begin again with --set %s_support_min=-%.9g --set %s_support_max=%.9g --set %s_support_size=%d, or ",
                 head, bound, head, bound, head, cm_support_atoms(bound));
    cm_log(CM_WARNING, "%.1f %% of the %s targets lie outside the support: %ss reach %.4g: %sscale rewards",
           100.0 * share, head, head, reach, advice);
}

void cm_run_warn_of_clipping(cm_run *run) {
    const double few = 0.01; /* of the values, which searches estimate, lie outside without harm */
    const cm_metrics *row = &run->row;
    if (!run->state.warned && row->clipped_targets > few) {
        run->state.warned = true;
        warn_of(run, "value", row->clipped_targets, largest_value(run));
    }
    if (!run->state.warned_rewards && row->clipped_rewards > 0.0) {
        run->state.warned_rewards = true;
        warn_of(run, "reward", row->clipped_rewards, largest_reward(run));
    }
}

void cm_run_warn_of_discount(const cm_run *run) {
    const cm_env_spec *spec = &run->session->env.spec;
    const bool is_cut = spec->max_steps > 0 && !run->session->tried.ends_at_limit;
    if (!cm_run_leads(run) || spec->players > 1 || !is_cut || cm_run_options_of(run)->replay.discount < 1.0) return;
    cm_config_warn(run->config, "discount",
                   "%g with a time limit of %d steps: an episode that the limit cuts off counts as one that goes on, "
                   "so values grow for as long as the run learns: set it below 1 (such as 0.997), or let the "
                   "environment itself end its episodes",
                   cm_run_options_of(run)->replay.discount, spec->max_steps);
}

/* As that of a file for another task, or the environment's own with a time limit that is too short for it. */
void cm_run_warn_of_goal(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const cm_env_spec *spec = &run->session->env.spec;
    const double goal = cm_run_goal(run);
    const bool is_limited = cm_config_source_of(run->config, "max_steps") != CM_FROM_DEFAULT;
    const char *key = is_limited && !isfinite(o->goal_return) ? "max_steps" : "goal_return";
    double low, high;
    if (!cm_run_leads(run) || !o->stop_at_goal || !cm_run_is_evaluated(o)) return;
    cm_evaluation_bounds(spec, &low, &high);
    if (goal <= low)
        cm_config_warn(run->config, key,
                       "every episode of %s brings at least %g, so that the goal of %g is reached at once: set another "
                       "goal_return",
                       spec->name, low, goal);
    if (goal > high)
        cm_config_warn(
            run->config, key,
            "no episode of %s brings more than %g, so that the goal of %g is never reached: set another goal_return",
            spec->name, high, goal);
}
