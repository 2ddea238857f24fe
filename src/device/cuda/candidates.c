#include "device/cuda/candidates.h"

#include "device/cuda/autotuner.h"
#include "device/cuda/timing.h"

typedef struct tuning {
    cm_cuda_stream *stream;
    const char *key;
    const cm_cuda_candidate *candidate;
    int count;
    int32_t taken;
} tuning;

static cm_status enter(void *context, int round, void *candidates, int *count) {
    const tuning *t = context;
    int32_t *number = candidates;
    (void)round;
    for (int i = 0; i < t->count; i++) number[i] = i;
    *count = t->count;
    return CM_OK;
}

/* What is kept on disk may be of a build with other candidates. */
static cm_status use(void *context, const void *candidate) {
    tuning *t = context;
    const int32_t number = *(const int32_t *)candidate;
    if (number < 0 || number >= t->count) return cm_fail(CM_ERR_INPUT, "there is no number %d", (int)number);
    t->taken = number;
    return CM_OK;
}

static cm_status measure(void *context, float *milliseconds) {
    const tuning *t = context;
    const cm_cuda_candidate *taken = &t->candidate[t->taken];
    return cm_cuda_time(t->stream, t->key, taken->launch, taken->context, milliseconds);
}

cm_status cm_cuda_candidates_choose(cm_cuda_stream *stream, cm_autotune_cache *cache, const char *key,
                                    const cm_cuda_candidate candidate[], int count, int *winner) {
    tuning t = {.stream = stream, .key = key, .candidate = candidate, .count = count};
    const cm_autotuner autotuner = {.context = &t,
                                    .size = sizeof t.taken,
                                    .rounds = 1,
                                    .log = stream->device->log_plans,
                                    .enter = enter,
                                    .use = use,
                                    .measure = measure};
    cm_status status = cm_autotuner_choose(&autotuner, cache, key);
    *winner = (int)t.taken;
    return status;
}
