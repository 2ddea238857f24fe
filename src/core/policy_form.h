/* What a policy is a distribution of. It has `numbers` = D softmaxes of `values` = n entries each, P = D n in all.
 *
 *   joint, D = 1       one distribution of all A = n actions
 *   per number, D > 1  an action is D numbers of n values each, its number a in 0 .. A - 1, A = n^D, enumerates all
 *                      combinations, the last number fastest (env.h), and pi(a) is the product of its numbers' p_d(a_d)
 *
 * Of a distribution q over actions the marginals m_d(b) = sum of q(a) over the actions with a_d = b are all that such a
 * policy can learn: -sum_a q(a) log pi(a) = -sum_d sum_b m_d(b) log p_d(b). So targets, masks and memory of policies
 * are rows [P], and only drawn actions are ever listed (spec learning 11.3). */
#ifndef CM_CORE_POLICY_FORM_H
#define CM_CORE_POLICY_FORM_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_POLICY_ACTIONS = 1 << 24 }; /* at most: float32 has all numbers up to it */

typedef struct cm_policy_form {
    int numbers, values; /* D, n */
} cm_policy_form;

static CM_HD inline int cm_policy_size(cm_policy_form form) { return form.numbers * form.values; }

/* a_d. */
static CM_HD inline int cm_policy_number(cm_policy_form form, int action, int d) {
    for (int i = form.numbers - 1; i > d; i--) action /= form.values;
    return action % form.values;
}

/* Where value k of a number stands between -1, the least one, and 1. */
static CM_HD inline float cm_policy_place(cm_policy_form form, int k) {
    return form.values > 1 ? (float)(2 * k - (form.values - 1)) / (float)(form.values - 1) : 0.0f;
}

/* A, at most INT32_MAX: more are that many. */
static inline int cm_policy_actions(cm_policy_form form) {
    int64_t actions = 1;
    for (int d = 0; d < form.numbers && actions <= INT32_MAX; d++) actions *= form.values;
    return actions <= INT32_MAX ? (int)actions : INT32_MAX;
}

/* Of A actions and D numbers (0 stands for 1); {0, 0} where A is no D-th power. */
static inline cm_policy_form cm_policy_form_of(int actions, int numbers) {
    const cm_policy_form none = {0, 0};
    cm_policy_form form = {numbers > 1 ? numbers : 1, 1};
    if (form.numbers == 1) form.values = actions;
    while (form.numbers > 1 && cm_policy_actions(form) < actions) form.values++;
    return cm_policy_actions(form) == actions ? form : none;
}

#ifdef __cplusplus
}
#endif
#endif
