/* Batches on their way to the trainer, and updates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/busy.h"
#include "core/clock.h"
#include "core/trace.h"
#include "run/learner_internal.h"
#include "run/ranks.h"
#include "run/safetensors.h"

/* ---- batches on their way to the trainer ---- */

/* Reads what chance brought off the observations around each step; past an end there is nothing to read. */
static void find_codes(const cm_run_learner *l, const cm_batch *b, int32_t *codes) {
    size_t K = (size_t)l->unroll, o = (size_t)l->observation_size;
    for (size_t i = 0; i < (size_t)l->rows * K; i++) {
        const float *after = b->target_observations + i * o;
        const float *before = i % K == 0 ? b->observation + i / K * o : after - o;
        bool inside = b->consistency_mask[i] > 0.0f;
        codes[i] = inside ? cm_env_outcome_between(l->env, before, b->action[i], after) : -1;
    }
}

static int32_t *codes_of(const cm_run_learner *l, int slot) {
    return l->codes ? l->codes + (size_t)slot * (size_t)l->rows * (size_t)l->unroll : NULL;
}

static cm_train_batch view_of(const cm_run_learner *l, int slot, const cm_batch *b) {
    const cm_batch_frames *f = &b->frames;
    return (cm_train_batch){
        .frames = {f->each, f->data, f->index, f->shift, f->factor},
        .observation = b->observation,
        .actions = b->action,
        .target_value = b->bootstrap_observations ? b->value_partial : b->target_value,
        .target_reward = b->target_reward,
        .target_policy = b->target_policy,
        .value_mask = b->value_mask,
        .reward_mask = b->reward_mask,
        .policy_mask = b->policy_mask,
        .consistency_mask = b->consistency_mask,
        .target_observations = b->target_observations,
        .codes = codes_of(l, slot),
        .legal = b->legal,
        .weights = b->weights,
        .bootstrap_coefficient = b->value_coefficient,
        .bootstrap_observations = b->bootstrap_observations,
    };
}

/* By a drawing thread; *searching is what all of them have taken. */
static cm_status reanalyse(cm_run_learner *l, cm_batch *batch) {
    const double start = cm_clock_seconds();
    const cm_status status = cm_reanalyser_run(l->reanalyser, batch);
    __atomic_fetch_add(&l->searching, (int64_t)(1e9 * (cm_clock_seconds() - start)), __ATOMIC_RELAXED);
    return status;
}

cm_status cm_run_learner_stage(void *context, int slot, cm_batch *batch) {
    cm_run_learner *l = context;
    if (l->reanalyser) CM_TRY(reanalyse(l, batch));
    if (l->rolling) CM_TRY(cm_rolling_apply(l->rolling, slot, batch));
    if (l->codes) find_codes(l, batch, codes_of(l, slot));
    const cm_train_batch view = view_of(l, slot, batch);
    return cm_trainer_stage(l->trainer, slot, &view);
}

/* ---- updates ---- */

static void add_report(const cm_run_learner *l, const cm_train_report *r, cm_learning *sum) {
    for (int i = 0; i < CM_LOSSES; i++) {
        const int count = cm_loss_count(i, l->unroll);
        for (int k = 0; k < count; k++) sum->loss[i] += r->loss[i][k] / count;
    }
    for (int k = 0; k <= l->unroll; k++) sum->entropy += r->entropy[k] / (l->unroll + 1);
    sum->total_loss += r->total_loss;
    sum->gradient_norm += r->gradient_norm;
    sum->skipped += r->skipped;
    sum->clipped += r->clipped, sum->clipped_rewards += r->clipped_rewards;
    sum->value_reach = fmax(sum->value_reach, r->value_reach);
    sum->reward_reach = fmax(sum->reward_reach, r->reward_reach);
    sum->learning_rate = r->learning_rate;
}

static void read_scaling(const cm_run_learner *l, cm_learning *sum) {
    const cm_loss_scaling scaling = cm_trainer_loss_scaling(l->trainer);
    const bool is_scaled = scaling.scale > 0.0;
    sum->loss_scale = is_scaled ? scaling.scale : (double)NAN;
    sum->skipped_steps = is_scaled ? (double)scaling.skipped : (double)NAN;
}

/* Policies that were reanalysed, and their drift, of all ranks. */
static cm_status sum_policies(const cm_run_learner *l, cm_learning *sum) {
    double all[2] = {sum->policy_drift, sum->policies_reanalysed};
    if (!l->reanalyser && !l->rolling) return CM_OK;
    CM_TRY(l->comm->all_reduce_double(l->comm, all, 2));
    sum->policy_drift = all[0], sum->policies_reanalysed = all[1];
    return CM_OK;
}

/* Sums into means; 0 / 0 is NAN. The losses of the batches that one update accumulates add up to its own (unroll.h),
 * and the last of them brings its norm. */
static void divide(const cm_run_learner *l, cm_learning *sum, double batches) {
    const double n = (double)sum->updates;
    for (int i = 0; i < CM_LOSSES; i++) {
        const bool is_missing = cm_loss_rows[i].is_optional && !cm_trainer_has_loss(l->trainer, (cm_loss)i);
        sum->loss[i] /= is_missing ? (double)NAN : n;
    }
    sum->policy_drift /= sum->policies_reanalysed;
    sum->total_loss /= n, sum->entropy /= n, sum->gradient_norm /= n - (double)sum->skipped;
    sum->clipped /= batches, sum->clipped_rewards /= batches;
}

/* Pictures without augmentation. */
static cm_status save_batch(const cm_batch *b, float *observation, const char *path) {
    int64_t B = b->config.rows, K = b->unroll, P = cm_policy_size(b->form), O = b->observation_size;
    const cm_array arrays[] = {
        {.name = "observation", .ndim = 2, .dim = {B, O}, .data = observation},
        {.name = "target_value", .ndim = 2, .dim = {B, K + 1}, .data = b->target_value},
        {.name = "target_policy", .ndim = 3, .dim = {B, K + 1, P}, .data = b->target_policy},
        {.name = "target_reward", .ndim = 2, .dim = {B, K}, .data = b->target_reward},
    };
    for (int row = 0; row < b->config.rows; row++) cm_batch_observe(b, row, 0, observation + row * O);
    return cm_safetensors_save(path, arrays, K > 0 ? 4 : 3);
}

/* Keeps the batch that led to a number that is not finite, with the value targets that it was trained on. */
static cm_status dump_batch(const cm_batch *b, const float *value_targets, const char *path, cm_status status) {
    char message[1024];
    float *observation = NULL;
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (!path) return status;
    memcpy(b->target_value, value_targets, (size_t)b->config.rows * (size_t)(b->unroll + 1) * sizeof(float));
    const size_t numbers = (size_t)b->config.rows * (size_t)b->observation_size;
    cm_status saved = cm_alloc(&observation, numbers, sizeof *observation, "a batch");
    if (saved == CM_OK) saved = save_batch(b, observation, path);
    free(observation);
    return saved == CM_OK ? cm_fail(status, "%s; the batch is in %s", message, path) : cm_fail(status, "%s", message);
}

static cm_status await_next(cm_run_learner *l, cm_batch_handle *out) {
    if (!l->reanalyser) return cm_prefetch_next(l->prefetch, out);
    const double start = cm_clock_seconds();
    const cm_status status = cm_prefetch_next(l->prefetch, out);
    l->awaited += cm_clock_seconds() - start;
    return status;
}

static cm_status launch_next(cm_run_learner *l) {
    cm_batch_handle handle;
    cm_batch *batch = NULL;
    CM_TRY(await_next(l, &handle));
    CM_TRY(cm_batch_borrow(handle, &batch));
    const cm_train_batch view = view_of(l, handle.slot, batch);
    l->launched[l->launched_count++] = handle;
    return cm_trainer_launch(l->trainer, handle.slot, &view);
}

static cm_status finish_oldest(cm_run_learner *l, const char *dump, cm_learning *sum) {
    const cm_batch_handle handle = l->launched[0];
    cm_batch *batch = NULL;
    cm_train_report report;
    CM_TRY(cm_batch_borrow(handle, &batch));
    cm_status status = cm_trainer_finish(l->trainer, &report);
    if (status == CM_ERR_NOT_FINITE) return dump_batch(batch, report.value_targets, dump, status);
    CM_TRY(status);
    CM_TRY(cm_replay_update_priorities(l->replay, batch->config.rows, batch->slot, batch->index, report.priorities));
    add_report(l, &report, sum);
    sum->policy_drift += batch->policy_drift, sum->policies_reanalysed += batch->policies_reanalysed;
    l->launched_count--;
    for (int i = 0; i < l->launched_count; i++) l->launched[i] = l->launched[i + 1];
    return cm_batch_release(handle);
}

/* Before an update: ranks ask each other, though not every time where updates are short, as that takes a while. */
static cm_status ask_stop(const cm_run_learner *l, int64_t update, bool *is_asked) {
    *is_asked = cm_stop_asked(l->stop);
    if (l->comm->size == 1 || update % l->ask_every == 0) return cm_ranks_any(l->comm, is_asked);
    *is_asked = false;
    return CM_OK;
}

/* Launches batch i, unless a stop is asked before it or while it is drawn or learnt from: *is_asked. */
static cm_status try_next(cm_run_learner *l, int64_t i, bool *is_asked) {
    const int64_t each = l->c->trainer.gradient_accumulation;
    if (i % each == 0) CM_TRY(ask_stop(l, i / each, is_asked));
    if (*is_asked) return CM_OK;
    const cm_status status = launch_next(l);
    *is_asked = status == CM_ERR_INTERRUPTED;
    return *is_asked ? CM_OK : status;
}

/* Up to `batches`, which are fewer afterwards if it is broken off: those of whole updates, of which alone `sum` is.
 * With space for two, the next batch is launched before the last one is finished. */
static cm_status learn_from(cm_run_learner *l, int64_t *batches, const char *dump, cm_learning *sum) {
    const int64_t ahead = cm_trainer_in_flight(l->trainer) > 1 ? 1 : 0, each = l->c->trainer.gradient_accumulation;
    cm_learning whole = *sum;
    int64_t launched = 0, finished = 0;
    bool is_asked = false;
    l->launched_count = 0;
    for (;;) {
        while (!is_asked && launched < *batches && launched - finished <= ahead) {
            CM_TRY(try_next(l, launched, &is_asked));
            launched += is_asked ? 0 : 1;
        }
        if (finished == launched) break;
        CM_TRY(finish_oldest(l, dump, sum));
        if (++finished % each != 0) continue;
        whole = *sum;
        cm_busy_count(CM_BUSY_UPDATES, 1);
    }
    *batches = finished / each * each;
    *sum = whole;
    return CM_OK;
}

static double beta_at(const cm_replay_options *o, double share) {
    return o->per_beta + (o->per_beta_final - o->per_beta) * fmin(share, 1.0);
}

static cm_status roll(cm_run_learner *l, int64_t update, int64_t count) {
    if (!l->rolling) return CM_OK;
    const double start = cm_clock_seconds();
    const cm_status status = cm_run_learner_roll(l, update, count);
    l->rolled += cm_clock_seconds() - start;
    return status;
}

double cm_run_learner_searched(cm_run_learner *l) {
    const double seconds = l->rolled + fmin(l->awaited, 1e-9 * (double)l->searching);
    l->rolled = l->awaited = 0.0;
    l->searching = 0;
    return seconds;
}

/* The next `count` updates of the round; *made are fewer if it is broken off. */
static cm_status learn_section(cm_run_learner *l, const cm_learning_round *round, int64_t count, const char *dump,
                               cm_learning *sum, int64_t *made) {
    const int64_t each = l->c->trainer.gradient_accumulation, update = round->first + round->made;
    int64_t batches = count * each;
    CM_TRY(roll(l, update, count));
    CM_TRY(cm_prefetch_begin(l->prefetch, (uint64_t)(update * each), batches, beta_at(&l->c->replay, round->share)));
    cm_status status = learn_from(l, &batches, dump, sum);
    cm_prefetch_end(l->prefetch);
    *made = batches / each;
    return status;
}

/* The batches of the round that are left. */
static cm_status learn_on(cm_run_learner *l, cm_learning_round *round, const char *dump) {
    int64_t count, made;
    cm_busy_of(CM_BUSY_UPDATES, round->due);
    cm_busy_count(CM_BUSY_UPDATES, round->made);
    if (cm_run_learner_is_timed(l->c) && round->share > 0.0) /* as many as there will be at the pace up to here */
        cm_trainer_plan(l->trainer, (int64_t)fmin(ceil((double)(round->first + round->due) / round->share), 0x1p53));
    do {
        count = cm_run_learner_section(l, round->first + round->made, round->due - round->made);
        CM_TRY(learn_section(l, round, count, dump, &round->sum, &made));
        round->made += made;
    } while (made == count && round->made < round->due);
    return sum_policies(l, &round->sum);
}

cm_status cm_run_learner_run(cm_run_learner *l, cm_learning_round *round, const char *dump, cm_learning *out) {
    CM_TRACE_BEGIN("learn");
    const cm_status status = learn_on(l, round, dump);
    CM_TRACE_END();
    CM_TRY(status);
    if (round->made < round->due) return cm_fail(CM_ERR_INTERRUPTED, "learning was broken off");
    *out = round->sum;
    out->updates = round->due;
    divide(l, out, (double)(round->due * l->c->trainer.gradient_accumulation));
    read_scaling(l, out);
    if (round->due == 0) out->learning_rate = (double)NAN;
    return CM_OK;
}
