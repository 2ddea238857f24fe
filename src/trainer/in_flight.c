/* In-flight batches: their inputs on the way to the device, and what was found of them on the way back. */
#include <stdlib.h>

#include "core/trace.h"
#include "trainer/internal.h"

static bool is_on_host(const cm_trainer *t) { return t->config.backend->device->is_host; }

/* ---- creation ---- */

static cm_status open_passes(const cm_trainer *t, cm_in_flight *flight) {
    const cm_mirror *weights = t->quantised.host ? &t->quantised : &t->parameters;
    const int workers = cm_pool_size(t->config.pool);
    CM_TRY(cm_alloc(&flight->pass, 2 * (size_t)workers, sizeof *flight->pass, "passes"));
    for (int i = 0; i < 2 * workers; i++) {
        void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = weights->block.base,
                                    [CM_MEM_STATE] = t->state.block.base,
                                    [CM_MEM_GRADIENT] = t->gradients.block.base,
                                    [CM_MEM_STATS] = t->stats.base,
                                    [CM_MEM_INPUT] = flight->inputs.block.base,
                                    [CM_MEM_SCALING] = t->scaling.block.base,
                                    [CM_MEM_RESULT] = flight->results.block.base,
                                    [CM_MEM_WORK] = t->work[i].base,
                                    [CM_MEM_POOL] = t->values ? cm_values_found(t->values) : NULL};
        const cm_tape *tape = t->unroll[i % 2].tape;
        if (tape) CM_TRY(cm_pass_create(tape, t->streams[i / 2], base, &flight->pass[i]));
    }
    return CM_OK;
}

static cm_status open_one(const cm_trainer *t, cm_in_flight *flight) {
    const cm_device *device = t->config.backend->device;
    const size_t chunks = (size_t)t->chunks;
    const size_t results = chunks * t->result_stride + CM_TRAINER_FOUND * sizeof(float);
    CM_TRY(cm_mirror_create_pinned(&flight->results, device, results, "results"));
    CM_TRY(cm_mirror_create_pinned(&flight->inputs, device, chunks * t->input_stride, "training inputs"));
    if (t->values) CM_TRY(cm_bootstraps_open(t->values, &flight->bootstraps));
    return open_passes(t, flight);
}

int cm_in_flight_count(const cm_trainer_config *config) {
    return config->backend->device->is_host || config->in_flight < 1 ? 1 : config->in_flight;
}

cm_status cm_in_flight_create(cm_trainer *t) {
    t->in_flight_count = cm_in_flight_count(&t->config);
    CM_TRY(cm_alloc(&t->in_flight, (size_t)t->in_flight_count, sizeof *t->in_flight, "in-flight batches"));
    pthread_mutex_init(&t->sending, NULL);
    if (!is_on_host(t)) CM_TRY(cm_stream_open(t->config.backend, &t->copies));
    for (int i = 0; i < t->in_flight_count; i++) CM_TRY(open_one(t, &t->in_flight[i]));
    return CM_OK;
}

static void close_one(const cm_trainer *t, cm_in_flight *flight) {
    for (int i = 0; flight->pass && i < 2 * cm_pool_size(t->config.pool); i++) cm_pass_destroy(flight->pass[i]);
    free(flight->pass);
    cm_event_destroy(&flight->staged);
    cm_event_destroy(&flight->returned);
    cm_mirror_destroy(&flight->inputs);
    cm_mirror_destroy(&flight->results);
    if (t->values) cm_bootstraps_close(t->values, &flight->bootstraps);
}

void cm_in_flight_destroy(cm_trainer *t) {
    if (!t->in_flight) return;
    cm_stream_close(t->copies);
    for (int i = 0; i < t->in_flight_count; i++) close_one(t, &t->in_flight[i]);
    pthread_mutex_destroy(&t->sending);
    free(t->in_flight);
}

/* ---- where things are ---- */

int cm_trainer_in_flight(const cm_trainer *trainer) { return trainer->in_flight_count; }

cm_in_flight *cm_in_flight_at(const cm_trainer *t, int place) { return &t->in_flight[place % t->in_flight_count]; }

float *cm_in_flight_factor(const cm_trainer *t, const cm_in_flight *flight) {
    return (float *)(void *)(flight->results.block.base + (size_t)t->chunks * t->result_stride);
}

cm_chunk_rows cm_trainer_chunk(const cm_trainer *t, int chunk) {
    return (cm_chunk_rows){.first = chunk * t->unroll[0].rows,
                           .total = t->config.batch * t->config.comm->size * accumulation(t),
                           .O = cm_network_observation_size(t->config.network),
                           .P = cm_policy_size(cm_network_policy(t->config.network))};
}

/* A chunk is full, or the last one, which is shorter. */
int cm_trainer_kind(const cm_trainer *t, const cm_chunk_rows *rows) {
    return t->config.batch - rows->first < t->unroll[0].rows ? 1 : 0;
}

static void *host_of(const cm_trainer *t, const cm_in_flight *flight, int chunk) {
    return (char *)flight->inputs.host + (size_t)chunk * t->input_stride;
}

/* ---- to the device ---- */

cm_status cm_in_flight_check(const cm_trainer *t, const cm_train_batch *batch) {
    const int each = t->unroll[0].frames_each;
    if (t->config.frames.count == 0 || batch->frames.each >= each) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "frames: a row of the batch has %d, an update reads %d", batch->frames.each, each);
}

void cm_in_flight_stage_chunk(const cm_trainer *t, const cm_in_flight *flight, const cm_train_batch *batch, int chunk) {
    const cm_chunk_rows rows = cm_trainer_chunk(t, chunk);
    const cm_unroll *u = &t->unroll[cm_trainer_kind(t, &rows)];
    cm_unroll_stage(u, &t->factors, batch, &rows, flight->bootstraps.row, host_of(t, flight, chunk));
}

static size_t bytes_of(const cm_trainer *t, int chunk) {
    const cm_chunk_rows rows = cm_trainer_chunk(t, chunk);
    return cm_tape_bytes(t->unroll[cm_trainer_kind(t, &rows)].tape, CM_MEM_INPUT);
}

size_t cm_trainer_input_bytes(const cm_trainer *t) {
    size_t bytes = 0;
    for (int c = 0; c < t->chunks; c++) bytes += bytes_of(t, c);
    return bytes;
}

static cm_status send_chunk(const cm_trainer *t, const cm_in_flight *flight, int chunk) {
    return cm_stream_push(t->copies, flight->inputs.block.base + (size_t)chunk * t->input_stride,
                          host_of(t, flight, chunk), bytes_of(t, chunk));
}

static cm_status send_all(const cm_trainer *t, cm_in_flight *flight) {
    if (t->values) CM_TRY(cm_bootstraps_send(t->values, &flight->bootstraps, t->copies));
    for (int c = 0; c < t->chunks; c++) CM_TRY(send_chunk(t, flight, c));
    return cm_event_record(&flight->staged, t->copies);
}

static cm_status stage(cm_trainer *t, cm_in_flight *flight, const cm_train_batch *batch) {
    CM_TRY(cm_event_synchronize(&flight->staged)); /* the last one's inputs may be on their way */
    if (t->values) cm_bootstraps_stage(t->values, batch, &flight->bootstraps);
    for (int c = 0; c < t->chunks; c++) cm_in_flight_stage_chunk(t, flight, batch, c);
    pthread_mutex_lock(&t->sending);
    cm_status status = send_all(t, flight);
    pthread_mutex_unlock(&t->sending);
    return status;
}

cm_status cm_trainer_stage(cm_trainer *trainer, int place, const cm_train_batch *batch) {
    CM_TRY(cm_in_flight_check(trainer, batch));
    if (is_on_host(trainer)) return CM_OK; /* each worker stages its own chunks */
    CM_TRACE_BEGIN("stage");
    cm_status status = stage(trainer, cm_in_flight_at(trainer, place), batch);
    CM_TRACE_END();
    return status;
}

/* ---- and back ---- */

cm_status cm_in_flight_return(const cm_trainer *t, cm_in_flight *flight) {
    const size_t bytes = (size_t)t->chunks * t->result_stride + CM_TRAINER_FOUND * sizeof(float);
    CM_TRY(cm_stream_pull(t->streams[0], flight->results.host, flight->results.block.base, bytes));
    return cm_event_record(&flight->returned, t->streams[0]);
}
