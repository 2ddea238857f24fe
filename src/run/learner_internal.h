/* What the files of learning share: learner.c (creation), learner_due.c (when and how much) and learner_updates.c
 * (batches and updates). */
#ifndef CM_RUN_LEARNER_INTERNAL_H
#define CM_RUN_LEARNER_INTERNAL_H

#include "run/learner.h"

struct cm_run_learner {
    cm_configuration *c;       /* borrowed: the session's */
    cm_comm *comm;             /* borrowed */
    const cm_stop *stop;       /* borrowed; NULL: never */
    cm_replay *replay;         /* owned */
    cm_prefetch *prefetch;     /* owned */
    cm_trainer *trainer;       /* owned */
    cm_reanalyser *reanalyser; /* owned; NULL: policies are those that were played */
    cm_rolling *rolling;       /* owned; NULL: reanalyse is batch */
    cm_agent *copy_agent;      /* owned; has the copy of the weights that `rolling` searches with */
    int64_t copied;            /* its number; -1: none */
    int rows, unroll, observation_size;
    int32_t
        *codes; /* [slots of prefetch, B, K] owned: what chance brought, where the environment tells it; else NULL */
    const cm_env *env;                             /* borrowed */
    cm_batch_handle launched[CM_TRAINER_LAUNCHED]; /* what is being learnt from, the oldest first */
    int launched_count;
    int64_t ask_every; /* updates of several ranks between two looks at what is asked */
    double credit;     /* updates due, below 1 */
    double rolled;     /* seconds of passes of `rolling` since they were asked for */
    double awaited;    /* seconds of waiting for batches that are reanalysed */
    int64_t searching; /* nanoseconds of the drawing threads' reanalysis; atomic */
    bool warned;       /* that the memory is full and too small for the first update */
};

/* A batch that has just been drawn (of the learner `context`), by the drawing thread: reanalysed and on its
 * way to the trainer's slot. */
cm_status cm_run_learner_stage(void *context, int slot, cm_batch *batch) CM_MUST_USE;

/* Makes what reanalyse = buffer needs, where it is set. */
cm_status cm_run_learner_open_rolling(cm_run_learner *learner, cm_session *session, cm_pool *pool,
                                      int batches) CM_MUST_USE;

/* Of `left` updates after the first `update` how many can be made before the next copy of the weights. */
int64_t cm_run_learner_section(const cm_run_learner *learner, int64_t update, int64_t left);

/* Searches the part of the memory that is due before the updates [update, update + count). */
cm_status cm_run_learner_roll(cm_run_learner *learner, int64_t update, int64_t count) CM_MUST_USE;

#endif
