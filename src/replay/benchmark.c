#include "replay/benchmark.h"

#include <math.h>
#include <stdlib.h>

#include "core/clock.h"
#include "replay/batch.h"

enum { ENVIRONMENTS = 32, COMMIT_STEPS = 64, LONGEST = 300, ROUND = 64, LEAST_ROUNDS = 5 };

cm_replay_benchmark cm_replay_benchmark_default(void) {
    return (cm_replay_benchmark){.steps = 1000000,
                                 .batch = 256,
                                 .unroll = 5,
                                 .td_steps = 10,
                                 .observation_size = 4,
                                 .actions = 2,
                                 .prioritized = true,
                                 .seconds = 0.5};
}

static cm_replay_config make_config(const cm_replay_benchmark *params) {
    return (cm_replay_config){
        .observation_size = params->observation_size,
        .actions = params->actions,
        .environments = ENVIRONMENTS,
        .max_steps = params->steps,
        .segment_steps = LONGEST,
        .commit_steps = COMMIT_STEPS,
        .sample_open = true,
        .prioritized = params->prioritized,
        .alpha = 0.6,
        .epsilon = 1e-6,
        .targets = {.unroll = params->unroll, .td_steps = params->td_steps, .discount = 0.997},
    };
}

/* One step of each environment; some episodes end. row: an observation and a policy. */
static cm_status fill_step(cm_replay *replay, cm_rng *rng, float *row, int *length) {
    const cm_replay_config *c = cm_replay_configuration(replay);
    float *policy = row + c->observation_size;
    for (int e = 0; e < ENVIRONMENTS; e++) {
        for (int i = 0; i < c->observation_size; i++) row[i] = cm_rng_uniform(rng);
        for (int a = 0; a < c->actions; a++) policy[a] = 0.01f + cm_rng_uniform(rng);
        cm_replay_step step = {.observation = row,
                               .policy = policy,
                               .root_value = cm_rng_uniform(rng) * 40.0f,
                               .action = (int32_t)cm_rng_below(rng, (uint32_t)c->actions),
                               .reward = 1.0f};
        CM_TRY(cm_replay_append(replay, e, &step));
        if (--length[e] > 0) continue;
        cm_replay_end end = {.observation = row, .terminated = true};
        CM_TRY(cm_replay_finish(replay, e, &end));
        length[e] = 10 + (int)cm_rng_below(rng, LONGEST - 9);
    }
    return CM_OK;
}

static cm_status fill(cm_replay *replay, int64_t steps, float *row) {
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, 0), 0);
    int length[ENVIRONMENTS];
    for (int e = 0; e < ENVIRONMENTS; e++) length[e] = 10 + (int)cm_rng_below(&rng, LONGEST - 9);
    int64_t rounds = steps / ENVIRONMENTS + 1;
    for (int64_t t = 0; t < rounds; t++) {
        CM_TRY(fill_step(replay, &rng, row, length));
        if ((t + 1) % COMMIT_STEPS == 0 || t + 1 == rounds) CM_TRY(cm_replay_commit(replay));
    }
    return CM_OK;
}

static cm_status measure(const cm_replay_benchmark *params, cm_replay *replay, cm_batch *batch,
                         cm_replay_benchmark_result *result) {
    double start = cm_clock_seconds(), fastest = HUGE_VAL;
    for (int round = 0; round < LEAST_ROUNDS || cm_clock_seconds() - start < params->seconds; round++) {
        double begin = cm_clock_seconds();
        for (int i = 0; i < ROUND; i++) CM_TRY(cm_replay_sample(replay, (uint64_t)result->batches++, 0.4, batch));
        fastest = fmin(fastest, (cm_clock_seconds() - begin) / ROUND);
    }
    result->seconds_per_batch = fastest;
    result->samples_per_second = params->batch / fastest;
    return CM_OK;
}

static cm_status fill_and_measure(const cm_replay_benchmark *params, cm_replay *replay, cm_batch *batch,
                                  cm_replay_benchmark_result *result) {
    float *row = malloc(((size_t)params->observation_size + (size_t)params->actions) * sizeof(float));
    if (!row) return cm_fail(CM_ERR_MEMORY, "replay benchmark: no memory for a row");
    double begin = cm_clock_seconds();
    cm_status status = fill(replay, params->steps, row);
    result->steps_per_second = (double)params->steps / (cm_clock_seconds() - begin);
    free(row);
    if (status == CM_OK) status = measure(params, replay, batch, result);
    return status;
}

cm_status cm_replay_benchmark_run(const cm_replay_benchmark *params, cm_replay_benchmark_result *result) {
    *result = (cm_replay_benchmark_result){0};
    if (params->steps < 1 || params->steps > 1 << 30)
        return cm_fail(CM_ERR_INPUT, "replay benchmark: %lld steps, must be in 1 .. 2^30", (long long)params->steps);
    cm_replay_config config = make_config(params);
    cm_batch_config batch_config = {.rows = params->batch};
    cm_replay *replay = NULL;
    cm_batch *batch = NULL;
    CM_TRY(cm_replay_create(&config, &replay));
    cm_status status = cm_batch_create(replay, &batch_config, &batch);
    if (status == CM_OK) status = fill_and_measure(params, replay, batch, result);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    result->bytes = counts.bytes;
    cm_batch_destroy(batch);
    cm_replay_destroy(replay);
    return status;
}
