/* A model that is a table: states 0 .. S-1, with rewards, discounts, logits and values given by numbers. For cases and
 * tests (tests/cases/search/README.md). With chance nodes (C > 0) a step is (state, action, outcome), and the
 * afterstate of (s, a) is s*A + a. */
#ifndef CM_CASES_TABULAR_H
#define CM_CASES_TABULAR_H

#include "mcts/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_table {                /* borrowed, may be shared by threads */
    int states, num_actions, num_chance; /* S, A, C                                    */
    const int32_t *next_state;           /* [S, A], with chance [S, A, C]; 0 .. S-1    */
    const float *reward, *discount;      /* as next_state                              */
    const float *prior_logits, *value;   /* [S, A], [S]                                */
    const float *chance_logits;          /* [S, A, C], with chance only                */
    const float *afterstate_value;       /* [S, A], with chance only                   */
} cm_table;

/* The context of a tabular model for one search; the caller owns all of it. */
typedef struct cm_tabular {
    const cm_table *table;
    const int32_t *root_states; /* [n] of the roots of the next run                     */
    int32_t *states;            /* [slots] state, or afterstate, of each slot           */
} cm_tabular;

/* The model; `tabular` is its context and must outlive it. */
cm_model cm_tabular_model(cm_tabular *tabular);

#ifdef __cplusplus
}
#endif
#endif
