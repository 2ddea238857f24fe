/* Benchmarks of what runs a network: matrix products, inference, search. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "cli/benchmark.h"
#include "core/arena.h"
#include "core/memory.h"
#include "core/rng.h"
#include "device/mirror.h"
#include "network/inference.h"
#include "network/rollout.h"

void cm_benchmark_fill(float *out, size_t n, uint64_t stream) {
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, stream), 0);
    for (size_t i = 0; i < n; i++) out[i] = cm_rng_normal(&rng);
}

/* ---- matmul: one large product per worker; on a device one that fills it ---- */

enum { MATMUL_REPEAT = 4 };

typedef struct matmul {
    const cm_benchmark *bench;
    int workers, rows, width;
    cm_stream **streams;
    cm_call *calls;
    cm_mirror memory; /* weight, then x of each worker, y of each, and x of each in 16 bits where it may be */
} matmul;

static matmul matmul_of(const cm_benchmark *bench) {
    if (bench->backend->device->is_host)
        return (matmul){.bench = bench, .workers = cm_pool_size(bench->pool), .rows = 512, .width = 1024};
    return (matmul){.bench = bench, .workers = 1, .rows = 4096, .width = 4096};
}

/* On a device products are waited for by reading a number of the last one. */
static cm_status wait_for(const matmul *m, int task) {
    float *y = m->calls[task].t[CM_T_dense_y].data;
    size_t at = (size_t)((char *)y - (char *)m->memory.block.base);
    return cm_stream_read(m->streams[task], (char *)m->memory.host + at, y, sizeof *y);
}

static cm_status multiply(void *context, int task, int worker) {
    matmul *m = context;
    (void)worker;
    for (int i = 0; i < MATMUL_REPEAT; i++) CM_TRY(cm_call_run(m->streams[task], &m->calls[task]));
    return wait_for(m, task);
}

static cm_status matmul_round(void *context) {
    matmul *m = context;
    return cm_pool_run(m->bench->pool, m->workers, multiply, m);
}

/* A device's matrices are large: the numbers of their first rows come again. */
static void fill_repeating(float *out, size_t n) {
    const size_t period = n < (1u << 21) ? n : 1u << 21;
    cm_benchmark_fill(out, period, 0);
    for (size_t i = period; i < n; i++) out[i] = out[i - period];
}

/* Where x may be of 16 bits the product reads it as such, from `half`: nothing but products is timed then. */
static cm_status prepare_product(const matmul *m, cm_stream *stream, cm_call *c, float *half) {
    if (m->bench->compute == CM_F32 || !m->bench->backend->kind->takes_half) return cm_call_prepare(stream, c);
    c->t[CM_T_dense_half_x] = cm_tensor_2d(half, m->bench->compute, m->rows, m->width);
    CM_TRY(cm_call_eager(stream, c));
    c->t[CM_T_dense_x] = c->t[CM_T_dense_half_x];
    c->t[CM_T_dense_half_x] = (cm_tensor){0};
    return cm_call_prepare(stream, c);
}

static cm_status open_matmul(matmul *m) {
    size_t workers = (size_t)m->workers, width = (size_t)m->width, rows = (size_t)m->rows * width;
    size_t weight = width * width;
    CM_TRY(cm_mirror_create(&m->memory, m->bench->backend->device, (weight + 3 * workers * rows) * sizeof(float),
                            "matrices"));
    CM_TRY(cm_alloc(&m->streams, workers, sizeof *m->streams, "streams"));
    CM_TRY(cm_alloc(&m->calls, workers, sizeof *m->calls, "calls"));
    fill_repeating(m->memory.host, weight + workers * rows);
    CM_TRY(cm_mirror_push(&m->memory));
    float *memory = (float *)(void *)m->memory.block.base;
    for (size_t w = 0; w < workers; w++) {
        cm_call *c = &m->calls[w];
        float *x = memory + weight + w * rows, *y = x + workers * rows;
        c->op = CM_OP_dense;
        c->attr.compute = m->bench->compute;
        c->t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, m->rows, m->width);
        c->t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, m->rows, m->width);
        c->t[CM_T_dense_weight] = cm_tensor_2d(memory, CM_F32, m->width, m->width);
        CM_TRY(cm_stream_open(m->bench->backend, &m->streams[w]));
        CM_TRY(prepare_product(m, m->streams[w], c, y + workers * rows));
    }
    return CM_OK;
}

cm_status cm_benchmark_matmul(const cm_benchmark *bench, cm_benchmark_result *result) {
    matmul m = matmul_of(bench);
    double seconds = 0.0;
    cm_status status = open_matmul(&m);
    if (status == CM_OK) status = cm_benchmark_time(bench->seconds, matmul_round, &m, &seconds);
    for (int w = 0; m.streams && w < m.workers; w++) cm_stream_close(m.streams[w]);
    free(m.streams);
    free(m.calls);
    cm_mirror_destroy(&m.memory);
    CM_TRY(status);
    double flops = 2.0 * m.rows * m.width * m.width * MATMUL_REPEAT * m.workers;
    result->flops_per_second = flops / seconds;
    cm_benchmark_put(result, "matmul_flops_per_second", flops / seconds);
    snprintf(result->note, sizeof result->note, "%d x %d x %d on each of %d threads", m.rows, m.width, m.width,
             m.workers);
    return CM_OK;
}

/* ---- a network with weights ---- */

typedef struct weights {
    cm_network *network;
    cm_mirror parameter_block, state_block;
    float *parameters, *state; /* in them, on the device */
} weights;

static cm_status open_weights(const cm_benchmark *bench, weights *w) {
    CM_TRY(cm_network_create(&bench->network, &w->network));
    const cm_param_table *table = cm_network_parameters(w->network);
    const cm_device *device = bench->backend->device;
    CM_TRY(cm_mirror_create(&w->parameter_block, device, (table->parameters + 1) * sizeof(float), "parameters"));
    CM_TRY(cm_mirror_create(&w->state_block, device, (table->states + 1) * sizeof(float), "running statistics"));
    cm_network_initialise(w->network, 0, w->parameter_block.host, w->state_block.host);
    w->parameters = (float *)(void *)w->parameter_block.block.base;
    w->state = (float *)(void *)w->state_block.block.base;
    CM_TRY(cm_mirror_push(&w->parameter_block));
    return cm_mirror_push(&w->state_block);
}

static void close_weights(weights *w) {
    cm_mirror_destroy(&w->parameter_block);
    cm_mirror_destroy(&w->state_block);
    cm_network_destroy(w->network);
}

static cm_network_use use_of(const cm_benchmark *bench, const weights *w, cm_stream *stream, int rows) {
    return (cm_network_use){.network = w->network,
                            .stream = stream,
                            .rows = rows,
                            .compute = bench->compute,
                            .parameters = w->parameters,
                            .state = w->state};
}

/* The first shard tells the size of the others: too many are refused before the machine has no memory left. */
static cm_status check_shards(int count, size_t bytes, const char *what) {
    return cm_memory_check((double)(count - 1) * (double)bytes, what);
}

/* ---- inference: root passes of shards ---- */

typedef struct inference {
    const cm_benchmark *bench;
    weights w;
    cm_stream **streams;
    cm_inference **shards;
    int count, rows;
    double flops; /* of a shard */
} inference;

static cm_status infer(void *context, int task, int worker) {
    inference *f = context;
    (void)worker;
    return cm_inference_root(f->shards[task]);
}

static cm_status inference_round(void *context) {
    inference *f = context;
    for (int i = 0; i < 16; i++) CM_TRY(cm_pool_run(f->bench->pool, f->count, infer, f));
    return CM_OK;
}

/* Ranges of the layers for these observations; the first one and the last ones of heads stay as they are. */
static cm_status set_ranges(cm_network *network, int rows, cm_rollout *rollout) {
    static const char last[] = ".output.weight";
    const cm_param_table *table = cm_network_parameters(network);
    float *ranges = NULL;
    CM_TRY(cm_alloc(&ranges, (size_t)table->count, sizeof *ranges, "ranges"));
    cm_benchmark_fill(cm_rollout_observations(rollout), (size_t)rows * (size_t)cm_network_observation_size(network), 0);
    cm_status status = cm_rollout_measure(rollout, ranges);
    bool is_first = true;
    for (int i = 0; i < table->count; i++) {
        const size_t length = strlen(table->param[i].name), end = sizeof last - 1;
        const bool is_last = length >= end && strcmp(table->param[i].name + length - end, last) == 0;
        if (ranges[i] > 0.0f && (is_first || is_last)) is_first = false, ranges[i] = 0.0f;
    }
    if (status == CM_OK) cm_network_set_ranges(network, ranges);
    free(ranges);
    return status;
}

cm_status cm_benchmark_calibrate(const cm_network_use *use, cm_network *network) {
    cm_rollout *rollout = NULL;
    cm_network_use floats = *use;
    floats.compute = CM_F32;
    cm_status status = cm_rollout_create(&floats, 0, &rollout);
    if (status == CM_OK) status = set_ranges(network, use->rows, rollout);
    cm_rollout_destroy(rollout);
    return status;
}

static cm_status calibrate(const inference *f) {
    cm_stream *stream;
    CM_TRY(cm_stream_open(f->bench->backend, &stream));
    const cm_network_use use = use_of(f->bench, &f->w, stream, f->rows);
    const cm_status status = cm_benchmark_calibrate(&use, f->w.network);
    cm_stream_close(stream);
    return status;
}

static cm_status open_inference(inference *f, bool in_int8) {
    CM_TRY(open_weights(f->bench, &f->w));
    f->rows = cm_agent_shard_rows(f->bench->batch, !f->bench->backend->device->is_host);
    f->count = (f->bench->batch + f->rows - 1) / f->rows;
    if (in_int8) CM_TRY(calibrate(f));
    CM_TRY(cm_alloc(&f->streams, (size_t)f->count, sizeof *f->streams, "streams"));
    CM_TRY(cm_alloc(&f->shards, (size_t)f->count, sizeof *f->shards, "shards"));
    for (int i = 0; i < f->count; i++) {
        CM_TRY(cm_stream_open(f->bench->backend, &f->streams[i]));
        const cm_network_use use = use_of(f->bench, &f->w, f->streams[i], f->rows);
        CM_TRY(cm_inference_create(&use, f->rows, &f->shards[i]));
        if (i == 0) CM_TRY(check_shards(f->count, cm_inference_bytes(f->shards[0]), "inferences"));
        const cm_inference_arrays *a = cm_inference_get(f->shards[i]);
        cm_benchmark_fill(a->observation, (size_t)f->rows * (size_t)cm_network_observation_size(f->w.network),
                          (uint64_t)i);
        for (int r = 0; r < f->rows; r++) a->root_slots[r] = r;
    }
    return CM_OK;
}

static void close_inference(inference *f) {
    for (int i = 0; i < f->count; i++) {
        if (f->shards) cm_inference_destroy(f->shards[i]);
        if (f->streams) cm_stream_close(f->streams[i]);
    }
    free(f->shards);
    free(f->streams);
    close_weights(&f->w);
}

/* Seconds of a round with products in `compute`, or in 8 bits. */
static cm_status time_inference(const cm_benchmark *bench, cm_dtype compute, double *seconds, inference *out) {
    cm_benchmark in_type = *bench;
    in_type.compute = compute == CM_I8 ? bench->compute : compute;
    *out = (inference){.bench = &in_type};
    cm_status status = open_inference(out, compute == CM_I8);
    if (status == CM_OK) status = cm_benchmark_time(bench->seconds, inference_round, out, seconds);
    out->flops = status == CM_OK ? cm_inference_root_flops(out->shards[0]) : 0.0;
    close_inference(out);
    return status;
}

/* The same in other types that are native here, as rates of their own. */
static cm_status time_others(const cm_benchmark *bench, double inferences, cm_benchmark_result *result) {
    static const struct {
        cm_dtype type;
        const char *key;
    } others[] = {{CM_F32, "float32_inferences_per_second"},
                  {CM_BF16, "bfloat16_inferences_per_second"},
                  {CM_I8, "int8_inferences_per_second"}};
    const cm_backend *backend = bench->backend;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        inference f;
        double seconds = 0.0;
        const cm_dtype type = others[i].type;
        const bool has_it = type == CM_I8 ? backend->kind->takes_int8 : backend->native[type];
        if (type == bench->compute || !has_it) continue;
        CM_TRY(time_inference(bench, type, &seconds, &f));
        cm_benchmark_put(result, others[i].key, inferences / seconds);
    }
    return CM_OK;
}

cm_status cm_benchmark_inference(const cm_benchmark *bench, cm_benchmark_result *result) {
    inference f;
    double seconds = 0.0;
    CM_TRY(time_inference(bench, bench->compute, &seconds, &f));
    const double inferences = 16.0 * f.count * f.rows;
    cm_benchmark_put(result, "inferences_per_second", inferences / seconds);
    result->flops_per_second = 16.0 * f.count * f.flops / seconds;
    snprintf(result->note, sizeof result->note, "representation and prediction, batch %d", f.count * f.rows);
    return time_others(bench, inferences, result);
}

/* ---- search: planners of shards ---- */

struct cm_benchmark_searching {
    const cm_benchmark *bench;
    weights w;
    cm_planner **shards;
    cm_key *keys; /* [rows] */
    int count, rows;
    bool on_device; /* the trees lie there */
};
typedef cm_benchmark_searching search;

static cm_status search_shard(void *context, int task, int worker) {
    search *s = context;
    cm_roots roots = {.count = s->rows, .keys = s->keys};
    cm_search_result result = {0};
    (void)worker;
    return cm_planner_run(s->shards[task], &roots, &result);
}

cm_status cm_benchmark_searching_round(void *searching) {
    search *s = searching;
    return cm_pool_run(s->bench->pool, s->count, search_shard, s);
}

static cm_status open_search(search *s) {
    const cm_benchmark *b = s->bench;
    cm_planner_config config = {.backend = b->backend, .compute = b->compute, .discount = 0.997f};
    if (b->configuration.mcts.policy == CM_MCTS_ALPHAZERO)
        return cm_fail(CM_ERR_INPUT, "benchmark: searches are measured on a learnt model, and policy alphazero "
                                     "searches on the true rules; add --policy muzero or gumbel_muzero");
    CM_TRY(cm_mcts_check_draws(&b->configuration.mcts, b->actions, "the benchmark (--actions)"));
    CM_TRY(open_weights(b, &s->w));
    config.draws = cm_mcts_draws(&b->configuration.mcts);
    CM_TRY(cm_planner_search_params(&b->configuration.mcts, true, b->simulations, &config.search));
    config.network = s->w.network, config.parameters = s->w.parameters, config.state = s->w.state;
    s->on_device = cm_planner_is_on_device(&config);
    s->rows = config.rows = cm_agent_shard_rows(b->batch, s->on_device);
    s->count = (b->batch + s->rows - 1) / s->rows;
    CM_TRY(cm_alloc(&s->shards, (size_t)s->count, sizeof *s->shards, "shards"));
    CM_TRY(cm_alloc(&s->keys, (size_t)s->rows, sizeof *s->keys, "keys"));
    for (int r = 0; r < s->rows; r++) s->keys[r] = cm_key_make(0, CM_RNG_TEST, (uint64_t)r);
    for (int i = 0; i < s->count; i++) {
        CM_TRY(cm_planner_create(&config, &s->shards[i]));
        if (i == 0) CM_TRY(check_shards(s->count, cm_planner_bytes(&config, s->shards[0]), "search trees"));
        cm_benchmark_fill(cm_planner_observations(s->shards[i]),
                          (size_t)s->rows * (size_t)cm_network_observation_size(s->w.network), (uint64_t)i);
    }
    return CM_OK;
}

cm_status cm_benchmark_searching_open(const cm_benchmark *bench, cm_benchmark_searching **out) {
    *out = NULL;
    search *s;
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "searches"));
    s->bench = bench;
    cm_status status = open_search(s);
    if (status == CM_OK) {
        *out = s;
    } else {
        cm_benchmark_searching_close(s);
    }
    return status;
}

void cm_benchmark_searching_close(cm_benchmark_searching *s) {
    if (!s) return;
    for (int i = 0; s->shards && i < s->count; i++) cm_planner_destroy(s->shards[i]);
    free(s->shards);
    free(s->keys);
    close_weights(&s->w);
    free(s);
}

/* Matrix products of one row: the recurrent pass of a simulation. */
static cm_status recurrent_flops(const search *s, double *flops) {
    cm_stream *stream;
    cm_inference *one = NULL;
    CM_TRY(cm_stream_open(s->bench->backend, &stream));
    const cm_network_use use = use_of(s->bench, &s->w, stream, 1);
    cm_status status = cm_inference_create(&use, 1, &one);
    if (status == CM_OK) *flops = cm_inference_recurrent_flops(one);
    cm_inference_destroy(one);
    cm_stream_close(stream);
    return status;
}

cm_status cm_benchmark_search(const cm_benchmark *bench, cm_benchmark_result *result) {
    search *s;
    char policy[CM_OPTION_WORD], drawn[32] = "";
    double seconds = 0.0, flops = 0.0;
    const int draws = cm_mcts_draws(&bench->configuration.mcts);
    if (draws > 0) snprintf(drawn, sizeof drawn, " of which %d are drawn", draws);
    CM_TRY(cm_benchmark_searching_open(bench, &s));
    const double roots = (double)s->count * s->rows, simulations = roots * bench->simulations;
    const bool on_device = s->on_device;
    cm_status status = cm_benchmark_time(bench->seconds, cm_benchmark_searching_round, s, &seconds);
    if (status == CM_OK) status = recurrent_flops(s, &flops);
    cm_benchmark_searching_close(s);
    CM_TRY(status);
    cm_config_word(bench->config, "policy", policy);
    cm_benchmark_put(result, "simulations_per_second", simulations / seconds);
    cm_benchmark_put(result, "searches_per_second", roots / seconds);
    cm_benchmark_put(result, "ns_per_simulation", 1e9 * seconds / simulations);
    cm_benchmark_put(result, "us_per_simulation_of_all_roots", 1e6 * seconds / bench->simulations);
    result->flops_per_second = flops * simulations / seconds;
    snprintf(result->note, sizeof result->note, "%.0f roots x %d simulations, %d actions%s, %s%s", roots,
             bench->simulations, bench->actions, drawn, policy, on_device ? ", trees on the device" : "");
    return CM_OK;
}
