/* What the search sees of a model: functions that work on numbered slots of the model's own pool of states.
 *
 * Hidden states never pass through here. A search of B roots with N simulations uses the slots 0 .. B*(N+1)-1: node i
 * of root b has slot b*(N+1) + i, so that the model's pool is sized once. A model call fills rows of arrays that the
 * search owns; row k belongs to entry k of the slot arrays.
 *
 * The return of a transition is reward + discount * value(successor). One player: discount = gamma. Two players who
 * alternate, values from the view of the side to move: discount = -gamma. Into an end state: discount = 0.
 * Source: Danihelka et al. 2022 and DeepMind's mctx; docs/spec/search.md 3 and 8.4.
 */
#ifndef CM_MCTS_MODEL_H
#define CM_MCTS_MODEL_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one call writes. The arrays belong to the search; every number must be finite. A prior logit of -FLT_MAX marks
 * an action that is not there (an illegal move under exact rules): it is never selected.
 *
 * A model that has its logits in an array of its own may set `logits` instead of copying them. The array stays as it is
 * until the next call of the same function or the end of the run. cm_search_run reads it there; of at most
 * CM_DENSE_MOST actions it reads, and does not use, three numbers behind the last row, too. */
typedef struct cm_model_out {
    float *reward;       /* [n]    of the transition; not written by root and afterstate  */
    float *discount;     /* [n]    of the transition; not written by root and afterstate  */
    float *prior_logits; /* [n, A] at the new state; afterstate: [n, C] of the outcomes   */
    float *value;        /* [n]    of the new state, from the view of the side that moves */
    const float *logits; /* before the call: prior_logits                                 */
    size_t stride;       /* floats from a row of `logits` to the next; before the call: A, C  */
} cm_model_out;

typedef struct cm_model {
    void *ctx;       /* passed to every call; borrowed                  */
    int num_actions; /* A >= 1                                                */
    int num_chance;  /* C, outcomes of a chance node; 0: no chance nodes      */

    /* Evaluates root states (the caller has told `ctx` what they are) and puts them into slots[n]; slot / (N+1) is the
     * root's number. */
    cm_status (*root)(void *ctx, int n, const int32_t *slots, cm_model_out *out);

    /* Plays actions[n] in the states of parent_slots[n], puts the new states into child_slots[n] and evaluates them.
     * With C > 0 the parents are afterstates and `actions` are outcomes in 0 .. C-1. */
    cm_status (*recurrent)(void *ctx, int n, const int32_t *parent_slots, const int32_t *actions,
                           const int32_t *child_slots, cm_model_out *out);

    /* Only with C > 0: the afterstates of actions[n], their values and the logits of their outcomes. */
    cm_status (*afterstate)(void *ctx, int n, const int32_t *parent_slots, const int32_t *actions,
                            const int32_t *child_slots, cm_model_out *out);

    /* Only for sub-tree reuse (NULL otherwise): copies the states of slots from[n] to slots to[n], one after the other
     * in this order; to[k] <= from[k]. */
    cm_status (*move)(void *ctx, int n, const int32_t *from, const int32_t *to);
} cm_model;

#ifdef __cplusplus
}
#endif
#endif
