/* The q-transforms of spec/search.md 8.1. Each is, at one node, the same map for all actions:
 *
 *     out[a] = ((visited(a) ? q[a] : fill) - shift) * factor
 *
 * so a transform is a pass over the node's edges that gives three numbers, and an elementwise pass that uses them. */
#ifndef CM_MCTS_QTRANSFORM_H
#define CM_MCTS_QTRANSFORM_H

#include "mcts/numeric.h"
#include "mcts/params.h"
#include "mcts/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_affine {
    float fill, shift, factor;
} cm_affine;

static CM_HD inline float cm_affine_apply(cm_affine map, int32_t child, float q) {
    return ((child >= 0 ? q : map.fill) - map.shift) * map.factor;
}

static CM_HD inline cm_affine cm_qtransform_min_max(const cm_qtransform *params) {
    cm_affine map = {params->min_value, params->min_value, 1.0f / (params->max_value - params->min_value)};
    return map;
}

/* Bounds of the node's value and of the Q-values of its n edges that are expanded. */
static CM_HD inline cm_affine cm_qtransform_siblings(cm_edges edges, int n, float value, float epsilon) {
    float low = value, high = value;
    for (int a = 0; a < n; a++) {
        float q = edges.child[a] >= 0 ? edges.q[a] : value;
        low = cm_min(low, q);
        high = cm_max(high, q);
    }
    cm_affine map = {low, low, 1.0f / cm_max(high - low, epsilon)};
    return map;
}

/* The node's raw value mixed with the prior-weighted mean of its visited children's Q-values. scratch: [2, n]. */
static CM_HD inline float cm_mixed_value(cm_edges edges, int n, float raw_value, int32_t edge_visits, float *scratch) {
    if (edge_visits == 0) return raw_value;
    float *weight = scratch, *weighted = scratch + n;
    for (int a = 0; a < n; a++) {
        float prior = edges.child[a] >= 0 ? cm_max(FLT_MIN, edges.prior[a]) : 0.0f;
        weight[a] = prior;
        weighted[a] = prior * (edges.child[a] >= 0 ? edges.q[a] : 0.0f);
    }
    float mean = cm_sum(weighted, n) / cm_sum(weight, n), total = (float)edge_visits;
    return (raw_value + total * mean) / (total + 1.0f);
}

/* scratch: [2, n]. edge_visits is the sum of the edges' visits. */
static CM_HD inline cm_affine cm_qtransform_completed(const cm_qtransform *params, cm_edges edges, int n,
                                                      float raw_value, int32_t edge_visits, float *scratch) {
    float fill = params->use_mixed_value ? cm_mixed_value(edges, n, raw_value, edge_visits, scratch) : raw_value;
    float low = INFINITY, high = -INFINITY;
    int32_t most = 0;
    for (int a = 0; a < n; a++) {
        float x = edges.child[a] >= 0 ? edges.q[a] : fill;
        low = cm_min(low, x);
        high = cm_max(high, x);
        most = edges.visits[a] > most ? edges.visits[a] : most;
    }
    float factor = (params->maxvisit_init + (float)most) * params->value_scale;
    if (!params->rescale_values) low = 0.0f;
    if (params->rescale_values) factor = factor / cm_max(high - low, params->epsilon);
    cm_affine map = {fill, low, factor};
    return map;
}

#ifdef __cplusplus
}
#endif
#endif
