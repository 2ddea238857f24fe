/* Small facts of a run, and what its parts do in the same way: they stand below the loop and all that it calls. */
#include <math.h>

#include "core/busy.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/trace.h"
#include "run/run_internal.h"

double cm_run_seconds(const cm_run *run) { return run->state.seconds + cm_clock_seconds() - run->began; }

double cm_run_goal(const cm_run *run) {
    double goal = cm_run_options_of(run)->run.goal_return;
    return isfinite(goal) ? goal : run->session->env.spec.reward_threshold;
}

bool cm_run_lacks_evaluation(const cm_run *run) {
    return cm_run_is_evaluated(&cm_run_options_of(run)->run) && run->state.evaluated_iteration != run->state.iteration;
}

int cm_run_episodes_to_come(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    return (cm_run_lacks_evaluation(run) ? o->evaluation_episodes : 0) + o->final_evaluation_episodes;
}

cm_actor_config cm_run_actor_config(const cm_run *run, cm_replay *replay) {
    const cm_configuration *c = cm_run_options_of(run);
    return (cm_actor_config){
        .agent = run->actor_agent,
        .env = &run->session->env,
        .replay = replay,
        .pool = run->overlap ? run->acting_pool : run->session->pool,
        .environments = (int)cm_session_share(run->session, c->env.num_envs),
        .first_environment = (uint64_t)cm_session_first(run->session, c->env.num_envs),
        .steps = c->agent.steps_per_iteration,
        .random_move_steps = c->agent.random_move_steps,
        .random_first_steps = (c->agent.random_first_steps + c->env.num_envs - 1) / c->env.num_envs,
        .temperature_threshold = c->agent.temperature_threshold,
        .reuse_tree = cm_mcts_keeps_trees(&c->mcts),
        .seed = (uint64_t)c->run.seed,
        .stop = &run->halt,
    };
}

cm_status cm_run_copy_weights(const cm_run *run, cm_weights which, cm_agent *agent) {
    const cm_trainer_blocks weights = cm_trainer_on_device(cm_run_trainer(run), which);
    return cm_agent_copy_weights(agent, weights.parameters, weights.state);
}

cm_status cm_run_hand_over_weights(cm_run *run) {
    const bool ema = cm_run_options_of(run)->trainer.ema_acts;
    return cm_run_copy_weights(run, ema ? CM_WEIGHTS_EMA : CM_WEIGHTS_ONLINE, run->actor_agent);
}

const cm_session *cm_run_session(const cm_run *run) { return run->session; }

bool cm_run_is_left(const cm_run *run) { return cm_patient_is_left(run->patient); }

cm_status cm_run_play(cm_run *run, const char *what, cm_status (*call)(void *context)) {
    enum { LEAVE_SECONDS = 5 };
    cm_busy_with(what, CM_BUSY_ASKED);
    CM_TRACE_BEGIN("play");
    const cm_status status = cm_patient_call(run->patient, run->stop, LEAVE_SECONDS, call, run);
    CM_TRACE_END();
    if (cm_run_is_left(run))
        cm_log(CM_WARNING, "%s was left behind: %s (does an environment hang?)", what, cm_error_message());
    return status;
}
