/* What a policy is a distribution of. It has `numbers` = D softmaxes of `values` = n entries each, P = D n in all.
 *
 *   joint, D = 1       one distribution of all A = n actions
 *   per number, D > 1  an action is D numbers of n values each, its number a in 0 .. A - 1, A = n^D, enumerates all
 *                      combinations, the last number fastest (env.h), and pi(a) is the product of its numbers' p_d(a_d)
 *
 * A number may be an angle (any D). Its n entries are bins around the circle, bin b at 2 pi b / n, so the last one is a
 * neighbour of the first. The angle itself is finer: a_d is one of n m values, m of them from a bin to the next, and
 * A is the product of n over the other numbers and n m over the angles. An angle is drawn from a von Mises
 * distribution around a bin that is drawn by p_d, with a standard deviation of `spread` bins, and counts for the bin
 * that is nearest to it.
 *
 * Of a distribution q over actions the marginals m_d(b) = sum of q(a) over the actions with a_d = b are all that such a
 * policy can learn: -sum_a q(a) log pi(a) = -sum_d sum_b m_d(b) log p_d(b). So targets, masks and memory of policies
 * are rows [P], and only drawn actions are ever listed (spec learning 11.3). */
#ifndef CM_CORE_POLICY_FORM_H
#define CM_CORE_POLICY_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/elementary.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_POLICY_ACTIONS = 1 << 24, /* at most: float32 has all numbers up to it */
    CM_POLICY_TURN = 1 << 16     /* values of an angle at most: steps of 0.0055 degrees */
};

typedef struct cm_policy_form {
    int numbers, values; /* D, n */
    uint32_t angles;     /* bit d: number d is an angle; 0: none is, and what follows is not read */
    int steps;           /* m >= 1, from a bin of an angle to the next */
    float spread;        /* of draws around a bin, in bins; 0: bins themselves are drawn */
} cm_policy_form;

static CM_HD inline int cm_policy_size(cm_policy_form form) { return form.numbers * form.values; }

static CM_HD inline bool cm_policy_is_angle(cm_policy_form form, int d) { return form.angles >> d & 1u; }

/* How many values number d has. */
static CM_HD inline int cm_policy_values(cm_policy_form form, int d) {
    return cm_policy_is_angle(form, d) ? form.values * form.steps : form.values;
}

/* a_d. */
static CM_HD inline int cm_policy_number(cm_policy_form form, int action, int d) {
    for (int i = form.numbers - 1; i > d; i--) action /= cm_policy_values(form, i);
    return action % cm_policy_values(form, d);
}

/* The entry of its number's distribution that a_d counts for. */
static CM_HD inline int cm_policy_entry(cm_policy_form form, int action, int d) {
    const int number = cm_policy_number(form, action, d);
    return cm_policy_is_angle(form, d) ? (number + form.steps / 2) / form.steps % form.values : number;
}

/* Where value k of a number stands between -1, the least one, and 1. */
static CM_HD inline float cm_policy_place(cm_policy_form form, int k) {
    return form.values > 1 ? (float)(2 * k - (form.values - 1)) / (float)(form.values - 1) : 0.0f;
}

/* Cosine of `number` >= 0 of `values` equal steps of a turn, number 0 at -pi. That of three quarters more is its sine.
 */
static CM_HD inline float cm_policy_cosine(int number, int values) {
    const float right = 1.57079632679489661923f;
    const int quarter = (4 * number + values / 2) / values; /* the nearest one */
    const float rest = right * (float)(4 * number - quarter * values) / (float)values;
    const float even = cm_short_cos_f(rest), odd = cm_short_sin_f(rest);
    const float of_quarter[4] = {-even, odd, even, -odd};
    return of_quarter[quarter & 3];
}

/* How many numbers a network reads of an action whose numbers are scaled: one each, and of angles one more. */
static CM_HD inline int cm_policy_scaled_size(cm_policy_form form) {
    int size = form.numbers;
    for (uint32_t rest = form.angles; rest; rest &= rest - 1) size++;
    return size;
}

/* The number that column `column` of these is of: one column of each, then one more of each angle. */
static CM_HD inline int cm_policy_number_of_column(cm_policy_form form, int column) {
    int d = column < form.numbers ? column : -1;
    for (int left = column - form.numbers; left >= 0; left -= cm_policy_is_angle(form, d)) d++;
    return d;
}

/* The column: where the number stands, or its cosine, and behind all numbers its sine. */
static CM_HD inline float cm_policy_scaled(cm_policy_form form, int action, int column) {
    const int d = cm_policy_number_of_column(form, column);
    const int k = cm_policy_number(form, action, d), values = cm_policy_values(form, d);
    if (!cm_policy_is_angle(form, d)) return cm_policy_place(form, k);
    if (column < form.numbers) return cm_policy_cosine(k, values);
    return cm_policy_cosine(4 * k + 3 * values, 4 * values);
}

/* A, at most INT32_MAX: more are that many. */
static inline int cm_policy_actions(cm_policy_form form) {
    int64_t actions = 1;
    for (int d = 0; d < form.numbers && actions <= INT32_MAX; d++) actions *= cm_policy_values(form, d);
    return actions <= INT32_MAX ? (int)actions : INT32_MAX;
}

/* Of A actions and D numbers (0 stands for 1); {0, 0} where A is no D-th power. */
static inline cm_policy_form cm_policy_form_of(int actions, int numbers) {
    const cm_policy_form none = {0, 0, 0, 0, 0.0f};
    cm_policy_form form = {numbers > 1 ? numbers : 1, 1, 0, 1, 0.0f};
    if (form.numbers == 1) form.values = actions;
    while (form.numbers > 1 && cm_policy_actions(form) < actions) form.values++;
    return cm_policy_actions(form) == actions ? form : none;
}

/* Of D numbers of n values with these angles, whose steps are as fine as A lets them be. */
static inline cm_policy_form cm_policy_form_of_angles(int numbers, int values, uint32_t angles) {
    cm_policy_form form = {numbers, values, angles, 1, 0.0f};
    if (angles && values > 0 && values < CM_POLICY_TURN) form.steps = CM_POLICY_TURN / values;
    while (form.steps > 1 && cm_policy_actions(form) > CM_POLICY_ACTIONS) form.steps--;
    return form;
}

#ifdef __cplusplus
}
#endif
#endif
