/* Speed of drawing: batches from a full replay of random episodes, one thread. `cumind benchmark replay`. */
#ifndef CM_REPLAY_BENCHMARK_H
#define CM_REPLAY_BENCHMARK_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_replay_benchmark {
    int64_t steps;        /* in the replay, 1 .. 2^30        */
    int batch;            /* B                               */
    int unroll;           /* K                               */
    int td_steps;         /* n                               */
    int observation_size; /* O                               */
    int actions;          /* A                               */
    bool prioritized;     /* by priority; else uniformly     */
    double seconds;       /* measure at least this long, in at least 5 rounds of 64 batches */
} cm_replay_benchmark;

typedef struct cm_replay_benchmark_result {
    double seconds_per_batch;  /* of the fastest round        */
    double samples_per_second; /* positions drawn, likewise   */
    double steps_per_second;   /* appended and committed while filling */
    uint64_t bytes;            /* of the replay               */
    int64_t batches;           /* drawn in all rounds         */
} cm_replay_benchmark_result;

/* 256 x K = 5 from 1 M steps of CartPole's shape, prioritized, n = 10, half a second. */
cm_replay_benchmark cm_replay_benchmark_default(void);

/* Episodes of 10 .. 300 steps. Errors: CM_ERR_INPUT names the parameter, CM_ERR_MEMORY. */
cm_status cm_replay_benchmark_run(const cm_replay_benchmark *params, cm_replay_benchmark_result *result) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
