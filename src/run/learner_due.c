/* When learning begins, and how much of it is due. */
#include <math.h>

#include "core/log.h"
#include "run/learner_internal.h"

/* ---- when ---- */

/* Whether the memory of this rank has all that its limits allow, so that waiting brings no more: its newest
 * memory_steps, or, where it is limited by episodes or bytes, as many as it had before it began to forget. */
static bool is_full(const cm_replay_options *o, const cm_replay_counts *counts, int ranks) {
    return counts->first_segment > 0 ||
           (o->memory_steps > 0 && counts->collected * (uint64_t)ranks >= (uint64_t)o->memory_steps);
}

/* Once. The last td_steps of games under way are never there: that memory_steps hold less for it is no reason. */
static void warn_of_full(cm_run_learner *l, double positions, double episodes) {
    const cm_replay_options *o = &l->c->replay;
    const bool lacks_steps = positions < (double)o->min_memory_steps;
    if (l->warned || l->comm->rank > 0 || (lacks_steps && o->memory_steps > 0)) return;
    l->warned = true;
    cm_log(CM_WARNING,
           "the memory is full with %.0f steps of %.0f episodes, fewer than the first update waits for, and learning "
           "begins: raise %s or lower %s",
           positions, episodes,
           o->memory_bytes > 0      ? "memory_bytes"
           : o->memory_capacity > 0 ? "memory_capacity"
                                    : "memory_steps",
           lacks_steps               ? "min_memory_steps"
           : o->min_memory_pct > 0.0 ? "min_memory_pct"
                                     : "min_memory_size");
}

/* *ready <- whether the memories of all ranks together hold what the first update waits for (min_memory_*), or are
 * full, and each has something to draw. */
static cm_status ask_ready(cm_run_learner *l, bool *ready) {
    const cm_replay_options *o = &l->c->replay;
    const int ranks = l->comm->size;
    cm_replay_counts counts;
    cm_replay_count(l->replay, &counts);
    double all[4] = {(double)counts.positions, (double)counts.episodes, counts.positions > 0 ? 1.0 : 0.0,
                     is_full(o, &counts, ranks) ? 1.0 : 0.0};
    CM_TRY(l->comm->all_reduce_double(l->comm, all, 4));
    *ready = all[0] >= (double)o->min_memory_steps;
    if (*ready && (o->min_memory_size > 0 || o->min_memory_pct > 0.0)) {
        const int64_t size = o->min_memory_size > 0 ? o->min_memory_size : 1;
        CM_TRY(cm_replay_is_ready((int64_t)all[1], o->memory_capacity, size, o->min_memory_pct, ready));
    }
    const bool has_all = all[2] == ranks, is_all = all[3] == ranks;
    if (!*ready && has_all && is_all) warn_of_full(l, all[0], all[1]);
    *ready = has_all && (*ready || is_all);
    return CM_OK;
}

/* ---- how much is due ---- */

static int64_t count_due(cm_run_learner *l, int64_t steps, int64_t before, int64_t episodes) {
    const cm_trainer_options *o = &l->c->trainer;
    if (o->updates_per_iteration > 0) return o->updates_per_iteration;
    if (o->replay_ratio > 0.0) {
        double batch = (double)o->batch_size * o->gradient_accumulation;
        l->credit += (double)steps * o->replay_ratio / batch;
        double whole = floor(l->credit);
        l->credit -= whole;
        return (int64_t)whole;
    }
    return episodes / o->train_frequency - before / o->train_frequency;
}

cm_status cm_run_learner_due(cm_run_learner *l, int64_t steps, int64_t before, int64_t episodes, int64_t *due) {
    bool ready;
    CM_TRY(ask_ready(l, &ready));
    *due = ready ? count_due(l, steps, before, episodes) : 0;
    return CM_OK;
}

cm_status cm_run_learner_extra(cm_run_learner *l, int64_t left, int64_t *due) {
    const int64_t round = cm_run_learner_round(l->c);
    bool ready;
    CM_TRY(ask_ready(l, &ready));
    *due = !ready ? 0 : round < left ? round : left;
    return CM_OK;
}

double cm_run_learner_credit(const cm_run_learner *l) { return l->credit; }
void cm_run_learner_set_credit(cm_run_learner *l, double credit) { l->credit = credit; }

double cm_run_learner_iteration_steps(const cm_configuration *c) {
    return (double)c->env.num_envs * c->agent.steps_per_iteration;
}

int64_t cm_run_learner_round(const cm_configuration *c) {
    if (c->trainer.updates_per_iteration > 0) return c->trainer.updates_per_iteration;
    return (int64_t)fmax(1.0, floor(cm_run_learner_iteration_steps(c) * cm_run_learner_rate(c)));
}

double cm_run_learner_rate(const cm_configuration *c) {
    const cm_trainer_options *t = &c->trainer;
    if (t->updates_per_iteration > 0) return t->updates_per_iteration / cm_run_learner_iteration_steps(c);
    return t->replay_ratio / ((double)t->batch_size * t->gradient_accumulation);
}

bool cm_run_learner_is_timed(const cm_configuration *c) {
    return c->run.time_limit > 0.0 && c->run.env_steps == 0 && c->run.updates == 0 && c->run.num_episodes == 0;
}

int64_t cm_run_learner_plan(const cm_configuration *c) {
    const cm_trainer_options *t = &c->trainer;
    double iteration = cm_run_learner_iteration_steps(c), plan = INFINITY;
    const double per_step = cm_run_learner_rate(c);
    if (c->run.env_steps > 0 && per_step > 0.0) {
        double steps = (double)c->run.env_steps - (double)c->replay.min_memory_steps;
        plan = fmin(plan, fmax(ceil(steps / iteration) * iteration * per_step, 0.0));
    }
    if (c->run.num_episodes > 0 && t->train_frequency > 0) {
        plan = fmin(plan, (double)c->run.num_episodes / t->train_frequency);
    }
    plan += (double)c->run.extra_updates;
    if (c->run.updates > 0) plan = fmin(plan, (double)c->run.updates);
    return isfinite(plan) && plan > 1.0 ? (int64_t)plan : isfinite(plan) ? 1 : 1000000;
}
