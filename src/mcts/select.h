/* Selection rules at one node (spec/search.md 7). n is the number of columns in use. An action whose logit is -FLT_MAX
 * gets -inf and is never selected beside others; ties go to the lowest index. */
#ifndef CM_MCTS_SELECT_H
#define CM_MCTS_SELECT_H

#include "mcts/numeric.h"
#include "mcts/qtransform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sqrt(visits) * pb_c, the factor of prior / (edge visits + 1) in PUCT. */
static CM_HD inline float cm_puct_explore(float visits, float pb_c_init, float pb_c_base) {
    return sqrtf(visits) * (pb_c_init + logf((visits + pb_c_base + 1.0f) / pb_c_base));
}

/* PUCT: transformed q + explore * prior / (edge visits + 1). */
static CM_HD inline int cm_select_puct(cm_edges edges, int n, cm_affine map, float explore) {
    float most = -INFINITY;
    int at = 0;
    for (int a = 0; a < n; a++) {
        float score = cm_affine_apply(map, edges.child[a], edges.q[a]) + explore * edges.weight[a];
        if (score > most) most = score, at = a;
    }
    return at;
}

/* Gumbel at the root, and the final choice of the action: among the actions with `considered` visits the one with the
 * largest noise + logit + transformed q. noise[n] holds g + (logit - max logit). */
static CM_HD inline int cm_select_gumbel_root(cm_edges edges, int n, cm_affine map, const float *noise,
                                              const float *logits, int32_t considered) {
    float most = -INFINITY;
    int at = 0;
    for (int a = 0; a < n; a++) {
        float score = cm_max(-1e9f, noise[a] + cm_affine_apply(map, edges.child[a], edges.q[a]));
        bool open = edges.visits[a] == considered && logits[a] > -FLT_MAX;
        if (open && score > most) most = score, at = a;
    }
    return at;
}

/* Gumbel below the root: follows the improved policy softmax(logits + transformed q). scratch: [n]. */
static CM_HD inline int cm_select_gumbel_interior(cm_edges edges, int n, cm_affine map, int32_t edge_visits,
                                                  float *scratch) {
    for (int a = 0; a < n; a++) scratch[a] = edges.weight[a] + cm_affine_apply(map, edges.child[a], edges.q[a]);
    (void)cm_softmax(scratch, scratch, n);
    float factor = 1.0f / (float)(1 + edge_visits), most = -INFINITY;
    int at = 0;
    for (int a = 0; a < n; a++) {
        float score = scratch[a] - (float)edges.visits[a] * factor;
        if (edges.weight[a] > -FLT_MAX && score > most) most = score, at = a;
    }
    return at;
}

/* Chance node: the outcome that lags its probability most, argmax of prior / (visits + 1). */
static CM_HD inline int cm_select_chance(cm_edges edges, int n) { return cm_argmax(edges.weight, n); }

#ifdef __cplusplus
}
#endif
#endif
