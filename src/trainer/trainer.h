/* Learning: a batch of positions -> unroll K steps -> losses -> gradients -> one step of the optimizer, in place.
 *
 * The batch is cut into chunks of chunk_rows rows. A chunk is one recorded pass, forward and backward, with a gradient
 * buffer of its own; one worker runs it on one stream. The buffers are summed in a fixed binary tree by chunk number,
 * so the number of workers changes no bit. Ranks continue the same tree: their number changes no bit either, if the
 * batch is cut into the same chunks and each rank has a power of two of them. Losses and their scaling: spec learning
 * 3; the optimizer: 3.3.
 *
 * The trainer owns the parameters, state (running statistics), moments, gradients, the moving average and the target
 * network. While cm_trainer_update runs, no other thread may read them.
 *
 * unroll.h records a chunk's pass, optimizer.h makes the step, internal.h lists the files in between.
 *
 * Letters: B batch, K unroll, P entries of a policy, O observation size, n parameters.
 */
#ifndef CM_TRAINER_TRAINER_H
#define CM_TRAINER_TRAINER_H

#include "core/pool.h"
#include "core/stop.h"
#include "distributed/comm.h"
#include "network/network.h"
#include "trainer/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_trainer cm_trainer;

/* Pictures [H, W, n C] that come as frames [H, W, C], n of a stack, each in a batch once. */
typedef struct cm_trainer_frames {
    int count;  /* n; 0: observations come whole */
    float unit; /* > 0: bytes times this; 0: float32 */
} cm_trainer_frames;

typedef struct cm_trainer_config {
    const cm_network *network; /* borrowed, like all pointers here; they outlive the trainer */
    cm_backend *backend;
    cm_pool *pool;
    cm_comm *comm; /* NULL: one process. Of several ranks all create, update, ... together */
    const cm_trainer_options *options;
    int batch;             /* B: rows that this rank is given per update */
    int unroll;            /* K, 0 .. 64 */
    cm_dtype compute;      /* CM_F32, CM_BF16 or CM_F16 */
    uint64_t seed;         /* of the initial parameters */
    int64_t total_updates; /* schedules that end do so here, unless the options say where; at least 1 */
    double priority_epsilon;
    int64_t check_interval; /* updates between comparisons of the ranks' parameters; 0: none */
    int64_t bucket_bytes;   /* least size of the pieces in which gradients are summed over ranks, concurrent with the
                               backward   pass; 0: in one piece, after it */
    bool bootstrap;         /* value targets have bootstrap values by the EMA or target network */
    const cm_stop *stop;    /* borrowed; on a host an update of one rank is broken off once it is asked; NULL: never */
    cm_trainer_frames frames; /* not with a network that encodes what chance does */
    int in_flight;            /* batches that may be in flight where the device is not the host, where it is
                                 always one; 0: one */
} cm_trainer_config;

/* Takes all memory and records the passes. Errors: CM_ERR_INPUT, CM_ERR_MEMORY; CM_ERR_STATE for several ranks on
 * devices that are not joined (comm.h). */
cm_status cm_trainer_create(const cm_trainer_config *config, cm_trainer **out) CM_MUST_USE;
void cm_trainer_destroy(cm_trainer *trainer); /* NULL is allowed */

/* F frames of a row, those of o_t first. */
typedef struct cm_train_frames {
    int each;         /* F, at least n, with consistency n + K                                   */
    const void *data; /* [B, F, bytes of a frame]                                                */
    /* The stack of o_{t+k} is that of its row's frames index[k], or of zeros where that is -1; shift and factor of
     * o_t, and of all later ones, are what operation stack_frames takes. */
    const int32_t *index; /* [B, K+1, n] */
    const int32_t *shift; /* [B, 2, 2]   */
    const float *factor;  /* [B, 2]      */
} cm_train_frames;

/* One batch; row-major arrays of the caller, read only. Values and rewards on the raw scale. */
typedef struct cm_train_batch {
    cm_train_frames frames;        /* with config.frames, in place of observation and target_observations */
    const float *observation;      /* [B, O]         o_t */
    const int32_t *actions;        /* [B, K]         */
    const float *target_value;     /* [B, K+1]       with config.bootstrap the rewards' part of it */
    const float *target_reward;    /* [B, K]         */
    const float *target_policy;    /* [B, K+1, P]    */
    const float *value_mask;       /* [B, K+1]       0 or 1 */
    const float *reward_mask;      /* [B, K]         */
    const float *policy_mask;      /* [B, K+1]       */
    const float *consistency_mask; /* [B, K]         */
    const float
        *target_observations; /* [B, K, O]      o_{t+1} ... o_{t+K}; NULL without consistency heads and encoder */
    const int32_t *codes;     /* [B, K]         what chance brought, -1: not known; with given codes */
    const uint8_t *legal;     /* [B, K+1, P]    1 where legal; read if mask_illegal is set */
    const float *weights;     /* [B]            importance weights; NULL: 1 */
    /* with config.bootstrap: to a target coefficient V(observation) is added (learning 1), by the
     * EMA if ema_bootstraps, else by the target network */
    const float *bootstrap_coefficient;  /* [B, K+1]      0: none; NULL: none anywhere                */
    const float *bootstrap_observations; /* [B, K+1, O]   read where the coefficient is not 0         */
} cm_train_batch;

enum { CM_UNROLL_MAX = 64 };

/* The terms of the total loss, of which losses.def has the rows. */
typedef enum cm_loss {
#define CM_LOSS(term, ...) CM_LOSS_##term,
#include "trainer/losses.def"
    CM_LOSSES
} cm_loss;

typedef enum cm_loss_of { CM_LOSS_OF_STATES, CM_LOSS_OF_STEPS, CM_LOSS_OF_ARRIVALS } cm_loss_of;

typedef struct cm_loss_row {
    const char *term, *metric;
    cm_loss_of of;
    bool is_optional;
    size_t weight; /* offset of a double in cm_trainer_options     */
    size_t mask;   /* offset of a const float * in cm_train_batch  */
} cm_loss_row;
extern const cm_loss_row cm_loss_rows[CM_LOSSES];

/* How many losses a term has in an unroll of K steps: K + 1 or K. */
static inline int cm_loss_count(int loss, int unroll) {
    return cm_loss_rows[loss].of == CM_LOSS_OF_STATES ? unroll + 1 : unroll;
}

/* What one update found. Each loss is (1/B) sum weight * mask * loss, before loss weights and unroll scale. */
typedef struct cm_train_report {
    int64_t update; /* its number, from 0 */
    double total_loss;
    double loss[CM_LOSSES][CM_UNROLL_MAX + 1]; /* [cm_loss_count] of each; 0 if it is not recorded */
    double entropy[CM_UNROLL_MAX + 1];         /* of the policy */
    double gradient_norm;                      /* before clipping; 0 if the step was skipped */
    double loss_scale;                         /* what the gradients carried; 1 without loss scaling */
    double learning_rate;
    double clipped, clipped_rewards;  /* shares of value and reward targets outside their supports */
    double value_reach, reward_reach; /* largest absolute targets of this rank's rows; 0 with scalar heads */
    /* owned by the trainer, until the next one is finished */
    const float *priorities;    /* [B] |v_0 - z_0| + epsilon */
    const float *value_targets; /* [B, K+1] z_k, bootstraps included */
    /* seconds that sums of gradients over ranks took, and those of them that were spent after the backward pass; on a
     * device both are those of giving it the work */
    double reduce_seconds, exposed_seconds;
    bool stepped; /* false while gradients are accumulated over several batches */
    bool skipped; /* by loss scaling: nothing has changed but the scale and the number of updates */
} cm_train_report;

/* One update in place: all of it is launched, then the results and the norm are waited for at once. Of several ranks
 * each gives its rows of the batch, and all get the same report but for the priorities. Errors: CM_ERR_NOT_FINITE if a
 * loss or the gradient norm is not a number; the message names the first term or parameter that is not, and nothing was
 * changed on any rank (gradients and statistics that were being accumulated are lost). With loss scaling a norm that is
 * not finite is an error only at scale 1, see below. CM_ERR_STATE if ranks no longer agree. CM_ERR_INTERRUPTED if it
 * was broken off: nothing was changed, but that what was being accumulated is lost. CM_ERR_INPUT if rows of the batch
 * have fewer frames than are read: nothing was done. */
cm_status cm_trainer_update(cm_trainer *trainer, const cm_train_batch *batch, cm_train_report *report) CM_MUST_USE;

/* The same in three parts, a pipelined update: while a device learns from one batch the next ones are brought to it and
 * the gradient of the next one is launched. No bit depends on it. A batch is in flight from its stage to its finish.
 *
 * cm_trainer_stage writes the batch to a place of the in-flight batches and sends it to the device. It waits for
 * nothing that learns and may be called by threads of their own, each with another place, concurrently with all else
 * here.
 *
 * cm_trainer_launch launches the gradient of a batch that was staged, by the parameters of the last step, and before it
 * its bootstrap values, by the EMA or target network of that step. Its step is launched once the batch before it
 * is finished, so none follows one that is not finite. At most CM_TRAINER_LAUNCHED are launched and not finished, and
 * no more than may be in flight (CM_ERR_STATE).
 *
 * cm_trainer_finish waits for the oldest one; errors are those of an update. After one all that were launched are
 * forgotten. With CM_ERR_NOT_FINITE the report has the batch's value targets.
 *
 * `batch` stays as it is from stage until it is finished; then its place is free. Places count modulo their number. */
enum { CM_TRAINER_LAUNCHED = 2 };
int cm_trainer_in_flight(const cm_trainer *trainer); /* how many can be, at least 1 */
cm_status cm_trainer_stage(cm_trainer *trainer, int place, const cm_train_batch *batch) CM_MUST_USE;
cm_status cm_trainer_launch(cm_trainer *trainer, int place, const cm_train_batch *batch) CM_MUST_USE;
cm_status cm_trainer_finish(cm_trainer *trainer, cm_train_report *report) CM_MUST_USE;

bool cm_trainer_has_loss(const cm_trainer *trainer, cm_loss loss); /* whether this term is part of the total loss */

/* Predictions of the last update, for reference cases, if its batch was one chunk: value[B, K+1], reward[B, K] decoded,
 * policy_logits[B, K+1, P]; any may be NULL. */
cm_status cm_trainer_predictions(const cm_trainer *trainer, float *value, float *reward,
                                 float *policy_logits) CM_MUST_USE;

/* Which parameters. */
typedef enum cm_weights {
    CM_WEIGHTS_ONLINE, /* what the optimizer changes */
    CM_WEIGHTS_EMA,    /* their moving average; the online ones if none is kept */
    CM_WEIGHTS_TARGET, /* copied every target_update_frequency updates; the online ones if there is no target network */
    CM_WEIGHTS_COUNT
} cm_weights;

/* Brings the host's view of the blocks below up to date, where the device is not the host: before they are read after
 * an update, and before some of them are written. Errors: CM_ERR_DEVICE. */
typedef enum cm_trainer_part {
    CM_TRAINER_WEIGHTS, /* parameters and state, of all kinds */
    CM_TRAINER_ALL      /* and moments, gradients */
} cm_trainer_part;
cm_status cm_trainer_fetch(cm_trainer *trainer, cm_trainer_part part) CM_MUST_USE;

/* The blocks as the host sees them, of cm_network_parameters's layout: parameters [n] and state. Reading is allowed
 * between updates; a writer (a checkpoint being loaded) calls cm_trainer_changed afterwards. */
float *cm_trainer_parameters(cm_trainer *trainer, cm_weights which);
float *cm_trainer_state(cm_trainer *trainer, cm_weights which);
float *cm_trainer_moments(cm_trainer *trainer, int order);    /* 0 first (or momentum), 1 second (NULL for sgd) */
const float *cm_trainer_gradients(const cm_trainer *trainer); /* of the last update, before clipping, times its scale */
/* That scale, 1 without loss scaling; cm_trainer_loss_scaling has that of the next update, which may be another. */
double cm_trainer_gradient_scale(const cm_trainer *trainer);
cm_status cm_trainer_changed(cm_trainer *trainer) CM_MUST_USE;

/* Where they lie on the device: to be copied within it, between updates. */
typedef struct cm_trainer_blocks {
    const cm_buffer *parameters, *state;
} cm_trainer_blocks;
cm_trainer_blocks cm_trainer_on_device(cm_trainer *trainer, cm_weights which);

int64_t cm_trainer_updates(const cm_trainer *trainer);
void cm_trainer_set_updates(cm_trainer *trainer, int64_t updates); /* when a checkpoint is loaded */
/* From the next update on schedules end after so many, at least 1, in place of those of the configuration. */
void cm_trainer_plan(cm_trainer *trainer, int64_t total_updates);

/* Dynamic loss scaling, with compute CM_F16: losses are multiplied by a scale on the way into their gradients, which
 * the step undoes, so norm, clipping and moments are those of the true gradient. If the gradient is not finite the step
 * is skipped and the scale halves; it doubles after options.loss_scale_growth_interval steps in a row. A skipped step
 * counts as an update, but not in the corrections of Adam's moments, and a copy to the target network that is due with
 * it is not made. All ranks decide alike. Sources: Micikevicius et al. 2018; PyTorch's GradScaler. */
typedef struct cm_loss_scaling {
    double scale;                 /* of the next update, a power of two from 1 to 2^24; 0 without loss scaling */
    int64_t good, steps, skipped; /* steps taken since the scale changed, taken and skipped in all */
} cm_loss_scaling;
cm_loss_scaling cm_trainer_loss_scaling(const cm_trainer *trainer); /* after the last update that is finished */
/* When a checkpoint is loaded. Does nothing without loss scaling. Errors: CM_ERR_INPUT for a scale that is no power of
 * two or out of range, CM_ERR_DEVICE. */
cm_status cm_trainer_set_loss_scaling(cm_trainer *trainer, const cm_loss_scaling *state) CM_MUST_USE;

/* Floating-point operations of one update's matrix products, forward and backward. */
double cm_trainer_flops(const cm_trainer *trainer);

/* Bytes of a batch as the device gets it: frames or observations, actions, targets. */
size_t cm_trainer_input_bytes(const cm_trainer *trainer);

/* Memory taken, by class, as lines "name: bytes" for the plan that is printed. */
typedef struct cm_memory_row {
    const char *name;
    size_t bytes;
} cm_memory_row;
/* What a trainer of this configuration would take for batches; nothing of that is taken. Errors: as cm_trainer_create.
 */
typedef struct cm_trainer_need {
    size_t activations; /* bytes */
    size_t bytes;       /* with gradients, statistics, inputs and results */
} cm_trainer_need;
cm_status cm_trainer_plan_memory(const cm_trainer_config *config, cm_trainer_need *out) CM_MUST_USE;

#define CM_ROW_ACTIVATIONS "training activations" /* a row's name */
int cm_trainer_memory(const cm_trainer *trainer, cm_memory_row *rows, int capacity);

#ifdef __cplusplus
}
#endif
#endif
