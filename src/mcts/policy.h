/* Root preparation and results of the policies (docs/spec/search.md 8.2, 8.3). Rows have n actions; legal[n] is 0 where
 * an action may not be played. */
#ifndef CM_MCTS_POLICY_H
#define CM_MCTS_POLICY_H

#include "mcts/numeric.h"

#ifdef __cplusplus
extern "C" {
#endif

/* logits - their maximum, -FLT_MAX where legal[a] is 0. */
static CM_HD inline void cm_policy_mask(float *logits, const uint8_t *legal, int n) {
    float most = cm_max_of(logits, n);
    for (int a = 0; a < n; a++) logits[a] = legal[a] ? logits[a] - most : -FLT_MAX;
}

/* ln of the probability p of an action with its share of noise (NULL: none). -FLT_MAX stays. */
static CM_HD inline float cm_policy_mixed(float logit, float p, const float *noise, float fraction) {
    if (noise) p = (1.0f - fraction) * p + fraction * *noise;
    return logit > -FLT_MAX ? cm_ln(cm_max(p, FLT_MIN)) : -FLT_MAX;
}

/* logits = ln((1 - fraction) * softmax(logits) + fraction * noise); noise may be NULL if fraction is 0. -FLT_MAX stays.
 */
static CM_HD inline void cm_policy_mix(float *logits, const float *noise, float fraction, int n, float *scratch) {
    (void)cm_softmax(scratch, logits, n);
    for (int a = 0; a < n; a++) logits[a] = cm_policy_mixed(logits[a], scratch[a], noise ? noise + a : NULL, fraction);
}

/* What Gumbel's root rule compares of an action that is not visited: noise (NULL: none), logit - most. */
static CM_HD inline float cm_policy_perturbed(float logit, float most, const float *noise, float share) {
    float g = noise ? share * *noise : 0.0f;
    return g + (logit - most);
}

/* sums[n] = share * noise + logits - their maximum: what Gumbel's root rule compares. noise may be NULL: none. */
static CM_HD inline void cm_policy_perturb(float *sums, const float *logits, const float *noise, float share, int n) {
    float most = cm_max_of(logits, n);
    for (int a = 0; a < n; a++) sums[a] = cm_policy_perturbed(logits[a], most, noise ? noise + a : NULL, share);
}

/* weights[n] = visits / their sum; 1 / n each if nothing was visited. */
static CM_HD inline void cm_policy_visit_fractions(float *weights, const int32_t *visits, int n) {
    int64_t sum = 0;
    for (int a = 0; a < n; a++) sum += visits[a];
    for (int a = 0; a < n; a++) weights[a] = sum > 0 ? (float)visits[a] / (float)sum : 1.0f / (float)n;
}

/* probs[n] = weights^(1 / temperature), normalised, with weights of at least FLT_MIN (docs/spec/search.md 8.2, step 7);
 * temperature 0: all on the largest weights. A high temperature gives actions that are not there a share, too. */
static CM_HD inline void cm_policy_sharpen(float *probs, const float *weights, float temperature, int n) {
    for (int a = 0; a < n; a++) probs[a] = cm_ln(cm_max(weights[a], FLT_MIN));
    float most = cm_max_of(probs, n), divisor = cm_max(FLT_MIN, temperature);
    for (int a = 0; a < n; a++) probs[a] = (probs[a] - most) / divisor;
    (void)cm_softmax(probs, probs, n);
}

/* out[n] = probs of what can be played: an action that is not there (logit -FLT_MAX) and has no weight has none. */
static CM_HD inline void cm_policy_playable(float *out, const float *probs, const float *weights, const float *logits,
                                            int n) {
    for (int a = 0; a < n; a++) {
        const bool is_there = weights[a] > 0.0f || logits[a] > -FLT_MAX;
        out[a] = is_there ? probs[a] : 0.0f;
    }
}

#ifdef __cplusplus
}
#endif
#endif
