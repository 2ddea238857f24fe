#include "mcts/internal.h"
#include "mcts/policy.h"
#include "mcts/rules.h"

static float *row_of(float *array, int b, int n) { return array ? array + (size_t)b * (size_t)n : NULL; }

/* The most probable of what can be played; where there are keys, one drawn. */
static int choose_puct(const cm_tree *tree, const cm_roots *roots, int b, const float *weights, const float *probs) {
    int n = tree->num_actions;
    float *playable = tree->scratch;
    cm_policy_playable(playable, probs, weights, tree->root_logits + (size_t)b * (size_t)n, n);
    if (!roots->keys) return cm_argmax(playable, n);
    cm_rng rng = cm_root_stream(roots, b, CM_RNG_ACTION);
    return cm_rng_categorical(&rng, playable, n);
}

/* weights, probs and the action under PUCT (docs/spec/search.md 8.2, steps 6 - 8). */
static int finish_puct(const cm_tree *tree, const cm_roots *roots, int b, float *weights, float *probs) {
    const size_t first = (size_t)b * (size_t)tree->num_actions;
    const int32_t *visits = tree->root_visits + first;
    float temperature = roots->temperature ? roots->temperature[b] : tree->params.temperature;
    cm_policy_visit_fractions(weights, visits, tree->num_actions);
    cm_policy_sharpen(probs, weights, temperature, tree->num_actions);
    return choose_puct(tree, roots, b, weights, probs);
}

/* weights, probs and the action under GUMBEL (docs/spec/search.md 8.3, steps 4 - 6). */
static int finish_gumbel(const cm_tree *tree, int b, float *weights, float *probs) {
    int n = tree->num_actions;
    size_t first = (size_t)b * (size_t)n;
    const float *logits = tree->root_logits + first;
    const int32_t *visits = tree->root_visits + first;
    const float *q = tree->root_q + first;
    const cm_summary *summary = &tree->summary[b];
    cm_affine map = {summary->fill, summary->shift, summary->factor};
    int32_t most = 0;
    for (int a = 0; a < n; a++) most = visits[a] > most ? visits[a] : most;
    int action = cm_select_gumbel_root(tree->root_noise + first, logits, visits, q, n, map, most);
    for (int a = 0; a < n; a++) {
        float value = visits[a] > 0 ? cm_affine_apply(map, q[a]) : cm_affine_open(map);
        weights[a] = logits[a] > -FLT_MAX ? logits[a] + value : -FLT_MAX;
        probs[a] = a == action ? 1.0f : 0.0f;
    }
    (void)cm_softmax(weights, weights, n);
    return action;
}

void cm_result_write(cm_tree *tree, const cm_roots *roots, const cm_search_result *result) {
    int n = tree->num_actions;
    bool gumbel = tree->params.root_rule == CM_RULE_GUMBEL;
    for (int b = 0; b < roots->count; b++) {
        size_t first = (size_t)b * (size_t)n, bytes = (size_t)n * sizeof(float);
        float *weights =
            result->action_weights ? row_of(result->action_weights, b, n) : tree->scratch + 2 * tree->columns;
        float *probs = result->action_probs ? row_of(result->action_probs, b, n) : tree->scratch + 3 * tree->columns;
        int action = gumbel ? finish_gumbel(tree, b, weights, probs) : finish_puct(tree, roots, b, weights, probs);
        if (result->action) result->action[b] = action;
        if (result->visits) memcpy(result->visits + first, tree->root_visits + first, bytes);
        if (result->qvalues) memcpy(result->qvalues + first, tree->root_q + first, bytes);
        if (result->value) result->value[b] = tree->summary[b].value;
        if (result->raw_value) result->raw_value[b] = tree->summary[b].raw_value;
    }
}

/* ---------------------------------------------------------------- reading a tree */

cm_node_info cm_search_node(const cm_search *search, int b, int slot) {
    const cm_tree *tree = &search->tree;
    cm_node_info info = {.parent = CM_NONE, .action_from_parent = CM_NONE};
    if (!tree->is_used[cm_tree_index(tree, b, slot)]) return info;
    cm_node_view view = cm_tree_view(tree, b, slot);
    info.visits = view.node->visits;
    info.parent = slot == CM_ROOT ? CM_NONE : cm_tree_slot_of(tree, view.node->parent_edge);
    info.action_from_parent = cm_tree_action_to(tree, b, slot);
    info.value = view.node->value;
    info.raw_value = view.cold->raw_value;
    info.width = cm_tree_width(tree, b, slot);
    info.is_chance = tree->is_chance[cm_tree_index(tree, b, slot)] != 0;
    return info;
}

/* The prior of an open action. */
static float open_prior(const cm_tree *tree, int b, const cm_node_view *view, int column) {
    if (tree->is_dense) return *cm_view_prior(view, column);
    float open = view->open[column];
    if (open == -INFINITY) return 0.0f;
    if (cm_rules_hold_priors(tree, tree->is_chance[cm_tree_index(tree, b, view->slot)])) return open;
    return cm_exp(open - view->cold->top) * view->cold->factor;
}

cm_edge_info cm_search_edge(const cm_search *search, int b, int slot, int column) {
    const cm_tree *tree = &search->tree;
    cm_node_view view = cm_tree_view(tree, b, slot);
    int at = tree->is_dense ? column : 0;
    while (view.is_list && at < view.cold->count && view.action[at] != column) at++;
    cm_edge_info info = {.child = CM_NONE};
    if (cm_view_is_open(&view, at)) {
        info.prior = open_prior(tree, b, &view, column);
        return info;
    }
    info.child = view.child[at];
    const cm_node *child = cm_tree_node(tree, b, info.child);
    info.prior = child->prior;
    info.visits = child->visits;
    info.q = *cm_view_q(&view, at);
    info.reward = child->reward;
    info.discount = child->discount;
    info.value = child->value;
    return info;
}

const float *cm_search_root_logits(const cm_search *search, int b) {
    return search->tree.root_logits + (size_t)b * (size_t)search->tree.num_actions;
}
