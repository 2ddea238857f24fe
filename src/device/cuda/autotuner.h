/* The autotuner: which of several ways to compute the same is the fastest, measured once and then kept on disk
 * (autotune_cache.h). */
#ifndef CM_DEVICE_CUDA_AUTOTUNER_H
#define CM_DEVICE_CUDA_AUTOTUNER_H

#include "device/cuda/autotune_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_AUTOTUNER_MOST = 24 };

/* The candidates are `size` bytes each, at most CM_AUTOTUNE_VALUE_BYTES; an entry of the cache is one of them. */
typedef struct cm_autotuner {
    void *context;
    size_t size;
    int rounds; /* >= 1: a round is only held if no candidate of those before it runs */
    bool log;   /* says what was measured */
    /* Writes the candidates of a round, at most CM_AUTOTUNER_MOST, into candidates[count] of `size` bytes each. */
    cm_status (*enter)(void *context, int round, void *candidates, int *count);
    cm_status (*use)(void *context, const void *candidate);   /* makes it the one that runs; it may fail */
    cm_status (*measure)(void *context, float *milliseconds); /* of the one that was taken; it may fail */
    /* NULL, or: do the results of the one that was measured agree with those of the first one that did (`first`: this
     * is it)? One that fails is out, with a line that says so. */
    cm_status (*agree)(void *context, bool first);
} cm_autotuner;

/* Takes the candidate that is kept under the key. Where there is none, or where it can no longer be taken (a line says
 * so), the fastest of those that run is taken and kept. Errors: those of enter; where no candidate runs, what the last
 * of them said. */
cm_status cm_autotuner_choose(const cm_autotuner *f, cm_autotune_cache *cache, const char *key) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
