/* What a run's folder says of it at a glance: environment, seed, progress, results. Files alone are read; an
 * environment that is code is not opened unless it is trusted (env/trust.h). */
#ifndef CM_RUN_SUMMARY_H
#define CM_RUN_SUMMARY_H

#include "run/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SUMMARY_NAME = 64 };

/* NAN and -1: not known. */
typedef struct cm_run_summary {
    char environment[CM_SUMMARY_NAME]; /* as `cumind environments` has it, of a file its last component; "?" */
    char begun[24];                    /* "2026-11-28T05:40"; "" */
    double last_return, final, goal;   /* of self-play, of the final evaluation, wanted */
    double seconds;                    /* that it took */
    int64_t seed, updates, env_steps;
    int64_t most_steps, most_updates; /* that end it; 0: none does */
    int64_t checkpoint;               /* number of the latest */
    const char *state;                /* "training", "finished" or "unfinished" */
} cm_run_summary;

/* Of the run in `path`. What of it cannot be read counts as not there, and is warned of unless `is_mute`. With `rows`
 * false metrics.jsonl is not read, and steps, updates and returns are those of the checkpoint and the result. Errors:
 * CM_ERR_IO if the folder cannot be opened; those of cm_checkpoint_store_create. */
cm_status cm_run_summary_read(const char *path, bool rows, bool is_mute, cm_run_summary *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
