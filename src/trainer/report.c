/* What was found of a batch: losses, priorities, whether they are numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/support.h"
#include "core/trace.h"
#include "trainer/internal.h"

static void find_priorities(cm_trainer *t, const cm_unroll *u, const void *results, int first) {
    const float *value = cm_unroll_result(u, u->loss[CM_LOSS_value].step[0].decoded, results);
    for (int i = 0; i < u->rows; i++) {
        double target = (double)t->value_targets[(size_t)(first + i) * (size_t)(u->unroll + 1)];
        t->priorities[first + i] = (float)(fabs((double)value[i] - target) + t->config.priority_epsilon);
    }
}

static cm_status collect_chunk(void *context, int chunk, int worker) {
    cm_trainer *t = context;
    const cm_in_flight *flight = t->launched[0];
    const cm_chunk_rows rows = cm_trainer_chunk(t, chunk);
    const cm_unroll *u = &t->unroll[cm_trainer_kind(t, &rows)];
    const void *results = (const char *)flight->results.host + (size_t)chunk * t->result_stride;
    (void)worker;
    cm_unroll_collect(u, &flight->batch, &rows, results, &t->scalars[chunk]);
    cm_unroll_targets(u, &flight->batch, &rows, results,
                      t->value_targets + (size_t)rows.first * (size_t)(u->unroll + 1));
    find_priorities(t, u, results, rows.first);
    return CM_OK;
}

/* Scalars are summed in the tree of the gradients. */
static void sum_scalars(cm_trainer *t) {
    int doubles = (int)(sizeof(cm_scalars) / sizeof(double));
    for (int step = 1; step < t->chunks; step *= 2) {
        for (int i = 0; i + step < t->chunks; i += 2 * step) {
            double *a = (double *)&t->scalars[i], *b = (double *)&t->scalars[i + step];
            for (int j = 0; j < doubles; j++) a[j] += b[j];
        }
    }
}

/* Of state k, or of step k and the arrival after it. */
static double weighted_losses(const cm_trainer *t, bool of_state, int k) {
    const cm_scalars *s = &t->scalars[0];
    const cm_trainer_options *o = t->config.options;
    const double bonus = o->policy_weight > 0.0 ? o->entropy_weight / o->policy_weight : 0.0;
    double sum = 0.0;
    for (int i = 0; i < CM_LOSSES; i++) {
        if ((cm_loss_rows[i].of == CM_LOSS_OF_STATES) != of_state) continue;
        const double loss = i == CM_LOSS_policy ? s->loss[i][k] - bonus * s->entropy[k] : s->loss[i][k];
        sum += t->factors.loss[i][k] * loss;
    }
    return sum;
}

static void fill_report(const cm_trainer *t, cm_train_report *r) {
    const int K = t->config.unroll;
    memset(r, 0, sizeof *r);
    memcpy(r->loss, t->scalars[0].loss, sizeof r->loss);
    memcpy(r->entropy, t->scalars[0].entropy, sizeof r->entropy);
    for (int k = 0; k <= K; k++) r->total_loss += weighted_losses(t, true, k);
    for (int k = 0; k < K; k++) r->total_loss += weighted_losses(t, false, k);
    r->update = t->launched[0]->update;
    r->priorities = t->priorities;
    r->value_targets = t->value_targets;
}

/* Targets that are trained, those of them that a support cannot hold (learning 2: they are clamped), and the largest.
 */
typedef struct clipping {
    double all, clipped, reach;
} clipping;

static clipping count_clipped(const cm_support *support, const float *target, const float *mask, size_t count) {
    clipping c = {0.0, 0.0, 0.0};
    if (support->size == 1) return c;
    for (size_t i = 0; i < count; i++) {
        if (mask[i] == 0.0f) continue;
        const double x = (double)target[i], h = support->transform ? cm_transform(x, CM_TRANSFORM_EPSILON) : x;
        c.all += 1.0;
        c.reach = fmax(c.reach, fabs(x));
        if (h < (double)support->min - 1e-6 || h > (double)support->max + 1e-6) c.clipped += 1.0;
    }
    return c;
}

/* What a rank knows of an update besides the gradient; summed over ranks as one array. */
typedef struct sums {
    cm_scalars scalars;
    double values, clipped_values, rewards, clipped_rewards;
} sums;

/* The first chunk's scalars <- sums over all chunks of all ranks. */
static cm_status reduce_scalars(cm_trainer *t, clipping *value, clipping *reward) {
    const cm_network_config *network = cm_network_get_config(t->config.network);
    const cm_train_batch *batch = &t->launched[0]->batch;
    const size_t rows = (size_t)t->config.batch, K = (size_t)t->config.unroll;
    sums all;
    sum_scalars(t);
    *value = count_clipped(&network->value_support, t->value_targets, batch->value_mask, rows * (K + 1));
    *reward = count_clipped(&network->reward_support, batch->target_reward, batch->reward_mask, rows * K);
    all = (sums){t->scalars[0], value->all, value->clipped, reward->all, reward->clipped};
    CM_TRY(t->config.comm->all_reduce_double(t->config.comm, (double *)&all, sizeof all / sizeof(double)));
    t->scalars[0] = all.scalars;
    value->all = all.values, value->clipped = all.clipped_values;
    reward->all = all.rewards, reward->clipped = all.clipped_rewards;
    return CM_OK;
}

static double share_of(clipping c) { return c.all > 0.0 ? c.clipped / c.all : 0.0; }

/* What may be done about numbers that are not finite. */
typedef struct advice {
    char text[CM_NETWORK_ADVICE];
} advice;

/* The largest magnitude in frame i of the batch, which has `size` numbers. */
static float reach_of_frame(const cm_trainer *t, size_t i, size_t size) {
    const float unit = t->config.frames.unit, *floats = t->launched[0]->batch.frames.data;
    const uint8_t *bytes = t->launched[0]->batch.frames.data;
    float most = 0.0f;
    for (size_t j = i * size; j < (i + 1) * size; j++)
        most = fmaxf(most, unit > 0.0f ? (float)bytes[j] * unit : fabsf(floats[j]));
    return most;
}

/* And in the frames that o_t of all rows are made of; others may hold anything. */
static float reach_of_frames(const cm_trainer *t) {
    const cm_train_frames *f = &t->launched[0]->batch.frames;
    const size_t count = (size_t)t->config.frames.count, steps = (size_t)t->config.unroll + 1;
    const size_t size = (size_t)cm_network_observation_size(t->config.network) / count;
    float most = 0.0f;
    for (size_t i = 0; i < (size_t)t->config.batch * count; i++) {
        const size_t row = i / count;
        const int32_t place = f->index[row * steps * count + i % count];
        if (place >= 0) most = fmaxf(most, reach_of_frame(t, row * (size_t)f->each + (size_t)place, size));
    }
    return most;
}

static advice advise(const cm_trainer *t) {
    const size_t n = (size_t)t->config.batch * (size_t)cm_network_observation_size(t->config.network);
    const bool has_frames = t->config.frames.count > 0;
    const float reach = has_frames ? reach_of_frames(t) : 0.0f;
    advice a;
    cm_network_advise(has_frames ? &reach : t->launched[0]->batch.observation, has_frames ? 1 : n,
                      "lower learning_rate, or check the environment's rewards", a.text);
    return a;
}

static cm_status check_losses(const cm_trainer *t, const cm_train_report *r) {
    if (isfinite(r->total_loss)) return CM_OK;
    for (int i = 0; i < CM_LOSSES; i++) {
        for (int k = 0; k < cm_loss_count(i, t->config.unroll); k++) {
            if (!isfinite(r->loss[i][k])) {
                return cm_fail(CM_ERR_NOT_FINITE, "update %lld: the %s loss of unroll step %d is not finite; %s",
                               (long long)r->update, cm_loss_rows[i].term, k, advise(t).text);
            }
        }
    }
    return cm_fail(CM_ERR_NOT_FINITE, "update %lld: the total loss is not finite", (long long)r->update);
}

cm_status cm_trainer_fail_norm(cm_trainer *t, const cm_train_report *r) {
    CM_TRY(cm_trainer_fetch(t, CM_TRAINER_ALL));
    const float *gradient = cm_trainer_gradients(t);
    const cm_param_table *table = cm_network_parameters(t->config.network);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        for (size_t j = 0; !p->state && j < p->count; j++) {
            if (!isfinite(gradient[p->offset + j])) {
                return cm_fail(CM_ERR_NOT_FINITE, "update %lld: the gradient of %s is not finite; %s",
                               (long long)r->update, p->name, advise(t).text);
            }
        }
    }
    return cm_fail(CM_ERR_NOT_FINITE,
                   "update %lld: the gradient norm overflows, or a prediction or a value target does; %s",
                   (long long)r->update, advise(t).text);
}

cm_status cm_trainer_read(cm_trainer *t, cm_train_report *report) {
    const cm_in_flight *flight = t->launched[0];
    const float *factor =
        (const float *)(const void *)((const char *)flight->results.host + (size_t)t->chunks * t->result_stride);
    CM_TRACE_BEGIN("wait");
    cm_status status = cm_event_synchronize(&flight->returned);
    CM_TRACE_END();
    CM_TRY(status);
    CM_TRY(cm_pool_run(t->config.pool, t->chunks, collect_chunk, t));
    clipping value, reward;
    CM_TRY(reduce_scalars(t, &value, &reward));
    fill_report(t, report);
    report->clipped = share_of(value), report->clipped_rewards = share_of(reward);
    report->value_reach = value.reach, report->reward_reach = reward.reach;
    report->reduce_seconds = flight->reduce_seconds, report->exposed_seconds = flight->exposed_seconds;
    t->carried = t->scaled.scale;
    report->loss_scale = cm_trainer_gradient_scale(t);
    CM_TRY(check_losses(t, report));
    if (!flight->has_step) return CM_OK;
    report->learning_rate = cm_optimizer_rate(t->optimizer, report->update);
    report->stepped = true;
    report->skipped = cm_scaling_read(t, factor + CM_TRAINER_FACTORS);
    if (!report->skipped) report->gradient_norm = (double)factor[1];
    return CM_OK;
}

bool cm_trainer_has_loss(const cm_trainer *trainer, cm_loss loss) { return trainer->unroll[0].loss[loss].is_recorded; }

/* Column k of out[rows, columns, width] <- a variable [rows, width], via scratch. */
static cm_status read_column(const cm_pass *pass, cm_var var, int k, const int size[3], float *scratch, float *out) {
    const int rows = size[0], columns = size[1], width = size[2];
    CM_TRY(cm_pass_read(pass, var, scratch));
    for (int i = 0; i < rows; i++)
        memcpy(out + (i * columns + k) * width, scratch + i * width, (size_t)width * sizeof(float));
    return CM_OK;
}

cm_status cm_trainer_predictions(const cm_trainer *trainer, float *value, float *reward, float *policy_logits) {
    const cm_unroll *u = &trainer->unroll[0];
    const cm_pass *pass = trainer->chunk_pass[0];
    const int K = u->unroll, P = cm_policy_size(u->form);
    const int of_values[3] = {u->rows, K + 1, 1}, of_rewards[3] = {u->rows, K, 1}, of_logits[3] = {u->rows, K + 1, P};
    float *scratch = NULL;
    CM_TRY(cm_alloc(&scratch, (size_t)u->rows * (size_t)P, sizeof(float), "predictions"));
    cm_status status = CM_OK;
    for (int k = 0; k <= K && status == CM_OK; k++) {
        if (value) status = read_column(pass, u->loss[CM_LOSS_value].step[k].decoded, k, of_values, scratch, value);
        if (policy_logits && status == CM_OK)
            status = read_column(pass, u->policy_logits[k], k, of_logits, scratch, policy_logits);
        if (reward && k < K && status == CM_OK)
            status = read_column(pass, u->loss[CM_LOSS_reward].step[k].decoded, k, of_rewards, scratch, reward);
    }
    free(scratch);
    return status;
}
