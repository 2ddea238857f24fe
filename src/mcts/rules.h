/* Which rule applies to a node, with the scalar code of select.h and qtransform.h. */
#ifndef CM_MCTS_RULES_H
#define CM_MCTS_RULES_H

#include "mcts/select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the open row of a node holds priors and `weight` prior / (visits + 1); otherwise both hold logits. */
static CM_HD inline bool cm_rules_hold_priors(const cm_tree *tree, bool is_chance) {
    return tree->params.interior_rule == CM_RULE_PUCT || is_chance;
}

/* Whether the rows `visits` are kept; elsewhere the visits of the children say the same. */
static CM_HD inline bool cm_rules_count_visits(const cm_tree *tree) {
    return tree->params.interior_rule == CM_RULE_GUMBEL ||
           tree->params.qtransform.kind == CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
}

static CM_HD inline cm_affine cm_rules_map(const cm_tree *tree, const cm_node *node, cm_edges edges) {
    const cm_qtransform *params = &tree->params.qtransform;
    if (params->kind == CM_QTRANSFORM_MIN_MAX) return cm_qtransform_min_max(params);
    if (params->kind == CM_QTRANSFORM_PARENT_AND_SIBLINGS) {
        return cm_qtransform_siblings(edges.q, node->count, node->value, params->epsilon);
    }
    float fill = node->raw_value;
    if (params->use_mixed_value) {
        fill = cm_mixed_value(edges.q, edges.prior, node->count, fill, node->visits - 1, tree->scratch);
    }
    return cm_qtransform_completed(params, edges.q, edges.visits, node->count, tree->num_actions, fill);
}

#ifdef __cplusplus
}
#endif
#endif
