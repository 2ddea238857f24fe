#include "trainer/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/trace.h"
#include "trainer/internal.h"

enum { HOST_CHUNK = 64 }; /* rows; a device takes the whole batch at once */

/* ---- creation ---- */

static cm_status take(const cm_trainer *t, cm_mirror *mirror, size_t bytes, const char *what) {
    return cm_mirror_create(mirror, t->config.backend->device, bytes, what);
}

static cm_status take_blocks(cm_trainer *t) {
    const cm_param_table *table = cm_network_parameters(t->config.network);
    size_t n = table->parameters * sizeof(float), s = table->states * sizeof(float);
    CM_TRY(take(t, &t->parameters, n + CM_ALIGN, "parameters"));
    CM_TRY(take(t, &t->state, s + CM_ALIGN, "running statistics"));
    if (t->config.options->ema_decay > 0.0) CM_TRY(take(t, &t->average, n + CM_ALIGN, "averaged parameters"));
    if (t->config.options->target_update_frequency > 0) {
        CM_TRY(take(t, &t->target, n + CM_ALIGN, "target network"));
        CM_TRY(take(t, &t->target_state, s + CM_ALIGN, "target network's statistics"));
    }
    if (t->config.options->gradient_accumulation > 1) {
        CM_TRY(take(t, &t->accumulated, n + CM_ALIGN, "accumulated gradients"));
    }
    return CM_OK;
}

static cm_status record(cm_trainer *t) {
    const int B = t->config.batch, standard = t->config.backend->device->is_host ? HOST_CHUNK : B;
    const int chunk_rows = t->config.options->chunk_rows > 0 ? t->config.options->chunk_rows : standard;
    int full = B < chunk_rows ? B : chunk_rows, tail = B % full;
    t->chunks = (B + full - 1) / full;
    t->all_chunks = t->chunks * t->config.comm->size;
    CM_TRY(cm_unroll_record(&t->config, full, &t->unroll[0]));
    if (tail) CM_TRY(cm_unroll_record(&t->config, tail, &t->unroll[1]));
    return CM_OK;
}

/* Each chunk has its inputs, its gradients, its batch statistics and its results. */
static cm_status take_chunks(cm_trainer *t) {
    const cm_tape *tape = t->unroll[0].tape;
    t->input_stride = cm_align(cm_tape_bytes(tape, CM_MEM_INPUT) + CM_ALIGN);
    t->gradient_stride =
        cm_align((cm_network_parameters(t->config.network)->parameters + CM_TRAINER_BEHIND) * sizeof(float));
    t->stats_stride = cm_align(cm_tape_bytes(tape, CM_MEM_STATS) + CM_ALIGN);
    t->result_stride = cm_align(cm_tape_bytes(tape, CM_MEM_RESULT));
    size_t chunks = (size_t)t->chunks, all_chunks = (size_t)t->all_chunks;
    CM_TRY(take(t, &t->gradients, chunks * t->gradient_stride, "gradients"));
    CM_TRY(cm_buffer_create(&t->stats, t->config.backend->device, all_chunks * t->stats_stride, "batch statistics"));
    CM_TRY(cm_alloc(&t->gradient, chunks, sizeof *t->gradient, "gradients"));
    CM_TRY(cm_alloc(&t->scalars, chunks, sizeof *t->scalars, "losses"));
    CM_TRY(cm_alloc(&t->chunk_pass, chunks, sizeof *t->chunk_pass, "passes"));
    CM_TRY(cm_alloc(&t->priorities, (size_t)t->config.batch, sizeof(float), "priorities"));
    for (int c = 0; c < t->chunks; c++)
        t->gradient[c] = (float *)(t->gradients.block.base + (size_t)c * t->gradient_stride);
    return CM_OK;
}

static cm_status open_worker(cm_trainer *t, int worker) {
    CM_TRY(cm_stream_open(t->config.backend, &t->streams[worker]));
    for (int kind = 0; kind < 2 && t->unroll[kind].tape; kind++) {
        const size_t bytes = cm_tape_bytes(t->unroll[kind].tape, CM_MEM_WORK) + CM_ALIGN;
        CM_TRY(cm_buffer_create(&t->work[2 * worker + kind], t->config.backend->device, bytes, "activations"));
    }
    return CM_OK;
}

static cm_status open_workers(cm_trainer *t) {
    size_t workers = (size_t)cm_pool_size(t->config.pool);
    CM_TRY(cm_alloc(&t->streams, workers, sizeof *t->streams, "streams"));
    CM_TRY(cm_alloc(&t->work, 2 * workers, sizeof *t->work, "activations"));
    for (int w = 0; w < (int)workers; w++) CM_TRY(open_worker(t, w));
    return CM_OK;
}

static cm_status build(cm_trainer *t) {
    const cm_trainer_options *o = t->config.options;
    if (t->config.batch < 1) return cm_fail(CM_ERR_INPUT, "batch_size is %d, must be >= 1", t->config.batch);
    if (t->config.unroll < 0 || t->config.unroll > CM_UNROLL_MAX) {
        return cm_fail(CM_ERR_INPUT, "num_unroll_steps is %d, must be 0..%d", t->config.unroll, CM_UNROLL_MAX);
    }
    if (o->entropy_weight > 0.0 && o->policy_weight <= 0.0) {
        return cm_fail(CM_ERR_INPUT,
                       "entropy_weight is %g but policy_weight is 0: the entropy bonus belongs to the policy "
                       "loss; set both or none",
                       o->entropy_weight);
    }
    cm_unroll_factors_make(o, t->config.unroll, &t->factors);
    if (!t->config.backend->device->is_host) {
        CM_TRY(cm_pool_create(1, &t->one));
        t->config.pool = t->one;
    }
    CM_TRY(take_blocks(t));
    cm_network_initialise(t->config.network, t->config.seed, t->parameters.host, t->state.host);
    CM_TRY(cm_mirror_push(&t->parameters));
    CM_TRY(cm_mirror_push(&t->state));
    CM_TRY(record(t));
    CM_TRY(take_chunks(t));
    CM_TRY(cm_scaling_create(t));
    CM_TRY(open_workers(t));
    CM_TRY(cm_slots_create(t));
    CM_TRY(cm_agreement_create(t));
    CM_TRY(cm_reducer_create(t));
    cm_optimizer_config optimizer = {cm_network_parameters(t->config.network),
                                     o,
                                     t->config.pool,
                                     t->streams,
                                     t->config.total_updates,
                                     (float *)t->parameters.block.base,
                                     (float *)t->average.block.base,
                                     (float *)t->scaling.block.base};
    CM_TRY(cm_optimizer_create(&optimizer, &t->optimizer));
    if (t->config.bootstrap) CM_TRY(cm_values_create(t, &t->values));
    CM_TRY(cm_trainer_copy_slow(t));
    return cm_trainer_repack(t);
}

cm_status cm_trainer_create(const cm_trainer_config *config, cm_trainer **out) {
    *out = NULL;
    cm_trainer *t;
    CM_TRY(cm_alloc(&t, 1, sizeof *t, "the trainer"));
    t->config = *config;
    cm_comm_single(&t->single);
    if (!t->config.comm) t->config.comm = &t->single;
    cm_status status = build(t);
    if (status != CM_OK) {
        cm_trainer_destroy(t);
        return status;
    }
    *out = t;
    return CM_OK;
}

static void close_workers(cm_trainer *t) {
    int workers = cm_pool_size(t->config.pool);
    for (int i = 0; t->streams && i < workers; i++) cm_stream_close(t->streams[i]);
    for (int i = 0; t->work && i < 2 * workers; i++) cm_buffer_destroy(&t->work[i]);
    free(t->streams);
    free(t->work);
}

void cm_trainer_destroy(cm_trainer *trainer) {
    if (!trainer) return;
    cm_trainer *t = trainer;
    cm_mirror *mirrors[] = {&t->parameters,   &t->state,     &t->average,     &t->target,
                            &t->target_state, &t->gradients, &t->accumulated, &t->scaling};
    cm_reducer_destroy(t->reducer);
    cm_values_destroy(t->values);
    cm_slots_destroy(t);
    close_workers(t);
    cm_optimizer_destroy(t->optimizer);
    for (int i = 0; i < (int)(sizeof mirrors / sizeof *mirrors); i++) cm_mirror_destroy(mirrors[i]);
    cm_buffer_destroy(&t->stats);
    cm_pool_destroy(t->one);
    for (int kind = 0; kind < 2; kind++) cm_tape_destroy(t->unroll[kind].tape);
    free(t->gradient);
    free(t->scalars);
    free(t->chunk_pass);
    free(t->priorities);
    free(t->hashes);
    free(t);
}

/* ---- one update ---- */

static void find_priorities(cm_trainer *t, const cm_unroll *u, const cm_train_batch *batch, const void *results,
                            int first) {
    const float *value = cm_unroll_result(u, u->value[0].decoded, results);
    for (int i = 0; i < u->rows; i++) {
        double target = (double)batch->target_value[(size_t)(first + i) * (size_t)(u->unroll + 1)];
        t->priorities[first + i] = (float)(fabs((double)value[i] - target) + t->config.priority_epsilon);
    }
}

/* Where the batch statistics of a chunk of this rank stand: chunks of all ranks are in the order of the batch. */
static unsigned char *chunk_stats(const cm_trainer *t, int chunk) {
    return t->stats.base + (size_t)(t->config.comm->rank * t->chunks + chunk) * t->stats_stride;
}

static cm_status run_chunk(void *context, int chunk, int worker) {
    cm_trainer *t = context;
    const cm_trainer_slot *slot = t->playing;
    const cm_chunk_rows rows = cm_trainer_chunk(t, chunk);
    const int kind = cm_trainer_kind(t, &rows);
    cm_pass *pass = slot->pass[2 * worker + kind];
    cm_pass_bind(pass, CM_MEM_INPUT, slot->inputs.block.base + (size_t)chunk * t->input_stride);
    cm_pass_bind(pass, CM_MEM_GRADIENT, t->gradient[chunk]);
    cm_pass_bind(pass, CM_MEM_STATS, chunk_stats(t, chunk));
    cm_pass_bind(pass, CM_MEM_RESULT, slot->results.block.base + (size_t)chunk * t->result_stride);
    if (t->config.backend->device->is_host) {
        CM_TRACE_BEGIN("stage");
        cm_slot_stage_chunk(t, slot, &slot->batch, chunk);
        CM_TRACE_END();
    }
    CM_TRACE_BEGIN("forward");
    CM_TRY(cm_pass_forward(pass));
    CM_TRACE_END();
    CM_TRACE_BEGIN("backward");
    CM_TRY(t->reducer ? cm_reducer_backward(t->reducer, pass, kind) : cm_pass_backward(pass));
    CM_TRACE_END();
    t->chunk_pass[chunk] = pass;
    return CM_OK;
}

static cm_status collect_chunk(void *context, int chunk, int worker) {
    cm_trainer *t = context;
    const cm_trainer_slot *slot = t->slot[0];
    const cm_chunk_rows rows = cm_trainer_chunk(t, chunk);
    const cm_unroll *u = &t->unroll[cm_trainer_kind(t, &rows)];
    const void *results = (const char *)slot->results.host + (size_t)chunk * t->result_stride;
    (void)worker;
    cm_unroll_collect(u, &slot->batch, &rows, results, &t->scalars[chunk]);
    find_priorities(t, u, &slot->batch, results, rows.first);
    return CM_OK;
}

/* Scalars are summed in the tree of the gradients. */
static void sum_scalars(cm_trainer *t) {
    int doubles = (int)(sizeof(cm_scalars) / sizeof(double));
    for (int step = 1; step < t->chunks; step *= 2) {
        for (int i = 0; i + step < t->chunks; i += 2 * step) {
            double *a = t->scalars[i].value, *b = t->scalars[i + step].value;
            for (int j = 0; j < doubles; j++) a[j] += b[j];
        }
    }
}

/* The batch statistics of all chunks of all ranks, where they are. */
static cm_status gather_statistics(const cm_trainer *t) {
    cm_comm *comm = t->config.comm;
    const size_t mine = (size_t)t->chunks * t->stats_stride;
    if (comm->size == 1) return CM_OK;
    if (t->config.backend->device->is_host) return comm->all_gather(comm, chunk_stats(t, 0), mine, t->stats.base);
    return comm->gather_on(comm, cm_stream_queue(t->streams[0]), chunk_stats(t, 0), mine, t->stats.base);
}

/* Running statistics take the chunks' average, once per forward call, in the order of the calls. */
static cm_status update_statistics(cm_trainer *t, float *factor) {
    const cm_tape *tape = t->unroll[0].tape;
    if (cm_tape_norm_calls(tape) > 0) CM_TRY(gather_statistics(t));
    for (int i = 0; i < cm_tape_norm_calls(tape); i++) {
        const cm_norm_call *n = cm_tape_norm_call(tape, i);
        cm_call call = {.op = CM_OP_batch_norm_update, .attr = {.scale = 0.1f}};
        call.t[CM_T_batch_norm_update_mean] = cm_tensor_1d(t->state.block.base + n->mean, CM_F32, n->channels);
        call.t[CM_T_batch_norm_update_variance] = cm_tensor_1d(t->state.block.base + n->variance, CM_F32, n->channels);
        call.t[CM_T_batch_norm_update_stats] =
            cm_tensor_2d(t->stats.base + n->stats, CM_F32, t->all_chunks, 2 * n->channels);
        call.t[CM_T_batch_norm_update_stats].stride = (int)(t->stats_stride / sizeof(float));
        call.t[CM_T_batch_norm_update_factor] = cm_tensor_1d(factor, CM_F32, 2);
        CM_TRY(cm_call_run(t->streams[0], &call));
    }
    return CM_OK;
}

static void fill_report(const cm_trainer *t, cm_train_report *r) {
    const cm_scalars *s = &t->scalars[0];
    const cm_unroll_factors *f = &t->factors;
    const cm_trainer_options *o = t->config.options;
    double entropy = o->policy_weight > 0.0 ? o->entropy_weight / o->policy_weight : 0.0;
    int K = t->config.unroll;
    memset(r, 0, sizeof *r);
    for (int k = 0; k <= K; k++) {
        r->value_loss[k] = s->value[k], r->policy_loss[k] = s->policy[k], r->entropy[k] = s->entropy[k];
        r->total_loss += f->value[k] * s->value[k] + f->policy[k] * (s->policy[k] - entropy * s->entropy[k]);
    }
    for (int k = 0; k < K; k++) {
        r->reward_loss[k] = s->reward[k], r->consistency_loss[k] = s->consistency[k];
        r->afterstate_loss[k] = s->afterstate[k], r->code_loss[k] = s->code[k],
        r->commitment_loss[k] = s->commitment[k];
        r->total_loss += f->reward[k] * s->reward[k] + f->consistency[k] * s->consistency[k] +
                         f->afterstate[k] * s->afterstate[k] + f->code[k] * s->code[k] +
                         f->commitment[k] * s->commitment[k];
    }
    r->update = t->slot[0]->update;
    r->priorities = t->priorities;
}

/* Counts trained value targets, and those that the support cannot hold (learning 2: they are clamped). */
static void count_clipped(const cm_trainer *t, const cm_train_batch *batch, double *clipped, double *all) {
    const cm_support *s = &cm_network_get_config(t->config.network)->value_support;
    size_t n = (size_t)t->config.batch * (size_t)(t->config.unroll + 1);
    *clipped = *all = 0.0;
    if (s->size == 1) return;
    for (size_t i = 0; i < n; i++) {
        if (batch->value_mask[i] == 0.0f) continue;
        double x = (double)batch->target_value[i];
        double h = s->transform ? copysign(sqrt(fabs(x) + 1.0) - 1.0, x) + 0.001 * x : x;
        *all += 1.0;
        if (h < (double)s->min - 1e-6 || h > (double)s->max + 1e-6) *clipped += 1.0;
    }
}

/* What a rank knows of an update besides the gradient; summed over ranks as one array. */
typedef struct sums {
    cm_scalars scalars;
    double clipped, targets; /* value targets outside the support, and all that are trained */
} sums;

/* The first chunk's scalars <- sums over all chunks of all ranks. */
static cm_status reduce_scalars(cm_trainer *t, double *clipped_share) {
    sums all;
    sum_scalars(t);
    all.scalars = t->scalars[0];
    count_clipped(t, &t->slot[0]->batch, &all.clipped, &all.targets);
    CM_TRY(t->config.comm->all_reduce_double(t->config.comm, (double *)&all, sizeof all / sizeof(double)));
    t->scalars[0] = all.scalars;
    *clipped_share = all.targets > 0.0 ? all.clipped / all.targets : 0.0;
    return CM_OK;
}

/* Adds this batch's gradient to those waiting; *is_due if the optimiser's turn has come, with *gradient. */
static cm_status accumulate(cm_trainer *t, float **gradient, bool *is_due) {
    *is_due = true;
    if (accumulation(t) == 1) return CM_OK;
    const int n = (int)cm_network_parameters(t->config.network)->parameters;
    cm_call call = {.op = t->waiting ? CM_OP_add_into : CM_OP_lerp, .attr = {.scale = 1.0f}}; /* lerp copies */
    call.t[0] = cm_tensor_1d(t->accumulated.block.base, CM_F32, n);
    call.t[1] = cm_tensor_1d(*gradient, CM_F32, n);
    CM_TRY(cm_call_run(t->streams[0], &call));
    *gradient = (float *)t->accumulated.block.base;
    t->waiting = (t->waiting + 1) % accumulation(t);
    *is_due = t->waiting == 0;
    return CM_OK;
}

/* What has to be finite for a step. Of one rank it is all results, where they are. Ranks must decide alike, so what
 * each has found of its own results stands behind its gradient, and the sum over ranks is checked. */
static cm_optimizer_check what_to_check(const cm_trainer *t, const cm_trainer_slot *slot) {
    float *results = (float *)(void *)slot->results.block.base;
    const size_t count = (size_t)t->chunks * t->result_stride / sizeof(float);
    float *behind = t->gradient[0] + cm_network_parameters(t->config.network)->parameters;
    if (t->config.comm->size == 1) return (cm_optimizer_check){results, count};
    return (cm_optimizer_check){behind, CM_TRAINER_BEHIND};
}

/* Plays all chunks of a batch; the first one's gradient <- the sum over all chunks of all ranks. */
static cm_status find_gradient(cm_trainer *t, cm_trainer_slot *slot) {
    t->playing = slot;
    if (t->reducer) return cm_reducer_run(t->reducer, run_chunk);
    CM_TRY(cm_pool_run(t->config.pool, t->chunks, run_chunk, t));
    return cm_optimizer_sum(t->optimizer, t->gradient, t->chunks);
}

/* The step itself is on the device alone: where a loss or the norm is not finite it changes nothing. */
static cm_status step(cm_trainer *t, cm_trainer_slot *slot, const float *gradient) {
    const cm_optimizer_check check = what_to_check(t, slot);
    float *factor = cm_slot_factor(t, slot);
    const int64_t every = t->config.options->target_update_frequency;
    CM_TRY(cm_optimizer_clip(t->optimizer, gradient, &check, factor));
    CM_TRY(cm_scaling_keep(t, factor + CM_TRAINER_FACTORS));
    CM_TRY(cm_optimizer_step(t->optimizer, gradient, factor, t->updates));
    CM_TRY(update_statistics(t, factor));
    t->updates++;
    if (every > 0 && t->updates % every == 0) CM_TRY(cm_trainer_copy_target(t, factor));
    CM_TRY(cm_agreement_check(t));
    return cm_trainer_repack(t);
}

/* What there is to do with the gradient of the batch that was begun last, up to the results on the host. */
static cm_status launch_step(cm_trainer *t, cm_trainer_slot *slot) {
    float *gradient = t->gradient[0];
    slot->update = t->updates;
    CM_TRY(accumulate(t, &gradient, &slot->is_due));
    if (slot->is_due) CM_TRY(step(t, slot, gradient));
    return cm_slot_return(t, slot);
}

/* The gradient of the oldest batch, which that of the next one has taken the place of, once more. */
static cm_status find_again(cm_trainer *t) {
    return t->begun > 1 && accumulation(t) == 1 ? find_gradient(t, t->slot[0]) : CM_OK;
}

static cm_status check_losses(const cm_trainer *t, const cm_train_report *r) {
    if (isfinite(r->total_loss)) return CM_OK;
    const struct {
        const char *name;
        const double *loss;
        int count;
    } terms[] = {
        {"value", r->value_loss, t->config.unroll + 1},       {"policy", r->policy_loss, t->config.unroll + 1},
        {"reward", r->reward_loss, t->config.unroll},         {"consistency", r->consistency_loss, t->config.unroll},
        {"afterstate", r->afterstate_loss, t->config.unroll}, {"code", r->code_loss, t->config.unroll},
        {"commitment", r->commitment_loss, t->config.unroll}};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        for (int k = 0; k < terms[i].count; k++) {
            if (!isfinite(terms[i].loss[k])) {
                return cm_fail(CM_ERR_NOT_FINITE,
                               "update %lld: the %s loss of unroll step %d is not finite; lower "
                               "learning_rate, or check the environment's rewards",
                               (long long)r->update, terms[i].name, k);
            }
        }
    }
    return cm_fail(CM_ERR_NOT_FINITE, "update %lld: the total loss is not finite", (long long)r->update);
}

static cm_status check_norm(cm_trainer *t, const cm_train_report *r) {
    if (isfinite(r->gradient_norm)) return CM_OK;
    CM_TRY(find_again(t));
    CM_TRY(cm_trainer_fetch(t, CM_TRAINER_ALL));
    const float *gradient = cm_trainer_gradients(t);
    const cm_param_table *table = cm_network_parameters(t->config.network);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        for (size_t j = 0; !p->state && j < p->count; j++) {
            if (!isfinite(gradient[p->offset + j])) {
                return cm_fail(CM_ERR_NOT_FINITE,
                               "update %lld: the gradient of %s is not finite; lower learning_rate or "
                               "set clip_norm",
                               (long long)r->update, p->name);
            }
        }
    }
    return cm_fail(CM_ERR_NOT_FINITE,
                   "update %lld: the gradient norm overflows, or a prediction does; lower learning_rate",
                   (long long)r->update);
}

/* What was found of the oldest batch, when it is there. */
static cm_status read_report(cm_trainer *t, cm_train_report *report) {
    const cm_trainer_slot *slot = t->slot[0];
    const float *factor =
        (const float *)(const void *)((const char *)slot->results.host + (size_t)t->chunks * t->result_stride);
    CM_TRACE_BEGIN("wait");
    cm_status status = cm_mark_wait(&slot->returned);
    CM_TRACE_END();
    CM_TRY(status);
    CM_TRY(cm_pool_run(t->config.pool, t->chunks, collect_chunk, t));
    double clipped_share;
    CM_TRY(reduce_scalars(t, &clipped_share));
    fill_report(t, report);
    report->clipped = clipped_share;
    report->reduce_seconds = slot->reduce_seconds, report->exposed_seconds = slot->exposed_seconds;
    report->loss_scale = t->scaled.scale > 0.0 ? t->scaled.scale : 1.0;
    CM_TRY(check_losses(t, report));
    if (!slot->is_due) return CM_OK;
    report->learning_rate = cm_optimizer_rate(t->optimizer, report->update);
    report->stepped = true;
    report->skipped = cm_scaling_read(t, factor + CM_TRAINER_FACTORS);
    if (report->skipped) return CM_OK;
    report->gradient_norm = (double)factor[1];
    return check_norm(t, report);
}

static cm_status begin(cm_trainer *t, cm_trainer_slot *slot) {
    if (!t->config.backend->device->is_host) {
        CM_TRY(cm_stream_follow(t->streams[0], &slot->staged));
        if (t->config.bootstrap) CM_TRY(cm_slot_send_values(t, slot));
    }
    CM_TRY(find_gradient(t, slot));
    if (t->reducer) cm_reducer_seconds(t->reducer, &slot->reduce_seconds, &slot->exposed_seconds);
    t->slot[t->begun++] = slot;
    return t->begun == 1 ? launch_step(t, slot) : CM_OK;
}

static cm_status finish(cm_trainer *t, cm_train_report *report) {
    CM_TRY(read_report(t, report));
    t->begun--;
    for (int i = 0; i < t->begun; i++) t->slot[i] = t->slot[i + 1];
    return t->begun > 0 ? launch_step(t, t->slot[0]) : CM_OK;
}

cm_status cm_trainer_begin(cm_trainer *trainer, int slot, const cm_train_batch *batch) {
    cm_trainer_slot *own = cm_slot_at(trainer, slot);
    const int most = trainer->slot_count < CM_TRAINER_BEGUN ? trainer->slot_count : CM_TRAINER_BEGUN;
    if (trainer->begun == most)
        return cm_fail(CM_ERR_STATE, "%d batches are being learnt from, finish one first", most);
    own->batch = *batch;
    CM_TRACE_BEGIN("update");
    cm_status status = begin(trainer, own);
    CM_TRACE_END();
    if (status != CM_OK) trainer->begun = 0;
    return status;
}

/* After an error the last update counts for nothing, nor does what it was accumulated of. */
static void forget(cm_trainer *t, cm_status status) {
    if (status == CM_ERR_NOT_FINITE) {
        t->updates = t->slot[0]->update;
        t->waiting = 0;
    }
    t->begun = 0;
}

cm_status cm_trainer_finish(cm_trainer *trainer, cm_train_report *report) {
    if (trainer->begun == 0) return cm_fail(CM_ERR_STATE, "no batch is being learnt from");
    CM_TRACE_BEGIN("finish");
    cm_status status = finish(trainer, report);
    CM_TRACE_END();
    if (status != CM_OK) forget(trainer, status);
    return status;
}

cm_status cm_trainer_update(cm_trainer *trainer, const cm_train_batch *batch, cm_train_report *report) {
    CM_TRY(cm_trainer_stage(trainer, 0, batch));
    CM_TRY(cm_trainer_begin(trainer, 0, batch));
    return cm_trainer_finish(trainer, report);
}

/* Column k of out[rows, columns, width] <- a variable [rows, width], by way of scratch. */
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
    const int K = u->unroll, A = cm_network_get_config(trainer->config.network)->actions;
    const int of_values[3] = {u->rows, K + 1, 1}, of_rewards[3] = {u->rows, K, 1}, of_logits[3] = {u->rows, K + 1, A};
    float *scratch = NULL;
    CM_TRY(cm_alloc(&scratch, (size_t)u->rows * (size_t)A, sizeof(float), "predictions"));
    cm_status status = CM_OK;
    for (int k = 0; k <= K && status == CM_OK; k++) {
        if (value) status = read_column(pass, u->value[k].decoded, k, of_values, scratch, value);
        if (policy_logits && status == CM_OK)
            status = read_column(pass, u->policy_logits[k], k, of_logits, scratch, policy_logits);
        if (reward && k < K && status == CM_OK)
            status = read_column(pass, u->reward[k].decoded, k, of_rewards, scratch, reward);
    }
    free(scratch);
    return status;
}
