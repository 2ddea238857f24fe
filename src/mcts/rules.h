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

/* Whether priors and visits of the children are kept: the rows `prior` and `visits` of lists, and dense entries of
 * GUMBEL. */
static CM_HD inline bool cm_rules_need_statistics(const cm_search_params *params) {
    return params->interior_rule == CM_RULE_GUMBEL || params->qtransform.kind == CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
}

enum { CM_DENSE_MOST = 8 }; /* actions */

/* Entries of a dense node, for vectors. */
static CM_HD inline int cm_dense_capacity(int num_actions) { return num_actions <= 2 ? 2 : num_actions <= 4 ? 4 : 8; }

/* Whether entries are dense: PUCT at every node, with a transform that maps a range, or GUMBEL at every node, with
 * completed values; few actions, no chance nodes. */
static CM_HD inline bool cm_rules_are_dense(const cm_search_params *params, int num_actions, int num_chance) {
    bool is_puct = params->root_rule == CM_RULE_PUCT && !cm_rules_need_statistics(params);
    bool is_gumbel = params->root_rule == CM_RULE_GUMBEL && params->interior_rule == CM_RULE_GUMBEL &&
                     params->qtransform.kind == CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    return (is_puct || is_gumbel) && num_chance == 0 && num_actions <= CM_DENSE_MOST;
}

/* What orders the entries of a node without children, the largest first; -inf: not there. Dense entries. */
static CM_HD inline float cm_rules_first(const cm_tree *tree, const cm_node_view *view, int entry) {
    return tree->params.interior_rule == CM_RULE_GUMBEL ? view->logit[entry] : *cm_view_weight(view, entry);
}

/* The range that a transform maps to [0, 1]. */
static CM_HD inline cm_range cm_rules_range(const cm_tree *tree, const cm_node_view *view) {
    const cm_qtransform *params = &tree->params.qtransform;
    if (params->kind == CM_QTRANSFORM_MIN_MAX) return cm_qtransform_min_max(params);
    return cm_qtransform_siblings(view->q, view->step, cm_tree_entries(tree, view), view->node->value, params->epsilon);
}

/* Completed values over dense entries: what is not visited has the value `fill`, and no weight in the mean. */
static CM_HD inline cm_affine cm_rules_map_dense(const cm_tree *tree, const cm_node_view *view) {
    const cm_qtransform *params = &tree->params.qtransform;
    float q[CM_DENSE_MOST] = {0}, prior[CM_DENSE_MOST], fill = view->node->raw_value, scratch[2 * CM_DENSE_MOST];
    int32_t visits[CM_DENSE_MOST];
    int n = tree->num_actions;
    for (int a = 0; a < n; a++) {
        visits[a] = (int32_t)*cm_view_weight(view, a);
        prior[a] = *cm_view_prior(view, a);
        q[a] = *cm_view_q(view, a);
    }
    if (params->use_mixed_value) fill = cm_mixed_value(q, prior, visits, n, fill, scratch);
    for (int a = 0; a < n; a++) q[a] = visits[a] > 0 ? q[a] : fill;
    return cm_qtransform_completed(params, q, visits, n, n, fill);
}

static CM_HD inline cm_affine cm_rules_map(const cm_tree *tree, const cm_node_view *view) {
    const cm_qtransform *params = &tree->params.qtransform;
    if (params->kind != CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE) return cm_range_map(cm_rules_range(tree, view));
    if (tree->is_dense) return cm_rules_map_dense(tree, view);
    int count = view->cold->count;
    float fill = view->cold->raw_value;
    if (params->use_mixed_value) {
        fill = cm_mixed_value(view->q, view->prior, view->visits, count, fill, tree->scratch);
    }
    return cm_qtransform_completed(params, view->q, view->visits, count, tree->num_actions, fill);
}

/* The entry that the interior rule of GUMBEL selects. */
static CM_HD inline int cm_rules_gumbel(const cm_tree *tree, const cm_node_view *view) {
    cm_affine map = cm_rules_map(tree, view);
    float scratch[CM_LANES];
    if (tree->is_dense) return cm_select_gumbel_dense(view, tree->num_actions, map, scratch);
    return cm_select_gumbel_interior(view, map, tree->scratch).entry;
}

/* The entry that PUCT selects; explore: of the node's visits (tree->explore). A transform that maps a range to [0, 1]
 * divides all values by its size; to multiply the other term of the scores by it instead orders them in the same way,
 * and saves the division. */
static CM_HD inline int cm_rules_puct(const cm_tree *tree, const cm_node_view *view, float explore) {
    if (!tree->is_dense && tree->params.qtransform.kind == CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE) {
        return cm_select_puct(view, cm_rules_map(tree, view), explore).entry;
    }
    cm_range range = cm_rules_range(tree, view);
    if (tree->is_dense) return cm_select_dense(view, tree->num_actions, range, explore);
    return cm_select_list(view, range, explore).entry;
}

#ifdef __cplusplus
}
#endif
#endif
