/* The parts of a step that have vector versions, in plain code. Included by step_scalar.c before step_impl.h. */
#include "mcts/rules.h"

/* Writes the open row [columns] from logits [width], priors or the logits themselves. *scale turns logits into priors;
 * returns the sum of e^(logit - top), which is below 1 or NaN if a logit is not finite. */
static inline float lanes_write_open(float *open, int columns, const float *logits, int width, bool priors,
                                     cm_scale *scale) {
    float sum = cm_softmax(open, logits, width);
    *scale = (cm_scale){cm_max_of(logits, width), 1.0f / sum};
    for (int a = 0; a < width; a++) open[a] = logits[a] > -FLT_MAX ? (priors ? open[a] : logits[a]) : -INFINITY;
    for (int a = width; a < columns; a++) open[a] = -INFINITY;
    return sum;
}

/* The best of the open row [columns] into the node. */
static inline void lanes_best_open(cm_node *node, const float *open, int columns) {
    int best = cm_argmax(open, columns);
    node->open_prior = open[best];
    node->open_action = node->open_prior == -INFINITY ? CM_NONE : best;
}

/* Sum of e^(open - top) over the open row [columns]. */
static inline float lanes_open_mass(const float *open, int columns, float top, float *scratch) {
    for (int a = 0; a < columns; a++) scratch[a] = cm_exp(open[a] - top);
    return cm_sum(scratch, columns);
}

/* Entry `at` gets a new q and weight; what does the node select by PUCT? */
static inline cm_choice lanes_puct(const cm_tree *tree, const cm_node *node, cm_edges edges, int at, float q,
                                   float weight) {
    edges.q[at] = q;
    edges.weight[at] = weight;
    return cm_select_puct(node, edges, cm_rules_map(tree, node, edges), tree->explore[node->visits]);
}

/* Entry `at` gets a new q and visits; what does the node select by the interior rule of Gumbel? */
static inline cm_choice lanes_gumbel(const cm_tree *tree, const cm_node *node, cm_edges edges, int at, float q,
                                     int32_t visits) {
    edges.q[at] = q;
    edges.visits[at] = visits;
    return cm_select_gumbel_interior(node, edges, cm_rules_map(tree, node, edges), node->open_mass, tree->scratch);
}

/* Gumbel's root rule. */
static inline int lanes_root_gumbel(const float *noise, const float *logits, const int32_t *visits, const float *q,
                                    int n, cm_affine map, int32_t considered) {
    return cm_select_gumbel_root(noise, logits, visits, q, n, map, considered);
}
