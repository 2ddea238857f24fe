/* Bootstrap values: representation and prediction by the EMA or target network. */
#include <stdlib.h>
#include <string.h>

#include "core/trace.h"
#include "trainer/internal.h"

/* A pass of so many rows: on a host one per worker, small enough to go round; on a device as many as a batch may need,
 * which share its one stream. */
enum { HOST_ROWS = 64, DEVICE_ROWS = 256 };

struct cm_values {
    cm_trainer *trainer; /* borrowed */
    cm_tape *tape;
    cm_var observation, value;
    int rows, blocks;           /* of a pass; passes for a batch whose positions all need a value */
    size_t input, work, result; /* bytes of a pass */
    cm_buffer results;          /* [blocks, result] */
    cm_buffer works;            /* on a host [workers, work], on a device one: passes run one after the other */
};

static bool is_on_host(const cm_values *v) { return v->trainer->config.backend->device->is_host; }

/* ---- creation ---- */

static cm_status record(cm_values *v) {
    const cm_network *network = v->trainer->config.network;
    const cm_network_config *c = cm_network_get_config(network);
    int dim[4] = {v->rows, c->observation[0], c->observation[1], c->observation[2]};
    CM_TRY(cm_tape_create(false, v->trainer->config.compute, &v->tape));
    v->observation = cm_tape_input(v->tape, CM_F32, c->observation_ndim + 1, dim);
    cm_outputs out =
        cm_network_predict(network, v->tape, cm_network_representation(network, v->tape, v->observation), false);
    v->value = cm_tape_support_decode(v->tape, out.value, &c->value_support);
    cm_tape_result(v->tape, v->value);
    return cm_tape_finish_inference(v->tape, v->trainer->config.backend);
}

/* Of a batch every position and every unrolled one may need a value. */
static int positions_of(const cm_values *v) { return v->trainer->config.batch * (v->trainer->config.unroll + 1); }

static int workers_of(const cm_values *v) { return is_on_host(v) ? cm_pool_size(v->trainer->config.pool) : 1; }

static cm_status build(cm_values *v) {
    const cm_trainer_config *c = &v->trainer->config;
    const int most = positions_of(v), wide = c->batch > DEVICE_ROWS ? c->batch : DEVICE_ROWS;
    v->rows = is_on_host(v) ? HOST_ROWS : most < wide ? most : wide;
    v->blocks = (most + v->rows - 1) / v->rows;
    CM_TRY(record(v));
    v->input = cm_align(cm_tape_bytes(v->tape, CM_MEM_INPUT) + CM_ALIGN);
    v->work = cm_align(cm_tape_bytes(v->tape, CM_MEM_WORK) + CM_ALIGN);
    v->result = cm_align(cm_tape_bytes(v->tape, CM_MEM_RESULT) + CM_ALIGN);
    CM_TRY(cm_buffer_create(&v->results, c->backend->device, (size_t)v->blocks * v->result, "bootstrap values"));
    return cm_buffer_create(&v->works, c->backend->device, (size_t)workers_of(v) * v->work, "activations");
}

cm_status cm_values_create(cm_trainer *trainer, cm_values **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "bootstrap values"));
    (*out)->trainer = trainer;
    return build(*out); /* the trainer destroys it, also after an error */
}

void cm_values_destroy(cm_values *v) {
    if (!v) return;
    cm_buffer_destroy(&v->results);
    cm_buffer_destroy(&v->works);
    cm_tape_destroy(v->tape);
    free(v);
}

size_t cm_values_bytes(const cm_values *v) { return v->results.bytes + v->works.bytes; }

float *cm_values_found(const cm_values *v) { return (float *)(void *)v->results.base; }

int cm_values_count(const cm_values *v) { return (int)((size_t)v->blocks * v->result / sizeof(float)); }

/* ---- of an in-flight batch ---- */

/* A device plays passes whose addresses never change, one of each block; a host has one of each worker. */
static int passes_of(const cm_values *v) { return is_on_host(v) ? workers_of(v) : v->blocks; }

static cm_status open_pass(const cm_values *v, cm_bootstraps *b, int i) {
    cm_trainer *t = v->trainer;
    const cm_weights which = t->config.options->ema_bootstraps ? CM_WEIGHTS_EMA : CM_WEIGHTS_TARGET;
    const size_t worker = is_on_host(v) ? (size_t)i : 0, block = is_on_host(v) ? 0 : (size_t)i;
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = cm_trainer_block(t, which)->block.base,
                                [CM_MEM_STATE] = cm_trainer_state_block(t, which)->block.base,
                                [CM_MEM_INPUT] = b->observations.block.base + block * v->input,
                                [CM_MEM_RESULT] = v->results.base + block * v->result,
                                [CM_MEM_WORK] = v->works.base + worker * v->work};
    return cm_pass_create(v->tape, t->streams[worker], base, &b->pass[i]);
}

cm_status cm_bootstraps_open(const cm_values *v, cm_bootstraps *b) {
    const size_t bytes = (size_t)v->blocks * v->input;
    CM_TRY(
        cm_mirror_create_pinned(&b->observations, v->trainer->config.backend->device, bytes, "bootstrap observations"));
    CM_TRY(cm_alloc(&b->row, (size_t)positions_of(v), sizeof *b->row, "bootstrap values"));
    CM_TRY(cm_alloc(&b->pass, (size_t)passes_of(v), sizeof *b->pass, "bootstrap values"));
    for (int i = 0; i < passes_of(v); i++) CM_TRY(open_pass(v, b, i));
    return CM_OK;
}

void cm_bootstraps_close(const cm_values *v, cm_bootstraps *b) {
    for (int i = 0; b->pass && i < passes_of(v); i++) cm_pass_destroy(b->pass[i]);
    free(b->pass);
    free(b->row);
    cm_mirror_destroy(&b->observations);
}

static int blocks_of(const cm_values *v, const cm_bootstraps *b) { return (b->used + v->rows - 1) / v->rows; }

void cm_bootstraps_stage(const cm_values *v, const cm_train_batch *batch, cm_bootstraps *b) {
    const size_t O = (size_t)cm_network_observation_size(v->trainer->config.network);
    const size_t first = cm_tape_offset(v->tape, v->observation), value = cm_tape_offset(v->tape, v->value);
    b->used = 0;
    for (int i = 0; i < positions_of(v); i++) {
        b->row[i] = 0;
        if (!batch->bootstrap_coefficient || batch->bootstrap_coefficient[i] == 0.0f) continue;
        const size_t block = (size_t)(b->used / v->rows), row = (size_t)(b->used % v->rows);
        float *to = (float *)(void *)((char *)b->observations.host + block * v->input + first);
        memcpy(to + row * O, batch->bootstrap_observations + (size_t)i * O, O * sizeof(float));
        b->row[i] = (int32_t)((block * v->result + value) / sizeof(float) + row);
        b->used++;
    }
}

cm_status cm_bootstraps_send(const cm_values *v, const cm_bootstraps *b, cm_stream *stream) {
    const size_t bytes = (size_t)blocks_of(v, b) * v->input;
    return b->used > 0 ? cm_stream_push(stream, b->observations.block.base, b->observations.host, bytes) : CM_OK;
}

/* ---- what is found ---- */

typedef struct run {
    const cm_values *values;
    const cm_bootstraps *from;
} run;

static cm_status run_block(void *context, int block, int worker) {
    const run *r = context;
    const cm_values *v = r->values;
    cm_pass *pass = r->from->pass[is_on_host(v) ? worker : block];
    cm_pass_bind(pass, CM_MEM_INPUT, r->from->observations.block.base + (size_t)block * v->input);
    cm_pass_bind(pass, CM_MEM_RESULT, v->results.base + (size_t)block * v->result);
    return cm_pass_forward(pass);
}

cm_status cm_bootstraps_run(const cm_values *v, const cm_bootstraps *b) {
    run r = {v, b};
    CM_TRACE_BEGIN("bootstrap");
    cm_status status = cm_pool_run(v->trainer->config.pool, blocks_of(v, b), run_block, &r);
    CM_TRACE_END();
    return status;
}
