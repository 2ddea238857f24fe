/* The recorded unroll of one chunk: where its inputs lie and what its losses are. Spec learning 3. */
#ifndef CM_TRAINER_UNROLL_H
#define CM_TRAINER_UNROLL_H

#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A term of the loss. An action of D numbers has D losses of the policy, whose sum is its loss; all others have one. */
typedef struct cm_unroll_loss {
    bool is_recorded;
    int each;           /* losses of a row: 1 or D                              */
    int first;          /* 1 of arrivals, whose coefficients begin with the root's, which are 0; or 0 */
    cm_var coefficient; /* [(first + cm_loss_count) B each]; CM_NO_VAR if there are none */
    cm_loss_vars step[CM_UNROLL_MAX + 1]; /* [B each] of one state or step */
} cm_unroll_loss;

/* Variables of the tape. Their rows are those of all unroll steps: row k B + i is row i of step k, with K + 1 steps
 * where states are predicted from and K where they change. A network that predicts from one state without looking at
 * others does it for all of them in one call; batch statistics are of one step, and what takes them is called once per
 * step. */
typedef struct cm_unroll {
    cm_tape *tape;       /* owned */
    int rows;            /* B, of the chunk */
    int unroll;          /* K */
    int codes;           /* C, with chance */
    cm_policy_form form; /* of policies, D numbers */
    bool consistency, chance, encoder;
    cm_var observation;    /* [B, ...]; CM_NO_VAR with frames */
    cm_frame_vars frames;  /* [B F, H, W, C], and rows [seen B] of what pictures are made of; CM_NO_VAR without */
    int frames_each, seen; /* F; steps with a picture, 1 or K + 1 */
    cm_var actions;        /* [K B]; CM_NO_VAR where K is 0, like rewards */
    cm_var value_target;   /* [(K+1) B]; with bootstraps a result */
    cm_var value_partial, bootstrap_coefficient, bootstrap_row; /* [(K+1) B] what it is made of; CM_NO_VAR without */
    cm_var policy_target;                                       /* [(K+1) B, P] */
    cm_var legal;                                               /* [(K+1) B, P]; CM_NO_VAR unless mask_illegal */
    cm_var reward_target;      /* [(K+1) B]: of the step that led there; 0 at the root */
    cm_var target_observation; /* [K B, ...]; CM_NO_VAR without consistency, or with frames */
    /* With chance (learning 12) an action leads to an afterstate with a value and a distribution over codes, a code to
     * the next state. Which code it was is given, or read by the encoder off the observations around the step. */
    cm_var given_code;        /* [K B, C] one-hot; zeros where it is not known; CM_NO_VAR with an encoder */
    cm_var code_observations; /* [K B, 2 O] before and after; CM_NO_VAR without an encoder */
    cm_var policy_logits[CM_UNROLL_MAX + 1];
    cm_unroll_loss loss[CM_LOSSES];
} cm_unroll;

/* Factors of the total loss per unroll step: loss weight times unroll scale (learning 3, "Definitions"). */
typedef struct cm_unroll_factors {
    double loss[CM_LOSSES][CM_UNROLL_MAX + 1];
} cm_unroll_factors;

void cm_unroll_factors_make(const cm_trainer_options *options, int unroll, cm_unroll_factors *out);

/* Records the pass for `rows` rows. Of `values` > 0 numbers in POOL value targets take those that they bootstrap from.
 * The caller destroys out->tape. */
cm_status cm_unroll_record(const cm_trainer_config *config, int rows, int values, cm_unroll *out) CM_MUST_USE;

/* Where a chunk's rows lie. */
typedef struct cm_chunk_rows {
    int first; /* row of the rank's batch */
    int total; /* rows of the whole batch, over all ranks and accumulated batches: what losses are divided by */
    int O, P;  /* observation size, entries of a policy */
} cm_chunk_rows;

/* Writes the chunk's rows of a batch into its INPUT block, whose place on the host is `base`. bootstrap_row[B, K+1] of
 * the batch, read with bootstraps: where in POOL the value of each target stands. */
void cm_unroll_stage(const cm_unroll *unroll, const cm_unroll_factors *factors, const cm_train_batch *batch,
                     const cm_chunk_rows *rows, const int32_t *bootstrap_row, void *base);

/* Its value targets, targets[rows, K+1] of the chunk, read off its RESULT block with bootstraps, else of the batch. */
void cm_unroll_targets(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                       const void *base, float *targets);

/* Scalars of one chunk, summed like gradients. */
typedef struct cm_scalars {
    double loss[CM_LOSSES][CM_UNROLL_MAX + 1], entropy[CM_UNROLL_MAX + 1];
} cm_scalars;

/* One of the results (losses, the first decoded value: [rows]; with bootstraps value targets: [(K+1) rows]) in a RESULT
 * block that is at `base` on the host. */
const float *cm_unroll_result(const cm_unroll *unroll, cm_var var, const void *base);

/* Reads a chunk's losses off its RESULT block, whose place on the host is `base`. */
void cm_unroll_collect(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                       const void *base, cm_scalars *out);

#ifdef __cplusplus
}
#endif
#endif
