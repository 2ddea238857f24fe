/* What a run says to people and programs: its start, its evaluations, its end. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "env/env.h"
#include "env/solver.h"
#include "run/run_internal.h"

/* ---- start ---- */

enum { SLOW_PARAMETERS = 10000000 }; /* take about a second to prepare */

/* A plan that is large here, or would be on most machines, is none to take in silence. */
static void say_large(cm_run *run, const cm_memory_row *rows, int count, uint64_t bytes) {
    const uint64_t most_machines = 4000000000u, here = cm_run_memory_space(run) / 2;
    const uint64_t large = here < most_machines ? here : most_machines;
    int most = 0;
    for (int i = 1; i < count; i++) most = rows[i].bytes > rows[most].bytes ? i : most;
    if (bytes > large)
        cm_progress_say(run->progress, "          most of it is %s; to take less, %s", rows[most].name,
                        cm_run_memory_advice(run, rows[most].name));
}

/* Of memory, and of the disk. */
/* Of each rank. */
static void say_file(cm_run *run) {
    const char *named = cm_run_options_of(run)->replay.memory_path;
    cm_replay_counts counts;
    char size[16];
    cm_replay_count(cm_run_learner_replay(run->learner), &counts);
    if (counts.file_bytes == 0) return;
    cm_format_bytes((double)counts.file_bytes, size);
    cm_progress_say(run->progress, "          %s of disk for the memory's file, in %s", size,
                    named[0] ? named : run->directory.path);
}

static void say_plan(cm_run *run) {
    const uint64_t data = (uint64_t)run->session->comm->size * cm_run_data_most(run);
    cm_memory_row rows[CM_RUN_PLAN_ROWS];
    char size[16], need[16];
    int count = 0, taken = 0;
    const uint64_t total = cm_run_memory(run, rows, &count);
    for (int i = 0; i < count; i++)
        if (rows[i].bytes > 0) rows[taken++] = rows[i];
    cm_format_bytes((double)total, size);
    cm_format_bytes((double)(cm_checkpoint_bytes(run->parts, CM_RUN_PARTS - 1) + data), need); /* data: the last part */
    char disk[96] = "";
    if (!cm_progress_is_narrow(run->progress))
        snprintf(disk, sizeof disk, "; up to %s of disk per checkpoint, %d and the best are kept", need,
                 cm_run_options_of(run)->run.keep_checkpoints);
    const uint64_t bytes = total * (uint64_t)run->session->comm->local_size;
    cm_progress_say(run->progress, "memory    %s%s", size, disk);
    cm_run_say_shrunk(run);
    say_file(run);
    say_large(run, rows, taken, bytes);
    cm_run_say_rows(run, rows, taken, bytes, cm_run_memory_space(run));
}

static void say_limits(cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    char text[256], count[16];
    size_t used = 0;
    text[0] = '\0';
    const struct {
        double value;
        const char *what;
    } limits[] = {
        {(double)o->env_steps, "env steps"}, {(double)o->updates, "updates"}, {(double)o->num_episodes, "episodes"}};
    for (int i = 0; i < 3; i++) {
        if (limits[i].value <= 0.0) continue;
        cm_format_count(limits[i].value, count);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "", count, limits[i].what);
    }
    if (o->time_limit > 0.0)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%g s", used ? ", " : "", o->time_limit);
    if (o->stop_at_goal && cm_run_is_evaluated(o) && isfinite(cm_run_goal(run))) {
        snprintf(text + used, sizeof text - used, "%sreturn %g", used ? " or " : "", cm_run_goal(run));
    } else if (o->stop_at_goal && cm_run_is_evaluated(o) && !cm_progress_is_narrow(run->progress)) {
        snprintf(text + used, sizeof text - used, " (no agreed goal to stop at: set goal_return for one)");
    }
    cm_progress_say(run->progress, "until     %s", text);
}

/* Whose first moves keep a run waiting. */
static void say_slow_opponent(cm_run *run) {
    const cm_solver_def *solver = run->session->env.def->solver;
    const char *opponent = cm_run_options_of(run)->run.evaluation_opponent;
    if (!run->evaluation_agent || strcmp(opponent, "perfect") != 0 || !solver || !solver->is_slow) return;
    cm_progress_say(run->progress, "opponent  perfect: it solves the first moves for minutes; mcts:800 takes seconds");
}

static void put_start(const cm_run *run, bool resumed, cm_json_writer *json) {
    const cm_session *session = run->session;
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "run", run->directory.path);
    cm_json_put_string(json, "environment", session->env.spec.name);
    cm_json_put_string(json, "backend", session->backend->kind->name);
    cm_json_put_string(json, "dtype", cm_dtype_name(session->compute));
    cm_json_put_int(json, "threads", cm_pool_size(session->pool));
    cm_json_put_int(json, "ranks", session->comm->size);
    cm_json_put_int(json, "seed", cm_run_options_of(run)->run.seed);
    cm_json_put_bool(json, "resumed", resumed);
    cm_json_put_int(json, "updates", cm_trainer_updates(cm_run_learner_trainer(run->learner)));
    cm_json_end_object(json);
}

/* Names of folders may hold whatever JSON has escapes for. */
static void start_event(cm_run *run, bool resumed) {
    char members[CM_METRICS_TEXT] = "";
    cm_json_writer *json = NULL;
    size_t size;
    if (cm_json_writer_create(0, &json) != CM_OK) return;
    put_start(run, resumed, json);
    const char *text = cm_json_writer_text(json, &size);
    if (text && size <= sizeof members) snprintf(members, sizeof members, "%.*s", (int)size - 2, text + 1);
    cm_json_writer_destroy(json);
    cm_progress_event(run->progress, "start", members);
}

/* Where a killed run goes on, and what it had done after that. */
static void say_resumed(cm_run *run) {
    const int64_t updates = cm_trainer_updates(cm_run_trainer(run)), reached = run->metrics.cut_updates;
    char at[48] = "from the start", again[128] = "";
    const bool has_checkpoint = run->state.iteration > 0;
    int64_t newest = -1;
    const bool is_newest = cm_checkpoint_list(run->store, &newest, 1) == 0 || newest <= updates;
    if (has_checkpoint) snprintf(at, sizeof at, "at update %lld", (long long)updates);
    if (reached > updates)
        snprintf(again, sizeof again, "; the %lld updates to %lld%s are done again", (long long)(reached - updates),
                 (long long)reached, is_newest ? ", which no checkpoint holds," : "");
    cm_progress_say(run->progress, "resumed   %s%s%s", at, has_checkpoint ? "" : ": it has no checkpoint yet", again);
}

void cm_run_say_setup(cm_run *run) {
    const size_t parameters = cm_network_parameters(run->session->network)->trained;
    char weights[16];
    if (parameters < SLOW_PARAMETERS) return;
    cm_format_count((double)parameters, weights);
    cm_progress_say(run->progress, "setup     %s parameters, which take a while to prepare", weights);
}

void cm_run_say_start(cm_run *run, bool resumed) {
    char machine[256], weights[16];
    const cm_param_table *table = cm_network_parameters(run->session->network);
    cm_session_describe(run->session, machine, sizeof machine);
    size_t used = strlen(machine);
    if (run->session->comm->size > 1) {
        snprintf(machine + used, sizeof machine - used, ", each of %d ranks (%s)", run->session->comm->size,
                 run->session->comm->name);
    }
    cm_format_count((double)table->trained, weights);
    if (run->session->env.spec.players == 2) cm_progress_call_self_play(run->progress);
    cm_progress_say(run->progress, "run       %s%s", run->directory.path, resumed ? " (resumed)" : "");
    const char *task = run->session->env.spec.name;
    const long long seed = (long long)cm_run_options_of(run)->run.seed;
    if (cm_progress_is_narrow(run->progress)) {
        cm_progress_say(run->progress, "task      %s, seed %lld", task, seed);
        cm_progress_detail(run->progress, "network   %s parameters", weights);
        cm_progress_detail(run->progress, "machine   %s", machine);
    } else {
        cm_progress_say(run->progress, "task      %s, seed %lld, %s parameters", task, seed, weights);
        cm_progress_say(run->progress, "machine   %s", machine);
    }
    if (run->session->no_gpu[0]) cm_progress_say(run->progress, "no GPU    %s", run->session->no_gpu);
    cm_run_say_fitted(run);
    say_limits(run);
    cm_run_warn_of_goal(run);
    cm_run_warn_of_discount(run);
    say_slow_opponent(run);
    say_plan(run);
    if (resumed) say_resumed(run);
    start_event(run, resumed);
    cm_log(CM_DEBUG, "%s, %s", run->session->env.spec.name, machine);
}

/* ---- evaluations ---- */

static bool is_game(const cm_run *run) { return run->session->env.spec.players == 2; }

/* " against mcts:800": what a return means in a game of two; "" elsewhere. */
static const char *against(const cm_run *run, char out[CM_OPTION_TEXT + 16]) {
    const char *opponent = cm_run_options_of(run)->run.evaluation_opponent;
    snprintf(out, CM_OPTION_TEXT + 16, "%s%s", is_game(run) ? " against " : "", is_game(run) ? opponent : "");
    return out;
}

/* How far a run has come, in what it goes by: "5120 steps"; offline "640 updates". */
static void format_time(const cm_run *run, char out[32]) {
    const bool acts = cm_run_collects(run);
    const int64_t updates = cm_trainer_updates(cm_run_learner_trainer(run->learner));
    snprintf(out, 32, "%lld %s", (long long)(acts ? run->counts.env_steps : updates), acts ? "steps" : "updates");
}

void cm_run_say_evaluation(cm_run *run, const cm_evaluation *e, const char *note) {
    char members[512], text[768], time[32], opponent[CM_OPTION_TEXT + 16];
    cm_run_format_evaluation(e, members, sizeof members);
    format_time(run, time);
    snprintf(text, sizeof text, "%s, \"env_steps\": %lld, \"updates\": %lld", members, (long long)run->counts.env_steps,
             (long long)cm_trainer_updates(cm_run_learner_trainer(run->learner)));
    cm_progress_event(run->progress, "evaluation", text);
    cm_progress_say(run->progress, "evaluated after %s: mean return %.*f%s over %d greedy %s%s%s", time,
                    fabs(e->mean) < 9.995 ? 2 : 1, e->mean, against(run, opponent), e->episodes,
                    is_game(run) ? "games" : "episodes", note ? ": " : "", note ? note : "");
}

/* ---- end ---- */

/* `path` as a word of a shell, in quotes if it has characters that are special there. */
enum { QUOTED = 4 * PATH_MAX + 3 }; /* bytes of a path that is all apostrophes */
static void quote(const char *path, char out[QUOTED]) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%";
    const char *mark = path[strspn(path, plain)] == '\0' ? "" : "'";
    char *to = stpcpy(out, mark);
    for (int i = 0; i < PATH_MAX && path[i]; i++) {
        const char one[2] = {path[i], '\0'};
        to = stpcpy(to, path[i] == '\'' ? "'\\''" : one);
    }
    stpcpy(to, mark);
}

/* What makes a run that has ended go on for as long again: the limit that it met, or else one that it has. */
static void format_longer(const cm_run *run, const cm_run_result *r, char out[64]) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const struct {
        const char *flag;
        int64_t limit, reached;
    } kinds[] = {{"--env-steps ", o->env_steps, r->env_steps},
                 {"--updates ", o->updates, r->updates},
                 {"--set num_episodes=", o->num_episodes, r->episodes}};
    int longer = cm_run_collects(run) ? 0 : 1; /* where it has none, or nothing yet of what it has */
    for (int i = 2; i >= 0; i--) longer = kinds[i].limit > 0 && kinds[i].reached > 0 ? i : longer;
    for (int i = 2; i >= 0; i--) longer = kinds[i].limit > 0 && kinds[i].reached >= kinds[i].limit ? i : longer;
    snprintf(out, 64, "%s%lld", kinds[longer].flag, (long long)(2 * kinds[longer].reached));
}

static void say_next(cm_run *run, const cm_run_result *r) {
    char dir[QUOTED], program[QUOTED], ranks[64] = "";
    const cm_comm *comm = run->session->comm;
    quote(run->directory.path, dir);
    quote(run->program, program);
    if (comm->size > 1)
        snprintf(ranks, sizeof ranks, " --num-devices %d%s", comm->size, comm->oversubscribe ? " --oversubscribe" : "");
    if (r->end == CM_RUN_STOPPED) {
        cm_progress_offer(run->progress, "stopped and saved; go on with:  %s train --resume %s%s", program, dir, ranks);
        return;
    }
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const bool game = is_game(run);
    char evaluate[CM_OPTION_TEXT + 32] = "--episodes 100", on[64];
    if (game) snprintf(evaluate, sizeof evaluate, "--opponent %s --games 100", o->evaluation_opponent);
    if (run->time_over) {
        snprintf(on, sizeof on, "--time %gs", o->time_limit);
    } else {
        format_longer(run, r, on);
    }
    if (cm_env_is_listed(&run->session->env))
        cm_progress_offer(run->progress, "%s    %s play --run %s", game ? "play against it" : "watch it play  ",
                          program, dir);
    cm_progress_offer(run->progress, "learning curve     %s plot --run %s", program, dir);
    cm_progress_offer(run->progress, "evaluate again     %s eval --run %s %s --seed 1", program, dir, evaluate);
    cm_progress_offer(run->progress, "train on           %s train --resume %s%s %s", program, dir, ranks, on);
}

/* What the first update waits for. */
static void list_waits(const cm_replay_options *m, char *text, size_t size) {
    const struct {
        double least;
        const char *what;
    } waits[] = {{m->min_memory_size, "episodes (min_memory_size)"},
                 {ceil(m->min_memory_pct * m->memory_capacity), "episodes (min_memory_pct)"},
                 {(double)m->min_memory_steps, "steps (min_memory_steps)"}};
    size_t used = 0;
    for (int i = 0; i < 3; i++) {
        if ((i < 2 || used > 0) && waits[i].least <= 0.0) continue;
        used +=
            (size_t)snprintf(text + used, size - used, "%s%.0f %s", used ? " and " : "", waits[i].least, waits[i].what);
    }
}

/* Which steps do not count for min_memory_steps, where there were enough of them: src/replay/replay.h. */
static void format_uncounted(const cm_replay_options *m, int64_t steps, char out[128]) {
    out[0] = '\0';
    if (m->min_memory_steps == 0 || steps < m->min_memory_steps) return;
    if (m->memory_capacity > 0) {
        snprintf(out, 128, "; with memory_capacity those of episodes under way do not count");
    } else {
        snprintf(out, 128, "; the last %d (td_steps) of each episode under way do not count", m->td_steps);
    }
}

/* Returns of a run that made no update are those of its first weights. */
static void warn_of_no_update(const cm_run *run, const cm_run_result *r) {
    const cm_configuration *c = cm_run_options_of(run);
    char waits[160], rate[96] = "", uncounted[128];
    if (r->updates > 0 || r->end == CM_RUN_STOPPED || !c->agent.collect) return;
    if (run->time_over && r->env_steps == 0) {
        cm_log(CM_WARNING,
               "no steps were made: the time was over within the first iteration, %d steps of %d environments; give it "
               "more time, or lower steps_per_iteration or num_envs",
               c->agent.steps_per_iteration, c->env.num_envs);
        return;
    }
    if (c->trainer.replay_ratio > 0.0 && c->trainer.updates_per_iteration == 0) {
        snprintf(rate, sizeof rate, ", and one is due every %.4g steps (batch_size / replay_ratio)",
                 1.0 / cm_run_learner_rate(c));
    }
    list_waits(&c->replay, waits, sizeof waits);
    format_uncounted(&c->replay, r->env_steps, uncounted);
    cm_log(CM_WARNING, "nothing was learnt: the first update waits for %s%s%s; train longer", waits, rate, uncounted);
}

void cm_run_say_time_over(cm_run *run) {
    const int episodes = cm_run_episodes_to_come(run);
    if (!run->time_over || episodes == 0) return;
    cm_progress_say(run->progress, "time is over: what is left of it is for the evaluation of the result, %d episodes",
                    episodes);
}

static void say_counts(cm_run *run, const cm_run_result *r) {
    char acted[48] = "", played[48] = "", time[16];
    const char *why = r->end == CM_RUN_GOAL    ? "goal reached"
                      : r->end == CM_RUN_LIMIT ? "limit reached"
                                               : "asked to stop";
    cm_clock_format_duration(r->seconds, time);
    if (cm_run_collects(run)) {
        snprintf(acted, sizeof acted, "%lld steps, ", (long long)r->env_steps);
        snprintf(played, sizeof played, ", %lld episodes", (long long)r->episodes);
    }
    cm_progress_say(run->progress, "%s after %s%lld updates%s, %s", why, acted, (long long)r->updates, played, time);
}

void cm_run_say_end(cm_run *run, const cm_run_result *r) {
    char members[1024], opponent[CM_OPTION_TEXT + 16];
    cm_run_format_result(r, members, sizeof members);
    cm_progress_event(run->progress, "end", members);
    say_counts(run, r);
    const cm_loss_scaling scaling = cm_trainer_loss_scaling(cm_run_learner_trainer(run->learner));
    if (scaling.scale > 0.0) {
        cm_progress_say(run->progress, "loss scale %g, %lld of %lld updates were skipped", scaling.scale,
                        (long long)scaling.skipped, (long long)r->updates);
    }
    warn_of_no_update(run, r);
    if (r->evaluated) {
        const cm_evaluation *e = &r->final;
        cm_progress_say(
            run->progress,
            "final: mean return %.2f%s, std %.2f, 95 %% interval [%.2f, %.2f] over %d greedy %s on new seeds%s",
            e->mean, against(run, opponent), e->std, e->low, e->high, e->episodes, is_game(run) ? "games" : "episodes",
            r->final_updates < r->updates ? " (the best checkpoint)" : "");
        if (e->wins + e->draws + e->losses > 0 && is_game(run)) {
            cm_progress_say(run->progress, "%s: %d won, %d drawn, %d lost", opponent + 1, e->wins, e->draws, e->losses);
        }
    }
    say_next(run, r);
}
