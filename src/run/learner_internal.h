/* What the files of learning share: learner.c (creation), learner_due.c (when and how much) and learner_updates.c
 * (batches and updates). */
#ifndef CM_RUN_LEARNER_INTERNAL_H
#define CM_RUN_LEARNER_INTERNAL_H

#include "replay/augment.h"
#include "run/learner.h"

struct cm_run_learner {
    cm_configuration *c;       /* borrowed: the session's */
    cm_comm *comm;             /* borrowed */
    const cm_stop *stop;       /* borrowed; NULL: never */
    cm_replay *replay;         /* owned */
    cm_prefetch *prefetch;     /* owned */
    cm_trainer *trainer;       /* owned */
    cm_reanalyser *reanalyser; /* owned; NULL: policies are those that were played */
    cm_augmentation augmentation;
    bool augments; /* it does something */
    int rows, unroll, observation_size;
    int32_t
        *codes; /* [slots of prefetch, B, K] owned: what chance brought, where the environment tells it; else NULL */
    const cm_env *env;                             /* borrowed */
    cm_batch_handle launched[CM_TRAINER_LAUNCHED]; /* what is being learnt from, the oldest first */
    int launched_count;
    int64_t ask_every; /* updates of several ranks between two looks at what is asked */
    double credit;     /* updates due, below 1 */
    bool warned;       /* that the memory is full and too small for the first update */
};

/* A batch that has just been drawn (of the learner `context`), by the drawing thread: reanalysed, augmented and on its
 * way to the trainer's slot. */
cm_status cm_run_learner_stage(void *context, int slot, cm_batch *batch) CM_MUST_USE;

#endif
