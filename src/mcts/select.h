/* Selection rules at one node (docs/spec/search.md 7). The children are listed in the order of their first visit; of
 * the open actions only the one with the largest prior can win. Ties go to the lowest action. Where nothing is there,
 * action 0.
 *
 * Functions that end in `_of` look at every step-th child from number `first` on: the rules here at all of them (0, 1),
 * the lanes of a warp at a part each, the best of which is the warp's. What works on vectors, or has no scratch, needs
 * code of its own, to be changed together with this (tests/mcts: test_step, test_device_search):
 *
 * - PUCT: batched_select.inc (span_of, score_of, first_of)
 * - Gumbel below the root: batched_select.inc (gumbel_complete, gumbel_below), lanes_avx2.inc (lanes_completed,
 *   lanes_gumbel_8), lanes_warp.inc (lanes_completed, lanes_gumbel_interior)
 * - Gumbel at the root: batched_select.inc (gumbel_root), lanes_avx2.inc and lanes_warp.inc (lanes_root_gumbel) */
#ifndef CM_MCTS_SELECT_H
#define CM_MCTS_SELECT_H

#include "mcts/numeric.h"
#include "mcts/qtransform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sqrt(visits) * pb_c, the factor of prior / (edge visits + 1) in PUCT. */
static CM_HD inline float cm_puct_explore(float visits, float pb_c_init, float pb_c_base) {
    float explore = sqrtf(visits) * (pb_c_init + logf((visits + pb_c_base + 1.0f) / pb_c_base));
    return cm_max(explore, FLT_MIN); /* an action that is not there has the prior -inf, and 0 * inf would be NaN */
}

/* The best so far of a running comparison: the larger score, of equals the lower action. */
typedef struct cm_choice {
    float score;
    int32_t action, entry; /* entry: of the list of children, or its count: open */
} cm_choice;

static CM_HD inline cm_choice cm_choice_none(void) {
    cm_choice none = {-INFINITY, INT32_MAX, 0};
    return none;
}

static CM_HD inline cm_choice cm_choice_better(cm_choice best, float score, int32_t action, int32_t entry) {
    cm_choice other = {score, action, entry};
    return score > best.score || (score == best.score && action < best.action) ? other : best;
}

/* The end of a comparison: takes the best open action in, if there is one. If nothing can be compared (no action is
 * there, or numbers that are not finite) the first child, without children action 0. */
static CM_HD inline cm_choice cm_choice_final(cm_choice best, const cm_node_view *view, float open_score) {
    const cm_node_cold *cold = view->cold;
    if (cold->open_action != CM_NONE) best = cm_choice_better(best, open_score, cold->open_action, cold->count);
    if (best.action != INT32_MAX) return best;
    best.entry = 0;
    best.action = cold->count > 0 ? view->action[0] : 0;
    return best;
}

/* PUCT: transformed q + explore * prior / (visits + 1). */
static CM_HD inline cm_choice cm_puct_of(const cm_node_view *view, cm_affine map, float explore, int first, int step) {
    cm_choice best = cm_choice_none();
    for (int i = first; i < view->cold->count; i += step) {
        float score = cm_affine_apply(map, *cm_view_q(view, i)) + explore * *cm_view_weight(view, i);
        best = cm_choice_better(best, score, view->action[i], i);
    }
    return best;
}

static CM_HD inline cm_choice cm_select_puct(const cm_node_view *view, cm_affine map, float explore) {
    const cm_choice best = cm_puct_of(view, map, explore, 0, 1);
    return cm_choice_final(best, view, cm_affine_open(map) + explore * view->cold->open_prior);
}

/* PUCT with values of a range: (q - low) / size + explore * weight, times the size, so that nothing is divided. What is
 * not visited has the value `low`. */
static CM_HD inline float cm_select_score(float above_low, float weight, cm_range range, float explore) {
    return above_low + range.size * (explore * weight);
}

static CM_HD inline cm_choice cm_list_of(const cm_node_view *view, cm_range range, float explore, int first, int step) {
    cm_choice best = cm_choice_none();
    for (int i = first; i < view->cold->count; i += step) {
        float score = cm_select_score(*cm_view_q(view, i) - range.low, *cm_view_weight(view, i), range, explore);
        best = cm_choice_better(best, score, view->action[i], i);
    }
    return best;
}

static CM_HD inline cm_choice cm_select_list(const cm_node_view *view, cm_range range, float explore) {
    const cm_choice best = cm_list_of(view, range, explore, 0, 1);
    return cm_choice_final(best, view, cm_select_score(0.0f, view->cold->open_prior, range, explore));
}

/* The same over dense entries [n], q NaN where nothing is visited: the lowest of the best; 0 if nothing is there. */
static CM_HD inline int cm_select_dense(const cm_node_view *view, int n, cm_range range, float explore) {
    float most = -INFINITY;
    int best = 0;
    for (int a = 0; a < n; a++) {
        float q = *cm_view_q(view, a), value = q == q ? q - range.low : 0.0f;
        float score = cm_select_score(value, *cm_view_weight(view, a), range, explore);
        if (score > most) most = score, best = a;
    }
    return best;
}

/* Logit and transformed q of child i. */
static CM_HD inline float cm_select_improved(const cm_node_view *view, cm_affine map, int i) {
    return *cm_view_weight(view, i) + cm_affine_apply(map, *cm_view_q(view, i));
}

/* Gumbel below the root: follows the improved policy softmax(logits + transformed q). scratch: [count + 1]. */
static CM_HD inline cm_choice cm_select_gumbel_interior(const cm_node_view *view, cm_affine map, float *scratch) {
    const cm_node_cold *cold = view->cold;
    int count = cold->count;
    bool has_open = cold->open_action != CM_NONE;
    float most = -FLT_MAX, open = cold->open_prior + cm_affine_open(map);
    for (int i = 0; i < count; i++) {
        scratch[i] = cm_select_improved(view, map, i);
        most = cm_max(most, scratch[i]);
    }
    if (has_open) most = cm_max(most, open);
    for (int i = 0; i < count; i++) scratch[i] = cm_exp(scratch[i] - most);
    open = has_open ? cm_exp(open - most) : 0.0f;
    float total = 1.0f / (cm_sum(scratch, count) + open * cold->open_mass), part = 1.0f / (float)view->node->visits;
    cm_choice best = cm_choice_none();
    for (int i = 0; i < count; i++) {
        best = cm_choice_better(best, scratch[i] * total - (float)view->visits[i] * part, view->action[i], i);
    }
    return cm_choice_final(best, view, open * total);
}

/* The same over dense entries [n], with exponentials of the open actions one by one: the lowest of the best; 0 if
 * nothing is there. scratch: [n]. */
static CM_HD inline int cm_select_gumbel_dense(const cm_node_view *view, int n, cm_affine map, float *scratch) {
    float most = -FLT_MAX, best = -INFINITY;
    int at = 0;
    for (int a = 0; a < n; a++) {
        float value = *cm_view_weight(view, a) > 0.0f ? *cm_view_q(view, a) : map.fill;
        scratch[a] = view->logit[a] + cm_affine_apply(map, value);
        most = cm_max(most, scratch[a]);
    }
    for (int a = 0; a < n; a++) scratch[a] = cm_exp(scratch[a] - most);
    float total = 1.0f / cm_sum(scratch, n), part = 1.0f / (float)view->node->visits;
    for (int a = 0; a < n; a++) {
        float score = scratch[a] * total - *cm_view_weight(view, a) * part;
        if (view->logit[a] > -FLT_MAX && score > best) best = score, at = a;
    }
    return at;
}

/* Chance node: the outcome that lags its probability most, argmax of prior / (visits + 1). */
static CM_HD inline cm_choice cm_chance_of(const cm_node_view *view, int first, int step) {
    cm_choice best = cm_choice_none();
    for (int i = first; i < view->cold->count; i += step)
        best = cm_choice_better(best, *cm_view_weight(view, i), view->action[i], i);
    return best;
}

static CM_HD inline cm_choice cm_select_chance(const cm_node_view *view) {
    return cm_choice_final(cm_chance_of(view, 0, 1), view, view->cold->open_prior);
}

/* What Gumbel's root rule compares of an action. */
static CM_HD inline float cm_select_gumbel_score(float noise, int32_t visits, float q, cm_affine map) {
    return cm_max(-1e9f, noise + (visits > 0 ? cm_affine_apply(map, q) : cm_affine_open(map)));
}

/* Gumbel at the root, and the final choice of the action: among the legal actions with `considered` visits the one with
 * the largest noise + logit + transformed q. noise[n] holds g + (logit - max logit); visits[n], q[n] by action. */
static CM_HD inline int cm_select_gumbel_root(const float *noise, const float *logits, const int32_t *visits,
                                              const float *q, int n, cm_affine map, int32_t considered) {
    float most = -INFINITY;
    int at = 0;
    for (int a = 0; a < n; a++) {
        float score = cm_select_gumbel_score(noise[a], visits[a], q[a], map);
        bool is_considered = visits[a] == considered && logits[a] > -FLT_MAX;
        if (is_considered && score > most) most = score, at = a;
    }
    return at;
}

#ifdef __cplusplus
}
#endif
#endif
