/* Training targets of one position of an episode (docs/spec/learning.md 1.1 - 1.6).
 *
 * An episode has T steps; the position is t, left = T - t steps remain, k = 0 .. K counts unroll steps from t. The
 * n-step return of position s = t + k is sum gamma^i sigma_i r_{s+i} plus a bootstrap sigma gamma^n V(s + n); sigma is
 * -1 where another player moves than at s. It is handed out in parts, so that V may be the stored search value or come
 * from a network:  value = partial + coefficient * V(bootstrap position).
 *
 *   terminated end   no bootstrap at T; past it value and reward are 0 and trained, the policy is masked
 *   truncated end    bootstrap with V(o_T); past it everything is masked
 *   explored step    its move was drawn uniformly, so what followed says nothing about good play: a return that reaches
 *                    it stops there with the stored search value of that position
 */
#ifndef CM_REPLAY_TARGETS_H
#define CM_REPLAY_TARGETS_H

#include "core/policy_form.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_target_rule {
    int unroll;               /* K, 0 .. 1024                                                        */
    int td_steps;             /* n, 1 .. 1 Mi                                                        */
    double discount;          /* gamma, 0 .. 1                                                       */
    int value_prefix_horizon; /* 0: rewards; H > 0: their running sums, restarted every H unroll steps */
    double policy_smoothing;  /* epsilon of pi (1 - epsilon) + epsilon / A, 0 .. 1                   */
    int64_t td_interval;      /* 0: n is constant; else n is one less per this many steps of age, at least 1 */
} cm_target_rule;

/* Checks the ranges above. Errors: CM_ERR_INPUT names the field. */
cm_status cm_target_rule_check(const cm_target_rule *rule) CM_MUST_USE;

/* Steps that row t of an episode needs: rewards t .. t + K + n - 1, and values and players one further. */
int64_t cm_target_reach(const cm_target_rule *rule);

/* A row as the replay keeps it. Targets are computed from reward, root_value, to_play and bit 0 of flags. */
typedef struct cm_replay_row {
    float reward;     /* r_t, of the player who acted                                           */
    float root_value; /* stored search value, from the view of to_play                          */
    int32_t action;   /* a_t                                                                    */
    uint32_t index;   /* step number of the environment * E + environment, mod 2^32: age, and proof of identity */
    int32_t left;     /* in the ring: steps from here to the end; 0 in a last row and in a free one */
    uint8_t to_play;  /* player to move                                                         */
    uint8_t flags;    /* bit 0: the move was a uniform random one; others: internal.h           */
    uint8_t unused[2];
} cm_replay_row;

/* What is stored from position t on. With L = min(left, cm_target_reach): */
typedef struct cm_target_window {
    int64_t left;             /* T - t, >= 1                                                          */
    bool terminated;          /* the end is a real one; else it is truncated                          */
    cm_policy_form form;      /* of policies                                                          */
    int td_steps;             /* n of this position: cm_target_td_steps                               */
    const cm_replay_row *row; /* [L + 1]; of the last one only root_value and to_play are read, and those not at a
                               * terminated end                                                       */
    const float *policy;      /* [min(left, K + 1), P], rows of each number sum to 1                  */
} cm_target_window;

/* Outputs of one position, all owned by the caller. */
typedef struct cm_target_row {
    float *partial;          /* [K+1]                                                         */
    float *coefficient;      /* [K+1] gamma^i sigma of the bootstrap, 0 if there is none      */
    int32_t *bootstrap;      /* [K+1] its position relative to t, -1 if there is none         */
    float *value_mask;       /* [K+1]                                                         */
    float *reward;           /* [K] rewards or value prefixes                                 */
    float *reward_mask;      /* [K]                                                           */
    float *policy;           /* [K+1, P] zeros where masked                                   */
    float *policy_mask;      /* [K+1]                                                         */
    float *consistency_mask; /* [K] entry k: may the state after unroll step k + 1 be compared with o_{t+k+1} */
} cm_target_row;

void cm_target_compute(const cm_target_rule *rule, const cm_target_window *window, const cm_target_row *out);

/* The n-step return of the window's first position with the stored values; what a new priority is measured against. */
double cm_target_return(const cm_target_rule *rule, const cm_target_window *window);

/* policy[P] = counts[P] / the sum of their number: visit counts or unnormalised weights. Errors: CM_ERR_INPUT if one is
 * negative or NaN, or all of a number are 0. policy may be counts. */
cm_status cm_policy_normalise(const float *counts, cm_policy_form form, float *policy) CM_MUST_USE;

/* out[count, P] = policies (1 - smoothing) + smoothing / n. out may be policies. */
void cm_policy_smooth(double smoothing, cm_policy_form form, const float *policies, int count, float *out);

/* n of the transition with collection number `index` when `collected` have been collected (EfficientZero). */
int cm_target_td_steps(const cm_target_rule *rule, uint64_t collected, uint64_t index);

#ifdef __cplusplus
}
#endif
#endif
