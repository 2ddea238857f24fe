/* The inside of a trainer: trainer.c (creation), update.c (gradient and step), report.c (what was found),
 * in_flight.c (batches on their way to the device and back), weights.c (blocks; EMA and target network), values.c
 * (bootstraps), scaling.c (of losses), reducer.c (gradients of several ranks), agreement.c (whether they hold the same
 * parameters).
 *
 * One update; on a device the steps of two batches overlap (cm_trainer_launch):
 *
 *     cm_trainer_stage   batch -> pinned inputs -> device, by the thread that draws  in_flight.c
 *     cm_trainer_launch  bootstrap values, by the EMA or target network              values.c
 *                        each chunk: forward, losses, backward -> gradient[chunk]    update.c
 *                        sum over chunks and ranks -> gradient[0]                    optimizer.c, reducer.c
 *     launch_step        clip: norm, all finite? -> factor                           optimizer.c
 *                        by the factor: optimizer step, EMA, statistics, target      optimizer.c, weights.c
 *                        weights' half-precision copies; results -> host             weights.c, in_flight.c
 *     cm_trainer_finish  wait for the results -> report, priorities                  report.c
 */
#ifndef CM_TRAINER_INTERNAL_H
#define CM_TRAINER_INTERNAL_H

#include <pthread.h>

#include "core/arena.h"
#include "device/mirror.h"
#include "trainer/optimizer.h"
#include "trainer/unroll.h"

/* Numbers after the parameters in the gradient of a chunk, of several ranks: a factor and a norm, which is 0, or no
 * number where a result of some rank is none. */
enum { CM_TRAINER_TAIL = 2 };

/* How far the range of a layer moves per batch towards the largest magnitude that the layer read in it. */
#define CM_RANGE_MOMENTUM 0.05f

/* Numbers after the results of a batch: factor[2] of clip, and what it has left of the state of loss scaling. */
enum { CM_TRAINER_FACTORS = 2, CM_TRAINER_FOUND = CM_TRAINER_FACTORS + CM_SCALING_NUMBERS };

typedef struct cm_values cm_values;
typedef struct cm_reducer cm_reducer;

/* The positions whose values an in-flight batch bootstraps from (values.c). */
typedef struct cm_bootstraps {
    cm_mirror observations; /* pinned [blocks, rows of a pass]: those that are needed, without gaps */
    int used;               /* how many these are */
    int32_t *row;           /* [B, K+1] where a target's value stands in cm_values_found; 0 without one */
    cm_pass **pass;         /* owned */
} cm_bootstraps;

/* What a batch has of its own, so that the next ones can be prepared meanwhile. */
typedef struct cm_in_flight {
    cm_mirror inputs;  /* pinned, of all chunks */
    cm_mirror results; /* pinned, of all chunks, and after them CM_TRAINER_FOUND: all that the host reads of it */
    cm_pass **pass;    /* [workers, 2] on these; owned */
    cm_event staged;   /* the inputs are on the device */
    cm_event returned; /* the results are on the host */
    cm_bootstraps bootstraps;
    /* the batch that is in it, from its begin to its end */
    cm_train_batch batch;
    int64_t update; /* that it belongs to */
    bool has_step;  /* the last one of its update: there is a step */
    double reduce_seconds, exposed_seconds;
} cm_in_flight;

struct cm_trainer {
    /* constant */
    cm_trainer_config config;
    cm_comm single;
    cm_unroll_factors factors;
    cm_unroll unroll[2];    /* full chunks, and the last one if it is shorter */
    int chunks, all_chunks; /* of this rank, of all ranks */
    size_t input_stride, gradient_stride, stats_stride, result_stride; /* bytes from chunk to chunk */
    /* owned blocks */
    cm_mirror quantised; /* the parameters as passes that train read them, with fake quantisation; not taken without */
    cm_mirror parameters, state, average, target, target_state, accumulated, accumulated_state;
    cm_mirror gradients;
    cm_mirror scaling;       /* state of loss scaling; not taken without */
    cm_in_flight *in_flight; /* [in_flight_count] */
    int in_flight_count;
    cm_buffer *work;     /* [workers, 2] activations */
    cm_buffer stats;     /* [all_chunks, stats_stride] */
    cm_pool *one;        /* where the device is not the host, all work is in the order of one stream; else NULL */
    cm_stream **streams; /* [workers] */
    cm_stream *copies;   /* on which inputs go to a device; NULL on a host; under `sending` */
    pthread_mutex_t sending;
    cm_optimizer *optimizer;
    cm_values *values;
    cm_reducer *reducer;        /* NULL: one rank */
    float **gradient;           /* [chunks] on the device */
    cm_scalars *scalars;        /* [chunks] */
    const cm_pass **chunk_pass; /* [chunks] that ran it last */
    float *priorities;          /* [B] */
    float *value_targets;       /* [B, K+1] */
    uint64_t *hashes;           /* [ranks, tensors]; NULL: nothing is checked */
    /* mutable */
    int64_t updates;
    cm_loss_scaling scaled; /* after the last update that is finished */
    double carried;         /* scale of its gradients; 0: there was none, or without loss scaling */
    int waiting;            /* batches accumulated since the last step */
    int launched_count;
    cm_in_flight *launched[CM_TRAINER_LAUNCHED]; /* the oldest first, whose step has been launched, too */
    cm_in_flight *playing;                       /* whose gradient is being launched */
};

static inline int accumulation(const cm_trainer *t) {
    return t->config.options->gradient_accumulation > 1 ? t->config.options->gradient_accumulation : 1;
}

/* What was found of the oldest batch, when it is there; its gradient's norm need not be finite. Collective. Errors:
 * CM_ERR_NOT_FINITE for a loss; see cm_trainer_finish. */
cm_status cm_trainer_read(cm_trainer *trainer, cm_train_report *report) CM_MUST_USE;

/* CM_ERR_NOT_FINITE that names the parameter where the gradient, which is that of the oldest batch, is not finite. */
cm_status cm_trainer_fail_norm(cm_trainer *trainer, const cm_train_report *report) CM_MUST_USE;

/* The blocks of cm_trainer_parameters and cm_trainer_state. */
cm_mirror *cm_trainer_block(cm_trainer *trainer, cm_weights which);
cm_mirror *cm_trainer_state_block(cm_trainer *trainer, cm_weights which);

/* After the device's parameters, and with them the average, have changed; the target's, too, if `target`. With fake
 * quantisation the weights are rounded again. */
cm_status cm_trainer_repack(cm_trainer *trainer, bool target) CM_MUST_USE;

/* to[n] <- from[n] in the order of the first stream, unless the step of `factor` was none (NULL: in any case). */
cm_status cm_trainer_copy(const cm_trainer *trainer, const cm_mirror *to, const cm_mirror *from, size_t n,
                          float *factor) CM_MUST_USE;
/* target <- online, likewise */
cm_status cm_trainer_copy_target(cm_trainer *trainer, float *factor) CM_MUST_USE;
cm_status cm_trainer_copy_online(cm_trainer *trainer) CM_MUST_USE; /* average and target <- online */

/* Gradients of several ranks. Buckets are neighbouring parameters; they are summed over the chunks and over the ranks
 * in the order in which the backward pass ends with them, on a thread concurrent with those that play it, or, where the
 * device is not the host, on a stream concurrent with the one that plays it, by comm->sum_on.
 *
 * run: plays the chunks, each by a pool task that calls cm_reducer_backward for its backward pass. When it returns, the
 * first chunk's gradient, and what stands after it, are sums over all chunks of all ranks. Collective. Errors: those
 * of the chunks and of the communication. */
cm_status cm_reducer_create(cm_trainer *trainer) CM_MUST_USE;
void cm_reducer_destroy(cm_reducer *reducer); /* NULL is allowed */
cm_status cm_reducer_run(cm_reducer *reducer, cm_pool_task chunk) CM_MUST_USE;
cm_status cm_reducer_backward(cm_reducer *reducer, cm_pass *pass,
                              int kind) CM_MUST_USE; /* kind: of cm_trainer.unroll */
/* Seconds of the last run; see cm_train_report. */
void cm_reducer_seconds(const cm_reducer *reducer, double *reduce, double *exposed);

/* Every check_interval updates: are parameters and running statistics the same on all ranks? Collective. Errors:
 * CM_ERR_STATE names rank and tensor. */
cm_status cm_agreement_create(cm_trainer *trainer) CM_MUST_USE;
cm_status cm_agreement_check(cm_trainer *trainer) CM_MUST_USE;

/* In-flight batches, made after the trainer's other blocks and its streams; how many. */
int cm_in_flight_count(const cm_trainer_config *config);
cm_status cm_in_flight_create(cm_trainer *trainer) CM_MUST_USE;
void cm_in_flight_destroy(cm_trainer *trainer);
cm_in_flight *cm_in_flight_at(const cm_trainer *trainer, int place);
/* [CM_TRAINER_FOUND] on the device. */
float *cm_in_flight_factor(const cm_trainer *trainer, const cm_in_flight *flight);
cm_chunk_rows cm_trainer_chunk(const cm_trainer *trainer, int chunk);
int cm_trainer_kind(const cm_trainer *trainer, const cm_chunk_rows *rows); /* of its pass and unroll: 0 or 1 */
/* CM_ERR_INPUT if rows have fewer frames than are read. */
cm_status cm_in_flight_check(const cm_trainer *trainer, const cm_train_batch *batch) CM_MUST_USE;
/* Its rows into the host's side of the inputs. */
void cm_in_flight_stage_chunk(const cm_trainer *trainer, const cm_in_flight *flight, const cm_train_batch *batch,
                              int chunk);
cm_status cm_in_flight_return(const cm_trainer *trainer, cm_in_flight *flight) CM_MUST_USE; /* results to the host */

/* Loss scaling, where config.compute is CM_F16; else these do nothing.
 *
 * keep: kept[CM_SCALING_NUMBERS] on the device <- the state, in the order of the first stream. read: what was kept,
 * as the host sees it; true if the update's step was skipped. */
cm_status cm_scaling_create(cm_trainer *trainer) CM_MUST_USE;
cm_status cm_scaling_keep(cm_trainer *trainer, float *kept) CM_MUST_USE;
bool cm_scaling_read(cm_trainer *trainer, const float *kept);

/* Bootstrap values by the EMA or target network: passes of 64 rows on all workers, on a device of a batch or
 * 256. They stay where they are found, and the pass that trains reads them there (unroll.h).
 *
 * create: made before the unroll is recorded. found: [count] on the device, as its POOL. */
cm_status cm_values_create(cm_trainer *trainer, cm_values **out) CM_MUST_USE;
void cm_values_destroy(cm_values *values);
float *cm_values_found(const cm_values *values);
int cm_values_count(const cm_values *values);
size_t cm_values_bytes(const cm_values *values);

/* Those of an in-flight batch. stage: a batch's observations into the host's side, and where their values will stand.
 * send: these to the device, in the order of `stream`. run: launches their values in the order of the learning stream;
 * on a host they are there when it returns. */
cm_status cm_bootstraps_open(const cm_values *values, cm_bootstraps *bootstraps) CM_MUST_USE;
void cm_bootstraps_close(const cm_values *values, cm_bootstraps *bootstraps);
void cm_bootstraps_stage(const cm_values *values, const cm_train_batch *batch, cm_bootstraps *bootstraps);
cm_status cm_bootstraps_send(const cm_values *values, const cm_bootstraps *bootstraps, cm_stream *stream) CM_MUST_USE;
cm_status cm_bootstraps_run(const cm_values *values, const cm_bootstraps *bootstraps) CM_MUST_USE;
#endif
