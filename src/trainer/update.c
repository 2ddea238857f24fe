/* One update: gradient, step, results; the gradient of the next batch may be launched meanwhile. */
#include <math.h>

#include "core/trace.h"
#include "trainer/internal.h"

/* Where the batch statistics of a chunk of this rank stand: chunks of all ranks are in the order of the batch. */
static unsigned char *chunk_stats(const cm_trainer *t, int chunk) {
    return t->stats.base + (size_t)(t->config.comm->rank * t->chunks + chunk) * t->stats_stride;
}

static cm_status run_chunk(void *context, int chunk, int worker) {
    cm_trainer *t = context;
    const cm_in_flight *flight = t->playing;
    const cm_chunk_rows rows = cm_trainer_chunk(t, chunk);
    const int kind = cm_trainer_kind(t, &rows);
    cm_pass *pass = flight->pass[2 * worker + kind];
    cm_pass_bind(pass, CM_MEM_INPUT, flight->inputs.block.base + (size_t)chunk * t->input_stride);
    cm_pass_bind(pass, CM_MEM_GRADIENT, t->gradient[chunk]);
    cm_pass_bind(pass, CM_MEM_STATS, chunk_stats(t, chunk));
    cm_pass_bind(pass, CM_MEM_RESULT, flight->results.block.base + (size_t)chunk * t->result_stride);
    if (t->config.backend->device->is_host) {
        CM_TRACE_BEGIN("stage");
        cm_in_flight_stage_chunk(t, flight, &flight->batch, chunk);
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

/* The batch statistics of all chunks of all ranks, where they are. */
static cm_status gather_statistics(const cm_trainer *t) {
    cm_comm *comm = t->config.comm;
    const size_t mine = (size_t)t->chunks * t->stats_stride;
    if (comm->size == 1) return CM_OK;
    if (t->config.backend->device->is_host) return comm->all_gather(comm, chunk_stats(t, 0), mine, t->stats.base);
    return comm->gather_on(comm, cm_stream_queue(t->streams[0]), chunk_stats(t, 0), mine, t->stats.base);
}

/* What all chunks have at a place of their statistics. */
static cm_tensor stats_at(const cm_trainer *t, size_t offset, int numbers) {
    cm_tensor stats = cm_tensor_2d(t->stats.base + offset, CM_F32, t->all_chunks, numbers);
    stats.stride = (int)(t->stats_stride / sizeof(float));
    return stats;
}

/* Ranges move towards the largest of all chunks and calls, once per batch. */
static cm_status update_ranges(const cm_trainer *t, const cm_mirror *state, float *factor) {
    const cm_tape *tape = t->unroll[0].tape;
    for (int i = 0; i < cm_tape_range_calls(tape); i++) {
        const cm_range_call *r = cm_tape_range_call(tape, i);
        cm_call call = {.op = CM_OP_range_update, .attr = {.scale = CM_RANGE_MOMENTUM}};
        call.t[CM_T_range_update_range] = cm_tensor_1d(state->block.base + r->range, CM_F32, 1);
        call.t[CM_T_range_update_most] = stats_at(t, r->most, r->numbers);
        if (factor) call.t[CM_T_range_update_factor] = cm_tensor_1d(factor, CM_F32, 2);
        CM_TRY(cm_call_run(t->streams[0], &call));
    }
    return CM_OK;
}

/* Running statistics take the chunks' average, once per forward call, in the order of the calls; unless the step of
 * `factor` was none (NULL: in any case). */
static cm_status update_statistics(cm_trainer *t, const cm_mirror *state, float *factor) {
    const cm_tape *tape = t->unroll[0].tape;
    if (cm_tape_norm_calls(tape) > 0 || cm_tape_range_calls(tape) > 0) CM_TRY(gather_statistics(t));
    for (int i = 0; i < cm_tape_norm_calls(tape); i++) {
        const cm_norm_call *n = cm_tape_norm_call(tape, i);
        cm_call call = {.op = CM_OP_batch_norm_update, .attr = {.scale = 0.1f}};
        call.t[CM_T_batch_norm_update_mean] = cm_tensor_1d(state->block.base + n->mean, CM_F32, n->channels);
        call.t[CM_T_batch_norm_update_variance] = cm_tensor_1d(state->block.base + n->variance, CM_F32, n->channels);
        call.t[CM_T_batch_norm_update_stats] = stats_at(t, n->stats, 2 * n->channels);
        if (factor) call.t[CM_T_batch_norm_update_factor] = cm_tensor_1d(factor, CM_F32, 2);
        CM_TRY(cm_call_run(t->streams[0], &call));
    }
    return update_ranges(t, state, factor);
}

static cm_status copy_statistics(const cm_trainer *t, const cm_mirror *to, const cm_mirror *from, float *factor) {
    return cm_trainer_copy(t, to, from, cm_network_parameters(t->config.network)->states, factor);
}

/* Running statistics take every batch, in an own block: a step that comes to nothing changes none. */
static cm_status accumulate_statistics(cm_trainer *t) {
    if (t->waiting == 0) CM_TRY(copy_statistics(t, &t->accumulated_state, &t->state, NULL));
    return update_statistics(t, &t->accumulated_state, NULL);
}

static cm_status step_statistics(cm_trainer *t, float *factor) {
    if (accumulation(t) == 1) return update_statistics(t, &t->state, factor);
    return copy_statistics(t, &t->state, &t->accumulated_state, factor);
}

/* Adds this batch's gradient to those waiting; *has_step if it is the last one of its update, with *gradient. */
static cm_status accumulate(cm_trainer *t, float **gradient, bool *has_step) {
    *has_step = true;
    if (accumulation(t) == 1) return CM_OK;
    CM_TRY(accumulate_statistics(t));
    const int n = (int)cm_network_parameters(t->config.network)->parameters;
    cm_call call = {.op = t->waiting ? CM_OP_add_into : CM_OP_lerp, .attr = {.scale = 1.0f}}; /* lerp copies */
    call.t[0] = cm_tensor_1d(t->accumulated.block.base, CM_F32, n);
    call.t[1] = cm_tensor_1d(*gradient, CM_F32, n);
    CM_TRY(cm_call_run(t->streams[0], &call));
    *gradient = (float *)t->accumulated.block.base;
    t->waiting = (t->waiting + 1) % accumulation(t);
    *has_step = t->waiting == 0;
    return CM_OK;
}

/* What has to be finite for a step. Of one rank it is all results, where they are. Ranks must decide alike, so what
 * each has found of its own results stands after its gradient, and the sum over ranks is checked. */
static cm_optimizer_check what_to_check(const cm_trainer *t, const cm_in_flight *flight) {
    float *results = (float *)(void *)flight->results.block.base;
    const size_t count = (size_t)t->chunks * t->result_stride / sizeof(float);
    float *tail = t->gradient[0] + cm_network_parameters(t->config.network)->parameters;
    if (t->config.comm->size == 1) return (cm_optimizer_check){results, count};
    return (cm_optimizer_check){tail, CM_TRAINER_TAIL};
}

/* Finds the batch's bootstrap values, then plays all its chunks; the first one's gradient <- the sum over all chunks of
 * all ranks. */
static cm_status find_gradient(cm_trainer *t, cm_in_flight *flight) {
    t->playing = flight;
    if (t->values) CM_TRY(cm_bootstraps_run(t->values, &flight->bootstraps));
    if (t->reducer) return cm_reducer_run(t->reducer, run_chunk);
    CM_TRY(cm_pool_run(t->config.pool, t->chunks, run_chunk, t));
    CM_TRACE_BEGIN("optimizer");
    const cm_status status = cm_optimizer_sum(t->optimizer, t->gradient, t->chunks);
    CM_TRACE_END();
    return status;
}

/* The step itself is on the device alone: where a loss or the norm is not finite it changes nothing. */
static cm_status step(cm_trainer *t, cm_in_flight *flight, const float *gradient) {
    const cm_optimizer_check check = what_to_check(t, flight);
    float *factor = cm_in_flight_factor(t, flight);
    const int64_t every = t->config.options->target_update_frequency;
    CM_TRY(cm_optimizer_clip(t->optimizer, gradient, &check, factor));
    CM_TRY(cm_scaling_keep(t, factor + CM_TRAINER_FACTORS));
    CM_TRY(cm_optimizer_step(t->optimizer, gradient, factor, t->updates));
    CM_TRY(step_statistics(t, factor));
    t->updates++;
    const bool moves_target = every > 0 && t->updates % every == 0;
    if (moves_target) CM_TRY(cm_trainer_copy_target(t, factor));
    CM_TRY(cm_agreement_check(t));
    return cm_trainer_repack(t, moves_target);
}

/* What there is to do with the gradient of the batch that was launched last, up to the results on the host. */
static cm_status launch_step(cm_trainer *t, cm_in_flight *flight) {
    float *gradient = t->gradient[0];
    flight->update = t->updates;
    CM_TRY(accumulate(t, &gradient, &flight->has_step));
    if (flight->has_step) {
        CM_TRACE_BEGIN("optimizer");
        const cm_status status = step(t, flight, gradient);
        CM_TRACE_END();
        CM_TRY(status);
    }
    return cm_in_flight_return(t, flight);
}

static cm_status launch(cm_trainer *t, cm_in_flight *flight) {
    const bool is_on_host = t->config.backend->device->is_host;
    if (is_on_host && t->values) cm_bootstraps_stage(t->values, &flight->batch, &flight->bootstraps);
    if (!is_on_host) CM_TRY(cm_stream_wait(t->streams[0], &flight->staged));
    CM_TRY(find_gradient(t, flight));
    if (t->reducer) cm_reducer_seconds(t->reducer, &flight->reduce_seconds, &flight->exposed_seconds);
    t->launched[t->launched_count++] = flight;
    return t->launched_count == 1 ? launch_step(t, flight) : CM_OK;
}

/* The gradient of the oldest batch is found once more where that of the next one may have taken its place. */
static cm_status fail_norm(cm_trainer *t, const cm_train_report *report) {
    if (t->launched_count > 1 && accumulation(t) == 1) CM_TRY(find_gradient(t, t->launched[0]));
    return cm_trainer_fail_norm(t, report);
}

static cm_status finish(cm_trainer *t, cm_train_report *report) {
    CM_TRY(cm_trainer_read(t, report));
    if (!isfinite(report->gradient_norm)) return fail_norm(t, report);
    t->launched_count--;
    for (int i = 0; i < t->launched_count; i++) t->launched[i] = t->launched[i + 1];
    return t->launched_count > 0 ? launch_step(t, t->launched[0]) : CM_OK;
}

cm_status cm_trainer_launch(cm_trainer *trainer, int place, const cm_train_batch *batch) {
    cm_in_flight *own = cm_in_flight_at(trainer, place);
    const int most = trainer->in_flight_count < CM_TRAINER_LAUNCHED ? trainer->in_flight_count : CM_TRAINER_LAUNCHED;
    if (trainer->launched_count == most)
        return cm_fail(CM_ERR_STATE, "%d batches are being learnt from, finish one first", most);
    CM_TRY(cm_in_flight_check(trainer, batch));
    own->batch = *batch;
    CM_TRACE_BEGIN("update");
    cm_status status = launch(trainer, own);
    CM_TRACE_END();
    if (status != CM_OK) trainer->launched_count = trainer->waiting = 0;
    return status;
}

/* After an error the last update counts for nothing, nor does what it was accumulated of. */
static void forget(cm_trainer *t, cm_status status) {
    if (status == CM_ERR_NOT_FINITE) {
        t->updates = t->launched[0]->update;
        t->waiting = 0;
    }
    t->launched_count = 0;
}

cm_status cm_trainer_finish(cm_trainer *trainer, cm_train_report *report) {
    if (trainer->launched_count == 0) return cm_fail(CM_ERR_STATE, "no batch is being learnt from");
    CM_TRACE_BEGIN("finish");
    cm_status status = finish(trainer, report);
    CM_TRACE_END();
    if (status != CM_OK) forget(trainer, status);
    return status;
}

cm_status cm_trainer_update(cm_trainer *trainer, const cm_train_batch *batch, cm_train_report *report) {
    CM_TRY(cm_trainer_stage(trainer, 0, batch));
    CM_TRY(cm_trainer_launch(trainer, 0, batch));
    return cm_trainer_finish(trainer, report);
}
