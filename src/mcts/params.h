/* The parameters of a search: rules, q-transform, constants. Plain values, checked by cm_search_params_check. */
#ifndef CM_MCTS_PARAMS_H
#define CM_MCTS_PARAMS_H

#include "core/status.h"
#include "mcts/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The published policies; each is a preset of the parameters below (docs/spec/search.md 8.2 - 8.4). */
typedef enum cm_policy {
    CM_POLICY_MUZERO,           /* PUCT with Dirichlet noise (Schrittwieser et al. 2020)                      */
    CM_POLICY_GUMBEL_MUZERO,    /* sequential halving with Gumbel noise (Danihelka et al. 2022)               */
    CM_POLICY_STOCHASTIC_MUZERO /* PUCT over decision and chance nodes (Antonoglou et al. 2022)               */
} cm_policy;

/* How a node selects an action. The root rule also decides how the result is made: PUCT gives visit fractions and
 * samples by temperature, GUMBEL gives the improved policy and plays the best of the most visited actions. */
typedef enum cm_rule { CM_RULE_PUCT, CM_RULE_GUMBEL } cm_rule;

/* How Q-values of a node are scaled before they meet the prior (docs/spec/search.md 8.1). */
typedef enum cm_qtransform_kind {
    CM_QTRANSFORM_MIN_MAX,               /* (q - min_value) / (max_value - min_value), 0 where unvisited           */
    CM_QTRANSFORM_PARENT_AND_SIBLINGS,   /* to [0, 1] by the values of the node and of its visited children        */
    CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE /* unvisited get the mixed value; times (maxvisit_init + max visits) * scale */
} cm_qtransform_kind;

typedef struct cm_qtransform {
    cm_qtransform_kind kind;
    float min_value, max_value;           /* MIN_MAX; min_value < max_value                                    */
    float epsilon;                        /* > 0; smallest divisor of the two others                           */
    float value_scale, maxvisit_init;     /* COMPLETED_BY_MIX_VALUE; >= 0                                      */
    bool rescale_values, use_mixed_value; /* COMPLETED_BY_MIX_VALUE                                            */
} cm_qtransform;

typedef struct cm_search_params {
    int num_simulations; /* N >= 0                                                                             */
    int max_depth;       /* most edges from the root to a leaf; 0: no limit                                    */
    cm_rule root_rule, interior_rule;
    cm_qtransform qtransform;
    float pb_c_init, pb_c_base;                /* PUCT; >= 0, > 0                                               */
    float dirichlet_alpha, dirichlet_fraction; /* root noise under PUCT; alpha > 0, fraction in [0, 1]; 0: none */
    float temperature;                         /* default of roots that give none; >= 0; 0: the most visited    */
    int max_num_considered_actions;            /* GUMBEL; >= 1                                                  */
    float gumbel_scale;                        /* GUMBEL; >= 0; 0: no noise, deterministic play                 */
    bool check;                                /* verify the tree's invariants after every simulation (slow)    */
} cm_search_params;

/* The defaults of a policy, those of mctx; num_simulations is 25. */
cm_search_params cm_search_params_default(cm_policy policy);

/* The parameters that the section "MCTS" of a configuration asks for; temperature and check keep their defaults. */
cm_search_params cm_search_params_from_options(const cm_mcts_options *options);

/* CM_ERR_INPUT that names the first field out of its range. */
cm_status cm_search_params_check(const cm_search_params *params) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
