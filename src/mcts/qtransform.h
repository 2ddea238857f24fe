/* The q-transforms of docs/spec/search.md 8.1. Each is, at one node, the same map for all actions:
 *
 *     out[a] = ((visited(a) ? q[a] : fill) - shift) * factor
 *
 * so a transform is a pass over the node's children that gives three numbers. */
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

static CM_HD inline float cm_affine_apply(cm_affine map, float q) { return (q - map.shift) * map.factor; }
static CM_HD inline float cm_affine_open(cm_affine map) { return (map.fill - map.shift) * map.factor; }

/* The two transforms that map a range of values to [0, 1]. */
typedef struct cm_range {
    float low, size; /* > 0 */
} cm_range;

static CM_HD inline cm_range cm_qtransform_min_max(const cm_qtransform *params) {
    cm_range range = {params->min_value, params->max_value - params->min_value};
    return range;
}

/* Values from low to high are mapped to [0, 1]. */
static CM_HD inline cm_range cm_range_of(float low, float high, float epsilon) {
    cm_range range = {low, cm_max(high - low, epsilon)};
    return range;
}

/* The bounds of the node's value and of its children's Q-values, q[0], q[step], ...; NaN is passed over. */
static CM_HD inline cm_range cm_qtransform_siblings(const float *q, int step, int count, float value, float epsilon) {
    float low = value, high = value;
    for (int i = 0; i < count * step; i += step) {
        low = cm_min(low, q[i]);
        high = cm_max(high, q[i]);
    }
    return cm_range_of(low, high, epsilon);
}

/* Open actions are mapped to 0. */
static CM_HD inline cm_affine cm_range_map(cm_range range) {
    cm_affine map = {range.low, range.low, 1.0f / range.size};
    return map;
}

/* The raw value mixed with the mean of what has been visited `total` times. */
static CM_HD inline float cm_mixed_with(float raw_value, float mean, float total) {
    return (raw_value + total * mean) / (total + 1.0f);
}

/* The same with the mean of the Q-values q[count] of what has visits[count], weighted by prior[count].
 * scratch: [2, count]. */
static CM_HD inline float cm_mixed_value(const float *q, const float *prior, const int32_t *visits, int count,
                                         float raw_value, float *scratch) {
    float *weight = scratch, *weighted = scratch + count;
    int32_t sum = 0;
    for (int i = 0; i < count; i++) {
        weight[i] = visits[i] > 0 ? cm_max(FLT_MIN, prior[i]) : 0.0f;
        weighted[i] = visits[i] > 0 ? weight[i] * q[i] : 0.0f;
        sum += visits[i];
    }
    if (sum == 0) return raw_value;
    return cm_mixed_with(raw_value, cm_sum(weighted, count) / cm_sum(weight, count), (float)sum);
}

/* The map of completed values between low and high; most: the largest number of visits. */
static CM_HD inline cm_affine cm_completed_map(const cm_qtransform *params, float fill, float low, float high,
                                               float most) {
    float factor = (params->maxvisit_init + most) * params->value_scale;
    if (!params->rescale_values) low = 0.0f;
    if (params->rescale_values) factor = factor / cm_max(high - low, params->epsilon);
    cm_affine map = {fill, low, factor};
    return map;
}

/* Of `count` children of a node with n columns; `fill` is the mixed or the raw value. */
static CM_HD inline cm_affine cm_qtransform_completed(const cm_qtransform *params, const float *q,
                                                      const int32_t *visits, int count, int n, float fill) {
    float low = count < n ? fill : q[0], high = low;
    int32_t most = 0;
    for (int i = 0; i < count; i++) {
        low = cm_min(low, q[i]);
        high = cm_max(high, q[i]);
        most = visits[i] > most ? visits[i] : most;
    }
    return cm_completed_map(params, fill, low, high, (float)most);
}

#ifdef __cplusplus
}
#endif
#endif
