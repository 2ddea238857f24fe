/* How a fresh root begins: the model's logits with noise and mask (docs/spec/search.md 8.2, 8.3). */
#ifndef CM_MCTS_BEGIN_H
#define CM_MCTS_BEGIN_H

#include "mcts/policy.h"
#include "mcts/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What comes to the logits of one root. */
typedef struct cm_root_terms {
    const uint8_t *legal; /* [A] 1 where the action may be played; NULL: no mask                   */
    const float *noise;   /* [A] Dirichlet (PUCT) or standard Gumbel noise; NULL: none             */
    float share;          /* of the noise: dirichlet_fraction or gumbel_scale; not read without it */
} cm_root_terms;

/* Root logits of PUCT: noise, then mask. Of GUMBEL: mask; the noise goes with them into root_noise. */
static CM_HD inline void cm_begin_logits(const cm_tree *tree, int b, const cm_root_terms *terms) {
    int n = tree->num_actions;
    float *logits = tree->root_logits + (size_t)b * (size_t)n;
    bool is_gumbel = tree->params.root_rule == CM_RULE_GUMBEL;
    if (!is_gumbel) cm_policy_mix(logits, terms->noise, terms->noise ? terms->share : 0.0f, n, tree->scratch);
    if (terms->legal) cm_policy_mask(logits, terms->legal, n);
    if (is_gumbel) {
        cm_policy_perturb(tree->root_noise + (size_t)b * (size_t)n, logits, terms->noise, terms->share, n);
    }
    tree->root_valid[b] = 0;
    for (int a = 0; a < n; a++) tree->root_valid[b] += logits[a] > -FLT_MAX;
}

#ifdef __cplusplus
}
#endif
#endif
