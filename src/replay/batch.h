/* Batches: positions drawn from the replay with everything that a training step needs.
 *
 * Names, shapes and the (raw) scale of values are those of the learning cases (tests/cases/learning/README.md). Rows
 * past the end of an episode have zeros, mask 0 and all actions legal; their action is drawn uniformly. Past a
 * terminated end rewards and values have mask 1. If the configuration has symmetries, one is drawn per row and applied
 * to all of it.
 *
 * A value target comes whole and in parts: target_value = value_partial + value_coefficient * V. V is the stored search
 * value of the bootstrap position (value_bootstrap). A caller with values of its own takes the parts and its V of
 * bootstrap_observations, from the view of the player to move there. The coefficient contains the power of the discount
 * and the sign of the player.
 *
 * Pictures come as their frames, where config.frames is set: o_t .. o_{t+K} of a row share most of theirs, and each is
 * in the batch once, as the replay has it. So K + 1 stacks of n frames in bytes take K + n bytes a number, not
 * 4 (K + 1) n. Operation stack_frames (backend/ops.def) makes the pictures where they are learnt from, with the
 * augmentation that was drawn. Draws depend on (seed, number of the row in the whole batch, update) alone.
 */
#ifndef CM_REPLAY_BATCH_H
#define CM_REPLAY_BATCH_H

#include "core/arena.h"
#include "replay/augment.h"
#include "replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_batch_config {
    int rows;                     /* B, 1 .. 1 Mi                                                                  */
    bool consistency;             /* fills target_observations, or has frames of these positions, too              */
    bool frames;                  /* has frames in place of observation and target_observations                    */
    cm_augmentation augmentation; /* of frames                                                           */
    bool bootstrap;               /* fills bootstrap_observations                                                  */
    bool keys;                    /* fills position_key and bootstrap_key                                          */
    uint64_t seed;                /* of the run                                                                    */
    uint64_t first_row;           /* number of row 0 in the batch of the whole run (ranks): draws depend on it     */
} cm_batch_config;

struct cm_window_scratch;
struct cm_frame_reader;

/* F frames of a row, n of a stack. The first ones are those of o_t. */
typedef struct cm_batch_frames {
    int each, count;     /* F: n, and with consistency K more; n, 1 .. CM_FRAMES_MOST                    */
    int channels;        /* of a pixel of a frame                                                        */
    size_t bytes;        /* of a frame                                                                   */
    float unit;          /* > 0: a frame's numbers are bytes times this; 0: float32                      */
    unsigned char *data; /* [B, F, bytes]; those that no index names are undefined                       */
    int32_t *index;      /* [B, K+1, n]  which of its row are the stack of o_{t+k}; -1: there is none    */
    int32_t *shift;      /* [B, 2, 2]    down and right (augment.h): of o_t, of all later ones           */
    float *factor;       /* [B, 2]       likewise                                                        */
    int32_t *number;     /* [F] scratch: which the row in hand has                                       */
} cm_batch_frames;

/* B rows, K unroll, P entries of a policy, O observation size. Owned by cm_batch_create's caller, or by a prefetch. */
typedef struct cm_batch {
    cm_batch_config config;
    int unroll, actions, observation_size;
    cm_policy_form form;
    double policy_smoothing;       /* of the policy targets */
    uint64_t update;               /* the update that it was drawn for */
    uint32_t collected;            /* steps ever collected by then, mod 2^32: the age of a row is that less its index */
    float *observation;            /* [B, O]           o_t; NULL with frames                   */
    cm_batch_frames frames;        /*                  data NULL without                       */
    int32_t *action;               /* [B, K]           a_{t+k}                                 */
    float *target_value;           /* [B, K+1]                                                 */
    float *target_reward;          /* [B, K]           rewards or value prefixes               */
    float *target_policy;          /* [B, K+1, P]                                              */
    float *value_mask;             /* [B, K+1]                                                 */
    float *reward_mask;            /* [B, K]                                                   */
    float *policy_mask;            /* [B, K+1]                                                 */
    float *consistency_mask;       /* [B, K]                                                   */
    float *weights;                /* [B]              importance weights, weight_min .. 1     */
    uint8_t *legal;                /* [B, K+1, P]      1 where legal                           */
    float *target_observations;    /* [B, K, O]        o_{t+1} .. o_{t+K}, or NULL             */
    float *value_partial;          /* [B, K+1]                                                 */
    float *value_coefficient;      /* [B, K+1]         0: no bootstrap                         */
    float *value_bootstrap;        /* [B, K+1]         stored search value, 0 if there is none */
    float *bootstrap_observations; /* [B, K+1, O]      zeros if there is none, or NULL         */
    int64_t *position_key;         /* [B, K+1]         cm_replay_position, -1 past the end; or NULL      */
    int64_t *bootstrap_key;        /* [B, K+1]         of bootstrap positions, -1: there is none; or NULL */
    int32_t *slot;                 /* [B]              for cm_replay_update_priorities         */
    uint32_t *index;               /* [B]              likewise                                */
    int32_t *symmetry;             /* [B]              the one that was applied                */
    double policy_drift;     /* how far policies set again are from the stored ones: the sum of cm_batch_set_policy's
                                drifts, filled in where they are set                                */
    int policies_reanalysed; /* how many these are                                                */
    /* scratch of drawing */
    cm_arena arena;
    cm_key *key;                      /* [B] of the rows' streams                */
    double *number;                   /* [B] drawn numbers, then probabilities   */
    int32_t *offset;                  /* [K+1] bootstrap positions of a row      */
    int64_t *drawn;                   /* [table] numbers drawn, -1: free         */
    int32_t table;                    /* a power of two, at least 2 B            */
    struct cm_frame_reader *reader;   /* frames of a file that have been read */
    bool has_reader;                  /* it is open */
    cm_status status;                 /* of that */
    struct cm_window_scratch *window; /* space for a position that wraps around the ring's end */
} cm_batch;

/* Takes the memory of a batch that fits the replay's configuration. Errors: CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_batch_create(const cm_replay *replay, const cm_batch_config *config, cm_batch **out) CM_MUST_USE;
void cm_batch_destroy(cm_batch *batch);         /* NULL is allowed */
uint64_t cm_batch_bytes(const cm_batch *batch); /* of its block */

/* Draws the batch of update number `update` from what the last commit showed. The result depends on (seed, first_row,
 * update), beta and that content alone. Uniform: without replacement if there are at least B positions. By priority:
 * with replacement, and weights max((N P)^-beta / their largest, weight_min). Errors: CM_ERR_STATE if there is nothing
 * to draw; CM_ERR_IO if the file of the memory cannot be read. */
cm_status cm_replay_sample(const cm_replay *replay, uint64_t update, double beta, cm_batch *batch) CM_MUST_USE;

/* out[O] = o_{t+k} of a row, without augmentation; k > 0 with consistency alone. Zeros past the end. */
void cm_batch_observe(const cm_batch *batch, int row, int k, float *out);

/* target_policy of a position, row (K+1) + k, from weights[P] that a new search gives it (as in cm_replay_step), which
 * become the target: normalised and smoothed as stored ones are. *drift: the total variation between the old and the
 * new target, 0 .. 1; per number: its mean over the numbers. Several threads may set positions of a batch. Errors:
 * those of cm_policy_normalise. */
cm_status cm_batch_set_policy(cm_batch *batch, int position, float *weights, float *drift) CM_MUST_USE;

/* target_value of a position, row (K+1) + k, from its search in place of an n-step return: nothing is added to it. */
void cm_batch_set_value(cm_batch *batch, int position, float value);

/* The V of a bootstrap position, row (K+1) + k, in place of the stored one. */
void cm_batch_set_bootstrap(cm_batch *batch, int position, float value);

#ifdef __cplusplus
}
#endif
#endif
