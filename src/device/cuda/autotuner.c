#include "device/cuda/autotuner.h"

#include <stdio.h>

#include "core/log.h"

typedef struct candidates {
    _Alignas(16) unsigned char list[CM_AUTOTUNER_MOST * CM_AUTOTUNE_VALUE_BYTES];
    float milliseconds[CM_AUTOTUNER_MOST]; /* below 0: it does not run */
    int count, best;                       /* best -1: none runs */
} candidates;

static const unsigned char *candidate(const cm_autotuner *f, const candidates *c, int i) {
    return c->list + (size_t)i * f->size;
}

static cm_status measure_one(const cm_autotuner *f, const void *which, float *milliseconds) {
    CM_TRY(f->use(f->context, which));
    return f->measure(f->context, milliseconds);
}

static bool agrees(const cm_autotuner *f, const char *key, bool first) {
    if (!f->agree || f->agree(f->context, first) == CM_OK) return true;
    if (f->log) cm_log(CM_INFO, "%s: a way to compute it is left out: %s", key, cm_error_message());
    return false;
}

/* A candidate that fails is out; what it said is the error if all fail. */
static cm_status hold_round(const cm_autotuner *f, const char *key, int round, candidates *c) {
    c->count = 0;
    CM_TRY(f->enter(f->context, round, c->list, &c->count));
    for (int i = 0; i < c->count; i++) {
        float *milliseconds = &c->milliseconds[i];
        if (measure_one(f, candidate(f, c, i), milliseconds) != CM_OK || !agrees(f, key, c->best < 0))
            *milliseconds = -1.0f;
        if (*milliseconds >= 0.0f && (c->best < 0 || *milliseconds < c->milliseconds[c->best])) c->best = i;
    }
    return CM_OK;
}

static cm_status hold_rounds(const cm_autotuner *f, const char *key, candidates *c) {
    int entered = 0;
    c->best = -1;
    for (int round = 0; round < f->rounds && c->best < 0; round++) {
        CM_TRY(hold_round(f, key, round, c));
        entered += c->count;
    }
    if (c->best >= 0) return CM_OK;
    if (entered == 0) return cm_fail(CM_ERR_DEVICE, "%s: there is no way to compute it", key);
    char last[256];
    snprintf(last, sizeof last, "%s", cm_error_message());
    return cm_fail(CM_ERR_DEVICE, "%s: none of %d ways to compute it runs: %s", key, entered, last);
}

static bool use_kept(const cm_autotuner *f, cm_autotune_cache *cache, const char *key) {
    _Alignas(16) unsigned char kept[CM_AUTOTUNE_VALUE_BYTES];
    if (!cm_autotune_cache_find(cache, key, kept, f->size)) return false;
    if (f->use(f->context, kept) == CM_OK) return true;
    cm_log(CM_WARNING, "%s is chosen again, its choice is of no use here: %s", key, cm_error_message());
    return false;
}

static void log_times(const char *key, const candidates *c) {
    char times[CM_AUTOTUNER_MOST * 16] = "";
    size_t used = 0;
    for (int i = 0; i < c->count; i++)
        used += (size_t)snprintf(times + used, sizeof times - used, c->milliseconds[i] < 0.0f ? " -" : " %.4g",
                                 (double)c->milliseconds[i]);
    cm_log(CM_INFO, "%s: number %d is the fastest of these, in ms:%s", key, c->best, times);
}

cm_status cm_autotuner_choose(const cm_autotuner *f, cm_autotune_cache *cache, const char *key) {
    candidates c;
    if (use_kept(f, cache, key)) return CM_OK;
    CM_TRY(hold_rounds(f, key, &c));
    const void *best = candidate(f, &c, c.best);
    if (f->log) log_times(key, &c);
    CM_TRY(f->use(f->context, best));
    return cm_autotune_cache_keep(cache, key, best, f->size);
}
