/* Benchmark of training steps: whole updates on rows that are made up, staging included; and the same with all that
 * configuration.json asks for besides: bootstrap values by an EMA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/benchmark.h"
#include "core/arena.h"

/* The frames of pictures, each row's its own, the oldest first. */
static cm_status make_frames(const cm_benchmark *bench, int rows, cm_benchmark_training *t) {
    const cm_trainer_frames *f = &bench->frames;
    const size_t B = (size_t)rows, K = (size_t)bench->unroll + 1, n = (size_t)f->count, each = n + K - 1;
    const size_t O = (size_t)cm_network_observation_size(t->network), numbers = B * each * O / n;
    const int most = bench->configuration.replay.augmentation_shift;
    CM_TRY(cm_alloc(&t->frames, numbers, f->unit > 0.0f ? 1 : sizeof(float), "a batch"));
    CM_TRY(cm_alloc(&t->index, B * K * n, sizeof *t->index, "a batch"));
    CM_TRY(cm_alloc(&t->shift, B * 4, sizeof *t->shift, "a batch"));
    for (size_t i = 0; f->unit > 0.0f && i < numbers; i++) t->frames[i] = (unsigned char)(i * 37);
    if (f->unit == 0.0f) cm_benchmark_fill((float *)(void *)t->frames, numbers, 1);
    for (size_t i = 0; i < B * K * n; i++) t->index[i] = (int32_t)(i / n % K + i % n);
    for (size_t i = 0; i < B * 4; i++) t->shift[i] = (int32_t)(i % (2 * (size_t)most + 1)) - most;
    t->batch.frames = (cm_train_frames){(int)each, t->frames, t->index, t->shift, t->ones};
    return CM_OK;
}

/* Rows that a network of this shape takes. */
static cm_status make_batch(const cm_benchmark *bench, int rows, bool bootstraps, cm_benchmark_training *t) {
    size_t B = (size_t)rows, K = (size_t)bench->unroll + 1, A = (size_t)bench->actions;
    size_t O = (size_t)cm_network_observation_size(t->network);
    const bool has_frames = bench->frames.count > 0;
    const bool sees_later = bootstraps || (bench->network.consistency && !has_frames);
    size_t numbers = B * (sees_later ? O * K : O > K && !has_frames ? O : K);
    CM_TRY(cm_alloc(&t->numbers, numbers, sizeof(float), "a batch"));
    CM_TRY(cm_alloc(&t->ones, B * (K * A + 2), sizeof(float), "a batch"));
    CM_TRY(cm_alloc(&t->actions, B * K, sizeof(int32_t), "a batch"));
    cm_benchmark_fill(t->numbers, numbers, 1);
    for (size_t i = 0; i < B * (K * A + 2); i++) t->ones[i] = 1.0f;
    for (size_t i = 0; i < B * K; i++) t->actions[i] = (int32_t)(i % A);
    t->batch = (cm_train_batch){.observation = t->numbers,
                                .actions = t->actions,
                                .target_value = t->numbers,
                                .target_reward = t->numbers,
                                .target_policy = t->ones,
                                .value_mask = t->ones,
                                .reward_mask = t->ones,
                                .policy_mask = t->ones,
                                .consistency_mask = t->ones,
                                .target_observations = t->numbers,
                                .bootstrap_coefficient = t->ones,
                                .bootstrap_observations = t->numbers};
    return has_frames ? make_frames(bench, rows, t) : CM_OK;
}

cm_status cm_benchmark_training_open(const cm_benchmark *bench, cm_comm *comm, int rows, int in_flight, bool bootstraps,
                                     cm_benchmark_training *out) {
    *out = (cm_benchmark_training){.options = bench->configuration.trainer};
    out->options.ema_decay = bootstraps ? 0.99 : 0.0, out->options.ema_bootstraps = bootstraps;
    out->options.target_update_frequency = 0;
    out->options.mask_illegal = false;
    CM_TRY(cm_network_create(&bench->network, &out->network));
    CM_TRY(make_batch(bench, rows, bootstraps, out));
    cm_trainer_config config = {.network = out->network,
                                .backend = bench->backend,
                                .pool = bench->pool,
                                .comm = comm,
                                .options = &out->options,
                                .batch = rows,
                                .unroll = bench->unroll,
                                .compute = bench->compute,
                                .bucket_bytes = (int64_t)bench->configuration.run.rank_bucket_kib * 1024,
                                .total_updates = 1000000,
                                .bootstrap = bootstraps,
                                .frames = bench->frames,
                                .in_flight = in_flight};
    return cm_trainer_create(&config, &out->trainer);
}

cm_status cm_benchmark_training_round(void *training) {
    cm_benchmark_training *t = training;
    cm_train_report report;
    return cm_trainer_update(t->trainer, &t->batch, &report);
}

void cm_benchmark_training_close(cm_benchmark_training *t) {
    cm_trainer_destroy(t->trainer);
    cm_network_destroy(t->network);
    free(t->numbers);
    free(t->ones);
    free(t->actions);
    free(t->index);
    free(t->shift);
    free(t->frames);
}

/* ---- as a run does it on a device: batches are staged by a thread of their own, and launched ahead ---- */

enum { IN_FLIGHT = 3 }; /* one is finished, one launched, one staged */

typedef struct ahead {
    cm_benchmark_training *training;
    cm_pool *pair;
    int next; /* place of the next batch to be launched, which is staged */
} ahead;

static cm_status learn_or_stage(void *context, int task, int worker) {
    ahead *a = context;
    cm_benchmark_training *t = a->training;
    cm_train_report report;
    (void)worker;
    if (task == 1) return cm_trainer_stage(t->trainer, a->next + 1, &t->batch);
    CM_TRY(cm_trainer_launch(t->trainer, a->next, &t->batch));
    return cm_trainer_finish(t->trainer, &report);
}

static cm_status ahead_round(void *context) {
    ahead *a = context;
    CM_TRY(cm_pool_run(a->pair, 2, learn_or_stage, a));
    a->next = (a->next + 1) % IN_FLIGHT;
    return CM_OK;
}

static cm_status time_ahead(const cm_benchmark *bench, cm_benchmark_training *t, double *seconds) {
    ahead a = {.training = t, .next = 1};
    CM_TRY(cm_pool_create(2, &a.pair));
    cm_status status = cm_trainer_stage(t->trainer, 0, &t->batch);
    if (status == CM_OK) status = cm_trainer_launch(t->trainer, 0, &t->batch);
    if (status == CM_OK) status = cm_trainer_stage(t->trainer, 1, &t->batch);
    for (int i = 0; i < 2 * IN_FLIGHT && status == CM_OK; i++)
        status = ahead_round(&a); /* each place records its own */
    if (status == CM_OK) status = cm_benchmark_time(bench->seconds, ahead_round, &a, seconds);
    cm_pool_destroy(a.pair);
    return status;
}

/* Of an update: one after the other and, on a device, as a run makes them. */
typedef struct timing {
    double in_turn, seconds, flops;
    size_t activations; /* bytes that they take */
    size_t inputs;      /* bytes of a batch's */
    size_t parameters;
} timing;

static size_t activations_of(const cm_trainer *trainer) {
    enum { ROWS = 16 };
    cm_memory_row rows[ROWS];
    const int count = cm_trainer_memory(trainer, rows, ROWS);
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].name, CM_ROW_ACTIVATIONS) == 0) bytes += rows[i].bytes;
    return bytes;
}

static cm_status time_updates(const cm_benchmark *bench, bool bootstraps, timing *out) {
    cm_benchmark_training t;
    cm_status status = cm_benchmark_training_open(bench, NULL, bench->batch, IN_FLIGHT, bootstraps, &t);
    if (status == CM_OK) status = cm_benchmark_time(bench->seconds, cm_benchmark_training_round, &t, &out->in_turn);
    out->seconds = out->in_turn;
    if (status == CM_OK && !bench->backend->device->is_host) status = time_ahead(bench, &t, &out->seconds);
    if (status == CM_OK) {
        out->flops = cm_trainer_flops(t.trainer), out->activations = activations_of(t.trainer);
        out->inputs = cm_trainer_input_bytes(t.trainer);
        out->parameters = cm_network_parameters(t.network)->trained;
    }
    cm_benchmark_training_close(&t);
    return status;
}

cm_status cm_benchmark_train(const cm_benchmark *bench, cm_benchmark_result *result) {
    char optimizer[CM_OPTION_WORD];
    timing plain = {0}, whole = {0};
    CM_TRY(time_updates(bench, false, &plain));
    CM_TRY(time_updates(bench, true, &whole));
    cm_benchmark_put(result, "samples_per_second", bench->batch / plain.seconds);
    cm_benchmark_put(result, "updates_per_second", 1.0 / plain.seconds);
    if (!bench->backend->device->is_host) cm_benchmark_put(result, "updates_per_second_in_turn", 1.0 / plain.in_turn);
    cm_benchmark_put(result, "updates_per_second_with_bootstraps", 1.0 / whole.seconds);
    cm_benchmark_put(result, "activation_bytes", (double)plain.activations);
    cm_benchmark_put(result, "input_bytes", (double)plain.inputs);
    cm_benchmark_put(result, "parameters", (double)plain.parameters);
    result->flops_per_second = plain.flops / plain.seconds;
    cm_config_word(bench->config, "optimizer", optimizer);
    snprintf(result->note, sizeof result->note, "batch %d, unroll %d, %s", bench->batch, bench->unroll, optimizer);
    return CM_OK;
}
