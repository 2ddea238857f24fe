/* Section "Training": losses, optimizer, learning rate, EMA and target network, amount of learning.
 * docs/spec/learning.md 3, 5.5, 7. */
#ifndef CM_TRAINER_OPTIONS_H
#define CM_TRAINER_OPTIONS_H

#include "backend/schedule.h"
#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_optimizer_type {
    CM_OPTIMIZER_ADAMW,
    CM_OPTIMIZER_ADAM,
    CM_OPTIMIZER_SGD,
    CM_OPTIMIZER_MUON,
    CM_OPTIMIZER_COUNT
} cm_optimizer_type;
typedef enum cm_decay_on { CM_DECAY_ALL, CM_DECAY_WEIGHTS } cm_decay_on;
typedef enum cm_unroll_scale { CM_UNROLL_PAPER, CM_UNROLL_WHOLE, CM_UNROLL_CUMIND, CM_UNROLL_NONE } cm_unroll_scale;
typedef enum cm_hidden_gradient { CM_HIDDEN_PAPER, CM_HIDDEN_HOOK, CM_HIDDEN_NONE } cm_hidden_gradient;
typedef enum cm_policy_loss { CM_POLICY_LOSS_CE, CM_POLICY_LOSS_KL } cm_policy_loss;

enum { CM_CHUNK_ROWS = 64 }; /* of a batch on the CPU */

typedef struct cm_trainer_options {
    int batch_size; /* B of one update, over all ranks */
    double learning_rate;
    double weight_decay;
    int64_t target_update_frequency; /* updates between copies to the target network; 0: no target network */
    int train_frequency; /* one update per so many finished episodes; 0: replay_ratio or updates_per_iteration */
    int chunk_rows;      /* of a batch, worked on together; 0: CM_CHUNK_ROWS, or all where the device is not the host */
    int recompute;       /* cm_recompute (backend/tape/tape.h) */

    int optimizer;    /* cm_optimizer_type */
    int decay_on;     /* cm_decay_on */
    double clip_norm; /* global L2 norm of the gradient, 0: none */
    double momentum;  /* sgd */
    double beta1, beta2, adam_epsilon;
    int gradient_accumulation; /* batches per step of the optimizer */
    double loss_scale;         /* with products in float16: what losses are multiplied by at first, a power of two */
    int loss_scale_growth_interval; /* steps until it doubles; 0: never */

    int schedule;               /* cm_schedule_kind */
    int64_t warmup_steps;       /* updates */
    double final_learning_rate; /* cosine */
    double decay_rate;          /* step, exponential */
    int64_t decay_steps;        /* step, exponential; updates */
    int64_t schedule_steps;     /* piecewise, cosine; updates after the warm-up, 0: to the end of the run */

#define CM_LOSS_WEIGHT(key, ...) double key;
#include "trainer/losses.def"
    double entropy_weight;
    int policy_loss;              /* cm_policy_loss */
    bool mask_illegal;            /* the policy loss leaves illegal actions out of the softmax */
    int unroll_scale;             /* cm_unroll_scale */
    double hidden_gradient_scale; /* 0 .. 1 */
    int hidden_gradient_form;     /* cm_hidden_gradient */

    double ema_decay;    /* of the parameters' moving average per update; 0: no average is kept */
    bool ema_acts;       /* self-play uses it */
    bool ema_evaluates;  /* evaluation uses it */
    bool ema_bootstraps; /* its value of o_{t+n} is the bootstrap, found when a batch is learnt from */

    double replay_ratio;       /* positions trained per new step; 0: not used */
    int updates_per_iteration; /* 0: not used */
} cm_trainer_options;

extern const cm_option cm_trainer_option_rows[];
extern const int cm_trainer_option_count;

#ifdef __cplusplus
}
#endif
#endif
