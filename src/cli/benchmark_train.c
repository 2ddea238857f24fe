/* Benchmark of training steps: whole updates on rows that are made up. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/benchmark.h"
#include "core/arena.h"

/* Rows that a network of this shape takes. */
static cm_status make_batch(const cm_benchmark *bench, int rows, cm_benchmark_training *t) {
    size_t B = (size_t)rows, K = (size_t)bench->unroll + 1, A = (size_t)bench->actions;
    size_t O = (size_t)cm_network_observation_size(t->network), numbers = B * (O > K ? O : K);
    CM_TRY(cm_alloc(&t->numbers, numbers, sizeof(float), "a batch"));
    CM_TRY(cm_alloc(&t->ones, B * K * A, sizeof(float), "a batch"));
    CM_TRY(cm_alloc(&t->actions, B * K, sizeof(int32_t), "a batch"));
    cm_benchmark_fill(t->numbers, numbers, 1);
    for (size_t i = 0; i < B * K * A; i++) t->ones[i] = 1.0f;
    for (size_t i = 0; i < B * K; i++) t->actions[i] = (int32_t)(i % A);
    t->batch = (cm_train_batch){.observation = t->numbers,
                                .actions = t->actions,
                                .target_value = t->numbers,
                                .target_reward = t->numbers,
                                .target_policy = t->ones,
                                .value_mask = t->ones,
                                .reward_mask = t->ones,
                                .policy_mask = t->ones,
                                .consistency_mask = t->ones};
    return CM_OK;
}

cm_status cm_benchmark_training_open(const cm_benchmark *bench, cm_comm *comm, int rows, cm_benchmark_training *out) {
    *out = (cm_benchmark_training){.options = bench->configuration.trainer};
    out->options.ema_decay = 0.0, out->options.target_update_frequency = 0, out->options.consistency_weight = 0.0;
    out->options.mask_illegal = false;
    CM_TRY(cm_network_create(&bench->network, &out->network));
    CM_TRY(make_batch(bench, rows, out));
    cm_trainer_config config = {.network = out->network,
                                .backend = bench->backend,
                                .pool = bench->pool,
                                .comm = comm,
                                .options = &out->options,
                                .batch = rows,
                                .unroll = bench->unroll,
                                .compute = bench->compute,
                                .bucket_bytes = (int64_t)bench->configuration.run.rank_bucket_kib * 1024,
                                .total_updates = 1000000};
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
}

cm_status cm_benchmark_train(const cm_benchmark *bench, cm_benchmark_result *result) {
    cm_benchmark_training t;
    double seconds = 0.0, flops = 0.0;
    cm_status status = cm_benchmark_training_open(bench, NULL, bench->batch, &t);
    if (status == CM_OK) status = cm_benchmark_time(bench->seconds, cm_benchmark_training_round, &t, &seconds);
    if (status == CM_OK) flops = cm_trainer_flops(t.trainer);
    cm_benchmark_training_close(&t);
    CM_TRY(status);
    cm_benchmark_put(result, "samples_per_second", bench->batch / seconds);
    cm_benchmark_put(result, "updates_per_second", 1.0 / seconds);
    result->flops_per_second = flops / seconds;
    snprintf(result->note, sizeof result->note, "batch %d, unroll %d, %s", bench->batch, bench->unroll,
             t.options.optimizer == CM_OPTIMIZER_SGD ? "sgd" : "adam");
    return CM_OK;
}
