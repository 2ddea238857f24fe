/* Sections "Self-Play" (targets) and "Memory": what is kept, how it is drawn, what is learnt from it.
 * docs/spec/learning.md 1, 5. */
#ifndef CM_REPLAY_OPTIONS_H
#define CM_REPLAY_OPTIONS_H

#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_memory_store { CM_MEMORY_RAM, CM_MEMORY_COMPRESSED, CM_MEMORY_FILE, CM_MEMORY_AUTO } cm_memory_store;

typedef struct cm_replay_options {
    int num_unroll_steps; /* K */
    int td_steps;         /* n */
    double discount;      /* gamma; the search of a two-player game uses -gamma */

    int memory_capacity;   /* episodes, 0: no limit of this kind */
    int min_memory_size;   /* episodes before the first update, 0: none needed */
    double min_memory_pct; /* fraction of the capacity before the first update, 0 .. 1 */
    double per_alpha, per_epsilon, per_beta;
    int64_t memory_steps;             /* steps, 0: no limit of this kind */
    int64_t memory_bytes;             /* bytes over all ranks, 0: what the other limits need */
    int64_t min_memory_steps;         /* steps before the first update */
    int memory_store;                 /* cm_memory_store: where frames, or observations, lie */
    char memory_path[CM_OPTION_TEXT]; /* folder of the file; empty: the run's */
    bool prioritized;
    double per_beta_final;         /* per_beta goes to it linearly over the run */
    double per_weight_min;         /* importance weights are at least this, 0 .. 1 */
    int prefetch_depth;            /* batches prepared ahead; 0: none, the batch is made when it is needed */
    int prefetch_threads;          /* that prepare them, each a batch; 0: one, for a GPU up to four */
    bool symmetries;               /* a random symmetry of the board for every sample */
    int augmentation_shift;        /* pixels that pictures are shifted by at most (augment.h) */
    double augmentation_intensity; /* of their random brightness, 0 .. 0.5 */
    double policy_smoothing;
    int64_t td_interval; /* n shrinks by one per so many steps of age, 0: never */
} cm_replay_options;

extern const cm_option cm_replay_option_rows[];
extern const int cm_replay_option_count;

#ifdef __cplusplus
}
#endif
#endif
