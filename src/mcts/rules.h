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

/* The root's children are found by action. */
static CM_HD inline cm_choice cm_rules_root_gumbel(const cm_tree *tree, int b, const cm_node *node, cm_edges edges,
                                                   cm_affine map) {
    int simulations = tree->slots - 1, valid = tree->root_valid[b], most = tree->considered_rows - 1;
    cm_choice choice = {0.0f, 0, CM_NONE};
    if (simulations == 0) return choice;
    int simulation = node->visits - 1 < simulations ? node->visits - 1 : simulations - 1; /* the last one: not used */
    size_t row = (size_t)(valid < most ? valid : most) * (size_t)simulations;
    size_t first = (size_t)b * (size_t)tree->num_actions;
    choice.action =
        cm_select_gumbel_root(tree->root_noise + first, tree->root_logits + first, tree->root_visits + first,
                              tree->root_q + first, tree->num_actions, map, tree->considered[row + (size_t)simulation]);
    for (int i = 0; i < node->count; i++) {
        if (edges.action[i] == choice.action) choice.entry = i;
    }
    return choice;
}

/* What node `slot` of root b selects. */
static CM_HD inline cm_choice cm_rules_select(const cm_tree *tree, int b, bool is_root, bool is_chance,
                                              const cm_node *node, cm_edges edges) {
    if (is_chance) return cm_select_chance(node, edges);
    cm_rule rule = is_root ? tree->params.root_rule : tree->params.interior_rule;
    cm_affine map = cm_rules_map(tree, node, edges);
    if (rule == CM_RULE_PUCT) return cm_select_puct(node, edges, map, tree->explore[node->visits]);
    if (is_root) return cm_rules_root_gumbel(tree, b, node, edges, map);
    return cm_select_gumbel_interior(node, edges, map, node->open_mass, tree->scratch);
}

#ifdef __cplusplus
}
#endif
#endif
