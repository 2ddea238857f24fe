/* Bootstrap values: representation and prediction by the slow weights. */
#include <stdlib.h>
#include <string.h>

#include "trainer/internal.h"

/* A pass of so many rows: on a host one per worker, small enough to go round; on a device as many as a batch may need,
 * which share its one stream, so that all of them are launched before the first is waited for. */
enum { HOST_ROWS = 64, DEVICE_ROWS = 256 };

struct cm_values {
    cm_trainer *trainer; /* borrowed */
    cm_tape *tape;
    cm_var observation, value;
    int rows, count;            /* of a pass, of passes */
    size_t input, work, result; /* bytes of a pass */
    cm_mirror inputs, results;  /* pinned, [count, ...] */
    cm_buffer works;            /* on a host [count, work], on a device one: passes run one after the other */
    cm_pass **pass;             /* [count] */
    cm_mark returned;           /* behind the results' way back */
    /* of the call that is running */
    int n;
    const float *from;
    float *to;
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
static void choose_sizes(cm_values *v) {
    const cm_trainer_config *c = &v->trainer->config;
    const int most = c->batch * (c->unroll + 1), device_rows = c->batch > DEVICE_ROWS ? c->batch : DEVICE_ROWS;
    v->rows = is_on_host(v) ? HOST_ROWS : most < device_rows ? most : device_rows;
    v->count = is_on_host(v) ? cm_pool_size(c->pool) : (most + v->rows - 1) / v->rows;
}

static cm_status open_pass(cm_values *v, int i) {
    const cm_trainer *t = v->trainer;
    const cm_weights which = t->config.options->ema_bootstraps ? CM_WEIGHTS_EMA : CM_WEIGHTS_TARGET;
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = cm_trainer_block(v->trainer, which)->block.base,
                                [CM_MEM_STATE] = cm_trainer_state_block(v->trainer, which)->block.base,
                                [CM_MEM_INPUT] = v->inputs.block.base + (size_t)i * v->input,
                                [CM_MEM_RESULT] = v->results.block.base + (size_t)i * v->result,
                                [CM_MEM_WORK] = v->works.base + (is_on_host(v) ? (size_t)i * v->work : 0)};
    return cm_pass_create(v->tape, t->streams[is_on_host(v) ? i : 0], base, &v->pass[i]);
}

static cm_status build(cm_values *v) {
    const cm_device *device = v->trainer->config.backend->device;
    choose_sizes(v);
    CM_TRY(record(v));
    const size_t count = (size_t)v->count;
    v->input = cm_align(cm_tape_bytes(v->tape, CM_MEM_INPUT) + CM_ALIGN);
    v->work = cm_align(cm_tape_bytes(v->tape, CM_MEM_WORK) + CM_ALIGN);
    v->result = cm_align(cm_tape_bytes(v->tape, CM_MEM_RESULT) + CM_ALIGN);
    CM_TRY(cm_mirror_create_pinned(&v->inputs, device, count * v->input, "bootstrap observations"));
    CM_TRY(cm_mirror_create_pinned(&v->results, device, count * v->result, "bootstrap values"));
    CM_TRY(cm_buffer_create(&v->works, device, (is_on_host(v) ? count : 1) * v->work, "activations"));
    CM_TRY(cm_alloc(&v->pass, count, sizeof(cm_pass *), "bootstrap values"));
    for (int i = 0; i < v->count; i++) CM_TRY(open_pass(v, i));
    return CM_OK;
}

cm_status cm_values_create(cm_trainer *trainer, cm_values **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "bootstrap values"));
    (*out)->trainer = trainer;
    return build(*out); /* the trainer destroys it, also after an error */
}

void cm_values_destroy(cm_values *v) {
    if (!v) return;
    for (int i = 0; v->pass && i < v->count; i++) cm_pass_destroy(v->pass[i]);
    free(v->pass);
    cm_mark_destroy(&v->returned);
    cm_mirror_destroy(&v->inputs);
    cm_mirror_destroy(&v->results);
    cm_buffer_destroy(&v->works);
    cm_tape_destroy(v->tape);
    free(v);
}

size_t cm_values_bytes(const cm_values *v) { return v->inputs.block.bytes + v->results.block.bytes + v->works.bytes; }

/* ---- a call ---- */

static int rows_of(const cm_values *v, int block) {
    const int first = block * v->rows;
    return v->n - first < v->rows ? v->n - first : v->rows;
}

/* The rows of a block into the host's side of pass i, and its values out of it. */
static void put_rows(const cm_values *v, int block, int i) {
    const size_t O = (size_t)cm_network_observation_size(v->trainer->config.network);
    char *to = (char *)v->inputs.host + (size_t)i * v->input + cm_tape_offset(v->tape, v->observation);
    memcpy(to, v->from + (size_t)(block * v->rows) * O, (size_t)rows_of(v, block) * O * sizeof(float));
}

static void get_rows(const cm_values *v, int block, int i) {
    const char *from = (const char *)v->results.host + (size_t)i * v->result + cm_tape_offset(v->tape, v->value);
    memcpy(v->to + block * v->rows, from, (size_t)rows_of(v, block) * sizeof(float));
}

static cm_status run_block(void *context, int block, int worker) {
    const cm_values *v = context;
    put_rows(v, block, worker);
    CM_TRY(cm_pass_forward(v->pass[worker]));
    get_rows(v, block, worker);
    return CM_OK;
}

/* Blocks first .. first + count - 1 on a device, a pass each: there by one copy, back by one, and one wait. */
static cm_status run_blocks(cm_values *v, int first, int count) {
    cm_stream *stream = v->trainer->streams[0];
    for (int i = 0; i < count; i++) put_rows(v, first + i, i);
    CM_TRY(cm_stream_push(stream, v->inputs.block.base, v->inputs.host, (size_t)count * v->input));
    for (int i = 0; i < count; i++) CM_TRY(cm_pass_forward(v->pass[i]));
    CM_TRY(cm_stream_pull(stream, v->results.host, v->results.block.base, (size_t)count * v->result));
    CM_TRY(cm_mark_set(&v->returned, stream));
    CM_TRY(cm_mark_wait(&v->returned));
    for (int i = 0; i < count; i++) get_rows(v, first + i, i);
    return CM_OK;
}

cm_status cm_trainer_values(cm_trainer *trainer, int n, const float *observations, float *out) {
    cm_values *v = trainer->values;
    if (!v) return cm_fail(CM_ERR_STATE, "this trainer was made without bootstrap values");
    v->n = n, v->from = observations, v->to = out;
    const int blocks = (n + v->rows - 1) / v->rows;
    if (is_on_host(v)) return cm_pool_run(trainer->config.pool, blocks, run_block, v);
    for (int first = 0; first < blocks; first += v->count)
        CM_TRY(run_blocks(v, first, blocks - first < v->count ? blocks - first : v->count));
    return CM_OK;
}
