/* Evaluations of a run: on the way, of the weights that a run ends with, and the final report. */
#include <math.h>

#include "core/busy.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/rng.h"
#include "env/solver.h"
#include "run/ranks.h"
#include "run/run_internal.h"

static int64_t env_steps(const cm_run *run) { return run->counts.env_steps; }

/* Episodes that confirm a goal: as many as the final report has, or as any evaluation if there is none. */
static int confirming_episodes(const cm_run_options *o) {
    return o->final_evaluation_episodes > 0 ? o->final_evaluation_episodes : o->evaluation_episodes;
}

uint64_t cm_run_evaluation_seed(int64_t seed, int64_t number, int episodes) {
    cm_key key = cm_key_make((uint64_t)seed, CM_RNG_EVALUATE, number < 0 ? 1 : 0);
    uint64_t base = key.word[0] & 0x3fffffffu;
    return number < 0 ? base | 0x40000000u : base + (uint64_t)number * (uint64_t)episodes;
}

/* ---- life ---- */

static cm_status parse_opponent(const cm_run *run, cm_opponent *out) {
    const char *key = "Evaluation.evaluation_opponent", *text = cm_run_options_of(run)->run.evaluation_opponent;
    const cm_env_spec *game = &run->session->env.spec;
    cm_status status = cm_opponent_parse(text, out);
    if (status != CM_OK) return cm_fail_in(status, "%s", key);
    if (out->kind == CM_OPPONENT_AGENT) {
        return cm_fail(CM_ERR_INPUT, "%s: \"%.40s\" is none of random, mcts:N and perfect", key, text);
    }
    if (game->players == 1 && out->kind != CM_OPPONENT_RANDOM) {
        return cm_fail(CM_ERR_INPUT, "%s: %s is no game of two players; leave the key out", key, game->name);
    }
    if (out->kind != CM_OPPONENT_PERFECT || cm_solver_check(&run->session->env) == CM_OK) return CM_OK;
    return cm_fail_in(CM_ERR_INPUT, "%s", key);
}

static cm_status gather(void *context, const void *mine, size_t bytes, void *all) {
    cm_comm *comm = context;
    return comm->all_gather(comm, mine, bytes, all);
}

static cm_status agree(void *context, cm_status status) { return cm_ranks_agree(context, status); }

/* Where the time may end it, some of the report's episodes are to be over by then. */
static int report_rows(const cm_run *run) {
    enum { FEW = 8 };
    return cm_run_options_of(run)->run.time_limit > 0.0 && run->session->backend->device->is_host ? FEW : 0;
}

static cm_status open_evaluator(cm_run *run, const cm_env *env, int episodes, int rows, bool keeps_first,
                                cm_evaluator **out) {
    cm_opponent opponent;
    if (episodes == 0) return CM_OK;
    cm_comm *comm = run->session->comm;
    const cm_evaluation_ranks ranks = {
        .part = comm->rank, .parts = comm->size, .gather = gather, .agree = agree, .context = comm};
    CM_TRY(parse_opponent(run, &opponent));
    const cm_evaluator_config config = {.agent = run->evaluation_agent,
                                        .env = env,
                                        .pool = run->session->pool,
                                        .episodes = episodes,
                                        .rows = rows,
                                        .opponent = &opponent,
                                        .stop = &run->halt,
                                        .ranks = &ranks,
                                        .keeps_first = keeps_first};
    cm_status status = cm_evaluator_create(&config, out);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "evaluation");
}

cm_status cm_run_open_evaluation(cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    bool on_the_way = cm_run_is_evaluated(o);
    int last = on_the_way && o->stop_at_goal ? confirming_episodes(o) : o->final_evaluation_episodes;
    if (!on_the_way && last == 0) return CM_OK;
    CM_TRY(cm_session_agent(run->session, &run->evaluation_agent));
    CM_TRY(cm_env_for(&run->session->env, CM_ENV_EVALUATES, &run->evaluated_env));
    CM_TRY(cm_env_for(&run->session->env, CM_ENV_REPORTS, &run->reported_env));
    CM_TRY(open_evaluator(run, &run->evaluated_env, on_the_way ? o->evaluation_episodes : 0, 0, o->evaluation_gifs > 0,
                          &run->evaluator));
    return open_evaluator(run, &run->reported_env, last, report_rows(run), false, &run->final_evaluator);
}

void cm_run_close_evaluation(cm_run *run) {
    cm_evaluator_destroy(run->evaluator);
    cm_evaluator_destroy(run->final_evaluator);
    cm_agent_destroy(run->evaluation_agent);
    run->evaluator = run->final_evaluator = NULL;
    run->evaluation_agent = NULL;
}

/* ---- on the way ---- */

static int64_t updates(const cm_run *run) { return cm_trainer_updates(cm_run_trainer(run)); }

static bool is_due(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const int64_t steps = o->evaluation_interval, every = o->evaluation_updates;
    const int64_t due = run->state.next_evaluation > 0 ? run->state.next_evaluation : steps;
    return (steps > 0 && env_steps(run) >= due) ||
           (every > 0 && updates(run) / every > run->state.evaluated_updates / every);
}

/* Whether another one would leave too little for what is evaluated of a time that is the run's length. */
static bool is_dear(const cm_run *run) {
    const cm_configuration *c = cm_run_options_of(run);
    const double spent = cm_clock_seconds() - run->began;
    return cm_run_learner_is_timed(c) &&
           !cm_pace_affords(&run->pace, c->run.evaluation_episodes, run->session->env.spec.max_plies, spent);
}

cm_status cm_run_ask_due(cm_run *run, bool *out) {
    *out = is_due(run) && !run->time_over;
    if (!*out) return CM_OK;
    bool waits = is_dear(run);
    CM_TRY(cm_ranks_any(run->session->comm, &waits));
    *out = !waits;
    if (waits && !run->is_told)
        cm_progress_say(
            run->progress,
            "the evaluation that is due waits, as its %d episodes would take more than a quarter of the time",
            cm_run_options_of(run)->run.evaluation_episodes);
    run->is_told |= waits;
    return CM_OK;
}

/* The weights as they are have been evaluated. */
static void note_evaluation(cm_run *run) {
    const int64_t steps = cm_run_options_of(run)->run.evaluation_interval;
    if (steps > 0) run->state.next_evaluation = (env_steps(run) / steps + 1) * steps;
    run->state.evaluated_updates = updates(run);
    run->state.evaluated_iteration = run->state.iteration;
}

/* This rank's. */
static int part_of(const cm_run *run, int episodes) {
    const int parts = run->session->comm->size;
    return (episodes - run->session->comm->rank + parts - 1) / parts;
}

/* *seed: of the first episode. */
static cm_status play(cm_run *run, cm_evaluator *evaluator, int episodes, uint64_t *seed, cm_evaluation *out) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    int most = confirming_episodes(o) > o->evaluation_episodes ? confirming_episodes(o) : o->evaluation_episodes;
    *seed = cm_run_evaluation_seed(o->seed, run->state.evaluations++, most);
    const double start = cm_clock_seconds();
    cm_busy_of(CM_BUSY_EPISODES, part_of(run, episodes));
    CM_TRY(cm_evaluator_run(evaluator, episodes, *seed, NULL, out));
    run->pace.evaluating += cm_clock_seconds() - start;
    run->pace.evaluated += out->steps;
    run->pace.length = out->mean_length;
    return CM_OK;
}

/* The goal is reached if both evaluations reach it, the second so surely that its interval does; the mean that counts
 * for the best checkpoint is that of both. */
static cm_status confirm(cm_run *run, const cm_evaluation *first, double *mean) {
    cm_evaluation second;
    uint64_t seed;
    CM_TRY(play(run, run->final_evaluator, confirming_episodes(&cm_run_options_of(run)->run), &seed, &second));
    run->state.goal_reached = second.low >= cm_run_goal(run);
    *mean = (first->mean * first->episodes + second.mean * second.episodes) / (first->episodes + second.episodes);
    cm_run_say_evaluation(run, &second,
                          run->state.goal_reached ? "the goal is confirmed" : "the goal is not confirmed");
    return CM_OK;
}

/* The best weights are those of the highest mean, the newest of equal ones. Results against a random player hardly tell
 * good players apart, so in games of two it is the newest ones that do not stand clearly below: whose interval's
 * `reach` is not under the highest mean. Returns whether it is these. */
static bool note_best(cm_run *run, double mean, double reach) {
    if (reach < run->state.best_return) return false;
    run->state.best_return = fmax(run->state.best_return, mean);
    return run->best_due = true;
}

static cm_status evaluate(void *context) {
    cm_run *run = context;
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const bool ema = cm_run_options_of(run)->trainer.ema_evaluates;
    cm_evaluation e;
    uint64_t seed;
    CM_TRY(cm_run_copy_weights(run, ema ? CM_WEIGHTS_EMA : CM_WEIGHTS_ONLINE, run->evaluation_agent));
    CM_TRY(play(run, run->evaluator, o->evaluation_episodes, &seed, &e));
    note_evaluation(run);
    run->row.eval_return = e.mean, run->row.eval_std = e.std;
    run->row.eval_length = e.mean_length, run->row.eval_episodes = e.episodes;
    bool reached = e.mean >= cm_run_goal(run);
    double mean = e.mean;
    cm_run_say_evaluation(run, &e, reached ? "goal" : NULL);
    if (reached && o->stop_at_goal) CM_TRY(confirm(run, &e, &mean));
    cm_run_keep_episode(run, seed, note_best(run, mean, run->session->env.spec.players == 2 ? e.high : mean));
    return CM_OK;
}

/* Ranks meet on the way, so that none can leave the others there. */
static cm_status play_apart(cm_run *run, cm_status (*call)(void *context)) {
    if (run->session->comm->size == 1) return cm_run_play(run, "evaluating", call);
    cm_busy_with("evaluating", CM_BUSY_ASKED);
    return call(run);
}

/* Whether it was broken off or not even begun. */
static void say_put_off(cm_run *run) {
    cm_progress_say(run->progress, "the evaluation that is due will be made when the run goes on");
}

cm_status cm_run_evaluate(cm_run *run) {
    const cm_run_state before = run->state;
    const cm_metrics row = run->row;
    cm_status status = play_apart(run, evaluate);
    if (status != CM_OK) run->state = before, run->row = row;
    if (status == CM_ERR_INTERRUPTED) say_put_off(run);
    return status;
}

cm_status cm_run_ask_last(cm_run *run, bool *is_due) {
    *is_due = cm_run_lacks_evaluation(run);
    if (!*is_due || !run->time_over) return CM_OK;
    const double left = run->halt.until - cm_clock_seconds();
    bool is_short = !(isfinite(run->state.best_return) &&
                      cm_pace_need(&run->pace, cm_run_episodes_to_come(run), run->session->env.spec.max_plies) < left);
    CM_TRY(cm_ranks_any(run->session->comm, &is_short));
    *is_due = !is_short;
    return CM_OK;
}

/* ---- the report ---- */

static cm_status report(void *context) {
    cm_run *run = context;
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const uint64_t seed = cm_run_evaluation_seed(o->seed, -1, o->final_evaluation_episodes);
    cm_busy_of(CM_BUSY_EPISODES, part_of(run, o->final_evaluation_episodes));
    return cm_evaluator_run(run->final_evaluator, o->final_evaluation_episodes, seed, NULL, &run->report);
}

/* Of a report that was broken off. Errors: CM_ERR_INTERRUPTED if that was not for the time. */
static cm_status excuse(cm_run *run, cm_status status) {
    bool is_asked;
    if (status != CM_ERR_INTERRUPTED) return status;
    CM_TRY(cm_run_ask_stop(run, &is_asked));
    if (is_asked) {
        say_put_off(run);
        return cm_fail(status, "the evaluation of the result was broken off");
    }
    if (run->report.episodes == 0)
        cm_log(CM_WARNING, "no episode of the evaluation of the result has ended within the time: %s eval --run %s",
               run->program, run->directory.path);
    if (run->report.episodes > 0)
        cm_progress_say(run->progress, "the time has ended the evaluation of the result after %d of %d episodes",
                        run->report.episodes, cm_run_options_of(run)->run.final_evaluation_episodes);
    return CM_OK;
}

cm_status cm_run_evaluate_final(cm_run *run, cm_run_result *out) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    cm_run_facts facts;
    if (o->final_evaluation_episodes == 0) return CM_OK;
    CM_TRY(
        cm_run_load_agent(run->directory.path, CM_CHECKPOINT_PREFERRED, run->session, run->evaluation_agent, &facts));
    CM_TRY(excuse(run, play_apart(run, report)));
    if (run->report.episodes == 0) return CM_OK;
    out->final = run->report;
    out->final_seed = cm_run_evaluation_seed(o->seed, -1, o->final_evaluation_episodes);
    out->final_updates = facts.updates;
    out->evaluated = true;
    return CM_OK;
}
