/* A trainer: its blocks, tapes and streams. */
#include "trainer/trainer.h"

#include <stdlib.h>

#include "core/arena.h"
#include "trainer/internal.h"

/* ---- creation ---- */

static cm_status alloc_mirror(const cm_trainer *t, cm_mirror *mirror, size_t bytes, const char *what) {
    return cm_mirror_create(mirror, t->config.backend->device, bytes, what);
}

static cm_status alloc_blocks(cm_trainer *t) {
    const cm_param_table *table = cm_network_parameters(t->config.network);
    size_t n = table->parameters * sizeof(float), s = table->states * sizeof(float);
    CM_TRY(alloc_mirror(t, &t->parameters, n + CM_ALIGN, "parameters"));
    CM_TRY(alloc_mirror(t, &t->state, s + CM_ALIGN, "running statistics"));
    if (cm_network_get_config(t->config.network)->fake_quantised)
        CM_TRY(alloc_mirror(t, &t->quantised, n + CM_ALIGN, "quantised parameters"));
    if (t->config.options->ema_decay > 0.0) CM_TRY(alloc_mirror(t, &t->average, n + CM_ALIGN, "averaged parameters"));
    if (t->config.options->target_update_frequency > 0) {
        CM_TRY(alloc_mirror(t, &t->target, n + CM_ALIGN, "target network"));
        CM_TRY(alloc_mirror(t, &t->target_state, s + CM_ALIGN, "target network's statistics"));
    }
    if (t->config.options->gradient_accumulation > 1) {
        CM_TRY(alloc_mirror(t, &t->accumulated, n + CM_ALIGN, "accumulated gradients"));
        CM_TRY(alloc_mirror(t, &t->accumulated_state, s + CM_ALIGN, "accumulated statistics"));
    }
    return CM_OK;
}

/* Of `values` numbers in POOL targets bootstrap; 0: there are none. */
static cm_status record(cm_trainer *t, int values) {
    const int B = t->config.batch, standard = t->config.backend->device->is_host ? CM_CHUNK_ROWS : B;
    const int chunk_rows = t->config.options->chunk_rows > 0 ? t->config.options->chunk_rows : standard;
    int full = B < chunk_rows ? B : chunk_rows, tail = B % full;
    t->chunks = (B + full - 1) / full;
    t->all_chunks = t->chunks * t->config.comm->size;
    CM_TRY(cm_unroll_record(&t->config, full, values, &t->unroll[0]));
    return tail ? cm_unroll_record(&t->config, tail, values, &t->unroll[1]) : CM_OK;
}

static void set_strides(cm_trainer *t) {
    const cm_tape *tape = t->unroll[0].tape;
    t->input_stride = cm_align(cm_tape_bytes(tape, CM_MEM_INPUT) + CM_ALIGN);
    t->gradient_stride =
        cm_align((cm_network_parameters(t->config.network)->parameters + CM_TRAINER_TAIL) * sizeof(float));
    t->stats_stride = cm_align(cm_tape_bytes(tape, CM_MEM_STATS) + CM_ALIGN);
    t->result_stride = cm_align(cm_tape_bytes(tape, CM_MEM_RESULT));
}

/* Each chunk has its inputs, its gradients, its batch statistics and its results. */
static cm_status alloc_chunks(cm_trainer *t) {
    set_strides(t);
    size_t chunks = (size_t)t->chunks, all_chunks = (size_t)t->all_chunks;
    CM_TRY(alloc_mirror(t, &t->gradients, chunks * t->gradient_stride, "gradients"));
    CM_TRY(cm_buffer_create(&t->stats, t->config.backend->device, all_chunks * t->stats_stride, "batch statistics"));
    CM_TRY(cm_alloc(&t->gradient, chunks, sizeof *t->gradient, "gradients"));
    CM_TRY(cm_alloc(&t->scalars, chunks, sizeof *t->scalars, "losses"));
    CM_TRY(cm_alloc(&t->chunk_pass, chunks, sizeof *t->chunk_pass, "passes"));
    CM_TRY(cm_alloc(&t->priorities, (size_t)t->config.batch, sizeof(float), "priorities"));
    CM_TRY(cm_alloc(&t->value_targets, (size_t)t->config.batch * (size_t)(t->config.unroll + 1), sizeof(float),
                    "value targets"));
    for (int c = 0; c < t->chunks; c++)
        t->gradient[c] = (float *)(t->gradients.block.base + (size_t)c * t->gradient_stride);
    return CM_OK;
}

static cm_status open_worker(cm_trainer *t, int worker) {
    /* Its launches are many and short, those of a search, which runs at the same time, few and long. */
    CM_TRY(cm_stream_open_as(t->config.backend, true, &t->streams[worker]));
    const bool is_alone = t->config.comm->size == 1 && t->config.backend->device->is_host; /* else others would wait */
    t->streams[worker]->stop = is_alone ? t->config.stop : NULL;
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

static bool takes_frames(const cm_trainer_config *config) {
    const cm_network_config *c = cm_network_get_config(config->network);
    const bool has_encoder = c->model == CM_NETWORK_CHANCE && c->encoder;
    return c->observation_ndim == 3 && !has_encoder && c->observation[2] % config->frames.count == 0;
}

static cm_status check(const cm_trainer_config *config) {
    const cm_trainer_options *o = config->options;
    if (config->batch < 1) return cm_fail(CM_ERR_INPUT, "batch_size is %d, must be >= 1", config->batch);
    if (config->unroll < 0 || config->unroll > CM_UNROLL_MAX)
        return cm_fail(CM_ERR_INPUT, "num_unroll_steps is %d, must be 0..%d", config->unroll, CM_UNROLL_MAX);
    if (config->frames.count > 0 && !takes_frames(config))
        return cm_fail(CM_ERR_INPUT, "frames: %d of a picture do not make what this network sees",
                       config->frames.count);
    if (o->entropy_weight > 0.0 && o->policy_weight <= 0.0) {
        return cm_fail(CM_ERR_INPUT,
                       "entropy_weight is %g but policy_weight is 0: the entropy bonus belongs to the policy "
                       "loss; set both or none",
                       o->entropy_weight);
    }
    return CM_OK;
}

static cm_status create_optimizer(cm_trainer *t) {
    const cm_optimizer_config config = {.table = cm_network_parameters(t->config.network),
                                        .options = t->config.options,
                                        .pool = t->config.pool,
                                        .streams = t->streams,
                                        .total_updates = t->config.total_updates,
                                        .parameters = (float *)t->parameters.block.base,
                                        .average = (float *)t->average.block.base,
                                        .compute = t->config.compute,
                                        .scaling = (float *)t->scaling.block.base};
    return cm_optimizer_create(&config, &t->optimizer);
}

static cm_status build(cm_trainer *t) {
    CM_TRY(check(&t->config));
    cm_unroll_factors_make(t->config.options, t->config.unroll, &t->factors);
    if (!t->config.backend->device->is_host) {
        CM_TRY(cm_pool_create(1, &t->one));
        t->config.pool = t->one;
    }
    CM_TRY(alloc_blocks(t));
    cm_network_initialise(t->config.network, t->config.seed, t->parameters.host, t->state.host);
    CM_TRY(cm_mirror_push(&t->parameters));
    CM_TRY(cm_mirror_push(&t->state));
    if (t->config.bootstrap) CM_TRY(cm_values_create(t, &t->values));
    CM_TRY(record(t, t->values ? cm_values_count(t->values) : 0));
    CM_TRY(alloc_chunks(t));
    CM_TRY(cm_scaling_create(t));
    CM_TRY(open_workers(t));
    CM_TRY(cm_reducer_create(t)); /* says in which parts passes are played */
    CM_TRY(cm_in_flight_create(t));
    CM_TRY(cm_agreement_create(t));
    CM_TRY(create_optimizer(t));
    CM_TRY(cm_trainer_copy_online(t));
    return cm_trainer_repack(t, true);
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

/* What was launched, after an error or an interruption, still uses what is about to go. */
static void wait_for_all(const cm_trainer *t) {
    cm_event end = {0};
    if (!t->streams || !t->streams[0] || t->config.backend->device->is_host) return;
    const bool waited = cm_event_record(&end, t->streams[0]) == CM_OK && cm_event_synchronize(&end) == CM_OK;
    (void)waited; /* else the device is lost, and nothing runs on it */
    cm_event_destroy(&end);
}

void cm_trainer_destroy(cm_trainer *trainer) {
    if (!trainer) return;
    cm_trainer *t = trainer;
    cm_mirror *mirrors[] = {&t->parameters, &t->state,       &t->average,           &t->target,  &t->target_state,
                            &t->gradients,  &t->accumulated, &t->accumulated_state, &t->scaling, &t->quantised};
    wait_for_all(t);
    cm_reducer_destroy(t->reducer);
    cm_in_flight_destroy(t);
    cm_values_destroy(t->values);
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
    free(t->value_targets);
    free(t->hashes);
    free(t);
}

static size_t activations_of(const cm_trainer *t) {
    const size_t workers = t->config.backend->device->is_host ? (size_t)cm_pool_size(t->config.pool) : 1;
    size_t bytes = 0;
    for (int kind = 0; kind < 2 && t->unroll[kind].tape; kind++)
        bytes += workers * cm_tape_bytes(t->unroll[kind].tape, CM_MEM_WORK);
    return bytes;
}

int cm_trainer_memory(const cm_trainer *trainer, cm_memory_row *rows, int capacity) {
    const cm_trainer *t = trainer;
    size_t activations = activations_of(t), inputs = t->stats.bytes;
    size_t bootstraps = t->values ? cm_values_bytes(t->values) : 0;
    for (int i = 0; i < t->in_flight_count; i++) {
        activations += t->in_flight[i].results.block.bytes;
        inputs += t->in_flight[i].inputs.block.bytes;
        bootstraps += t->in_flight[i].bootstraps.observations.block.bytes;
    }
    const int moments = cm_optimizer_moment_count(t->config.options);
    const cm_memory_row all[] = {
        {"parameters", t->parameters.block.bytes + t->quantised.block.bytes + t->state.block.bytes},
        {"optimizer moments", (size_t)moments * t->parameters.block.bytes},
        {"gradients", t->gradients.block.bytes + t->accumulated.block.bytes + t->accumulated_state.block.bytes},
        {"averaged and target parameters",
         t->average.block.bytes + t->target.block.bytes + t->target_state.block.bytes},
        {CM_ROW_ACTIVATIONS, activations},
        {"training inputs", inputs},
        {"bootstrap values", bootstraps},
    };
    int count = (int)(sizeof all / sizeof *all);
    for (int i = 0; i < count && i < capacity; i++) rows[i] = all[i];
    return count < capacity ? count : capacity;
}

/* Passes and, of each chunk, gradients, inputs, statistics, results; the sum over batches. */
static cm_trainer_need need_of(cm_trainer *t) {
    set_strides(t);
    const size_t batches = (size_t)cm_in_flight_count(&t->config), sums = accumulation(t) > 1 ? t->gradient_stride : 0;
    const size_t chunk = t->gradient_stride + t->stats_stride + batches * (t->input_stride + t->result_stride);
    const size_t activations = activations_of(t);
    return (cm_trainer_need){activations, activations + (size_t)t->chunks * chunk + sums};
}

cm_status cm_trainer_plan_memory(const cm_trainer_config *config, cm_trainer_need *out) {
    cm_trainer *t = NULL;
    CM_TRY(cm_alloc(&t, 1, sizeof *t, "a plan of memory"));
    t->config = *config;
    cm_comm_single(&t->single);
    if (!t->config.comm) t->config.comm = &t->single;
    const cm_status status = record(t, config->bootstrap ? config->batch : 0);
    if (status == CM_OK) *out = need_of(t);
    for (int kind = 0; kind < 2; kind++) cm_tape_destroy(t->unroll[kind].tape);
    free(t);
    return status;
}
