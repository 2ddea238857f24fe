/* The inside of a trainer: trainer.c (creation, updates), weights.c (blocks and slow weights), values.c (bootstraps),
 * reducer.c (gradients of several ranks), agreement.c (whether they hold the same parameters).
 */
#ifndef CM_TRAINER_INTERNAL_H
#define CM_TRAINER_INTERNAL_H

#include "core/arena.h"
#include "device/mirror.h"
#include "trainer/optimizer.h"
#include "trainer/unroll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers behind the parameters in the gradient of a chunk, of several ranks: a factor and a norm, which is 0, or no
 * number where a result of some rank is none. */
enum { CM_TRAINER_BEHIND = 2 };

typedef struct cm_values cm_values;
typedef struct cm_reducer cm_reducer;

struct cm_trainer {
    /* constant */
    cm_trainer_config config;
    cm_comm single;
    cm_unroll_factors factors;
    cm_unroll unroll[2];    /* full chunks, and the last one if it is shorter */
    int chunks, all_chunks; /* of this rank, of all ranks */
    size_t input_stride, gradient_stride, stats_stride, result_stride; /* bytes from chunk to chunk */
    /* owned blocks */
    cm_mirror parameters, state, average, target, target_state, accumulated;
    cm_mirror inputs, gradients;
    cm_mirror results;   /* of all chunks, and behind them factor[2] of clip: all that the host reads of an update */
    cm_buffer stats;     /* [all_chunks, stats_stride] */
    cm_pool *one;        /* where the device is not the host, all work is in the order of one stream; else NULL */
    cm_stream **streams; /* [workers] */
    cm_pass **pass;      /* [workers, 2] */
    cm_optimizer *optimizer;
    cm_values *values;
    cm_reducer *reducer;        /* NULL: one rank */
    float **gradient;           /* [chunks] on the device */
    cm_scalars *scalars;        /* [chunks] */
    const cm_pass **chunk_pass; /* [chunks] who ran it last */
    float *priorities;          /* [B] */
    uint64_t *hashes;           /* [ranks, tensors]; NULL: nothing is checked */
    /* mutable */
    int64_t updates;
    int waiting;                 /* batches accumulated since the last step */
    const cm_train_batch *batch; /* of the update that is running */
};

static inline int accumulation(const cm_trainer *t) {
    return t->config.options->gradient_accumulation > 1 ? t->config.options->gradient_accumulation : 1;
}

/* The blocks behind cm_trainer_parameters and cm_trainer_state. */
cm_mirror *cm_trainer_block(cm_trainer *trainer, cm_weights which);
cm_mirror *cm_trainer_state_block(cm_trainer *trainer, cm_weights which);

cm_status cm_trainer_repack(cm_trainer *trainer) CM_MUST_USE; /* after the device's parameters have changed */

cm_status cm_trainer_copy_target(cm_trainer *trainer) CM_MUST_USE; /* target <- online */
cm_status cm_trainer_copy_slow(cm_trainer *trainer) CM_MUST_USE;   /* average and target <- online */

/* Gradients of several ranks. Buckets are neighbouring parameters; they are summed over the chunks and over the ranks
 * in the order in which the backward pass ends with them, on a thread beside those that play it, or, where the device
 * is not the host, on a stream beside the one that plays it, by comm->sum_on.
 *
 * run: plays the chunks, each by a pool task that calls cm_reducer_backward for its backward pass. When it returns, the
 * first chunk's gradient, and what stands behind it, are sums over all chunks of all ranks. Collective. Errors: those
 * of the chunks and of the communication. */
cm_status cm_reducer_create(cm_trainer *trainer) CM_MUST_USE;
void cm_reducer_destroy(cm_reducer *reducer); /* NULL is allowed */
cm_status cm_reducer_run(cm_reducer *reducer, cm_pool_task chunk) CM_MUST_USE;
cm_status cm_reducer_backward(cm_reducer *reducer, cm_pass *pass,
                              int kind) CM_MUST_USE; /* kind: of cm_trainer.unroll */
void cm_reducer_report(const cm_reducer *reducer, cm_train_report *report);

/* Every check_interval updates: are parameters and running statistics the same on all ranks? Collective. Errors:
 * CM_ERR_STATE names rank and tensor. */
cm_status cm_agreement_create(cm_trainer *trainer) CM_MUST_USE;
cm_status cm_agreement_check(cm_trainer *trainer) CM_MUST_USE;

/* Values of observations by the slow weights, 64 rows at a time on all workers. */
cm_status cm_values_create(cm_trainer *trainer, cm_values **out) CM_MUST_USE;
void cm_values_destroy(cm_values *values);
size_t cm_values_bytes(const cm_values *values);

#ifdef __cplusplus
}
#endif
#endif
