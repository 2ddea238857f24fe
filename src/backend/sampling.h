/* Actions drawn at a node of a search (Sampled MuZero; spec learning 11): what sample_actions and sampled_action
 * compute, on every backend. Numbers are float32 in a fixed order, so the same arguments give the same draws. */
#ifndef CM_BACKEND_SAMPLING_H
#define CM_BACKEND_SAMPLING_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/policy_form.h"
#include "core/rng.h"
#include "core/von_mises.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SAMPLING_SEED = 2 }; /* numbers of a seed: whole ones below 2^24, so float32 has all of them */

static CM_HD inline cm_key cm_sampling_key(const float *seed) {
    cm_key key;
    memcpy(key.word, seed, sizeof key.word);
    return key;
}

static CM_HD inline void cm_sampling_seed(cm_key key, float *seed) {
    for (int i = 0; i < CM_SAMPLING_SEED; i++) seed[i] = (float)(key.word[i] >> 8);
}

/* The seed of the node that choice number `choice` leads to. */
static CM_HD inline void cm_sampling_below(const float *seed, int choice, float *below) {
    cm_sampling_seed(cm_key_fold_in(cm_sampling_key(seed), (uint64_t)choice), below);
}

/* drawn[draws]: values of one number, ascending, and whether all that was asked is finite.
 *
 * The sum of p[values] is cut into as many equal parts as there are draws, and each part gives the value at a uniform
 * place in it (stratified sampling): a value is drawn draws * p times in the mean, as by independent draws, but always
 * within two of that. Where no p is above 0 value 0 is drawn. */
static CM_HD inline bool cm_sampling_number(const float *p, int values, cm_rng *rng, int draws, float *drawn) {
    float sum = 0.0f, below = 0.0f;
    int last = 0, count = 0;
    for (int i = 0; i < values; i++) {
        sum += p[i];
        if (p[i] > 0.0f) last = i;
    }
    const float part = sum / (float)draws;
    float next = cm_rng_uniform(rng) * part;
    for (int i = 0; i <= last; i++) {
        below += p[i];
        while (count < draws && (next < below || i == last)) {
            drawn[count++] = (float)i;
            next = ((float)count + cm_rng_uniform(rng)) * part;
        }
    }
    return sum <= FLT_MAX;
}

/* Brings them into a random order (Fisher and Yates). */
static CM_HD inline void cm_sampling_shuffle(float *drawn, int draws, cm_rng *rng) {
    for (int i = draws - 1; i > 0; i--) {
        const int other = (int)cm_rng_below(rng, (uint32_t)i + 1);
        const float held = drawn[i];
        drawn[i] = drawn[other];
        drawn[other] = held;
    }
}

/* In ascending order, in place (Shell's sort). */
static CM_HD inline void cm_sampling_sort(float *list, int count) {
    for (int gap = count / 2; gap > 0; gap /= 2) {
        for (int i = gap; i < count; i++) {
            const float held = list[i];
            int at = i;
            for (; at >= gap && list[at - gap] > held; at -= gap) list[at] = list[at - gap];
            list[at] = held;
        }
    }
}

/* Sorted draws list[draws] become the actions that were drawn, with the logarithms of their shares; after them zeros
 * and -FLT_MAX. */
static CM_HD inline void cm_sampling_merge(float *list, float *logits, int draws) {
    int entries = 0;
    for (int i = 0, end; i < draws; i = end) {
        for (end = i + 1; end < draws && list[end] == list[i];) end++;
        list[entries] = list[i];
        logits[entries++] = logf((float)(end - i) / (float)draws);
    }
    for (int i = entries; i < draws; i++) list[i] = 0.0f, logits[i] = -FLT_MAX;
}

/* Draws bins[draws] of number d become its values: angles near their bins, others what they are. The kernels of a bin
 * are von Mises distributions whose concentration is that of a normal distribution of the form's spread. */
static CM_HD inline void cm_sampling_turn(cm_policy_form form, int d, cm_rng *rng, int draws, float *bins) {
    if (!cm_policy_is_angle(form, d)) return;
    const int values = cm_policy_values(form, d);
    const float a_radian = 0.159154943091895335769f * (float)values; /* in values */
    const float root = 0.159154943091895335769f * (float)form.values / form.spread;
    const bool is_spread = root < 1e6f; /* else less than half a value, or none */
    for (int i = 0; i < draws; i++) {
        const float away = is_spread ? a_radian * cm_von_mises_draw_f(rng, 0.0f, root * root) : 0.0f;
        const int value = (int)bins[i] * form.steps + (int)rintf(away);
        bins[i] = (float)((value + values) % values);
    }
}

/* list[draws] and logits[draws] of a node: the actions that were drawn in ascending order with the logarithms of their
 * shares of the draws, after them zeros and -FLT_MAX. p [D n] are the probabilities of each number of an action.
 *
 * Every number is drawn by itself, stratified, in an order of its own: the draws of an action's numbers are put
 * together at random (Latin hypercube sampling). So an action is drawn draws * pi times in the mean, and each value of
 * each number always within two of draws * p. With one number an action itself is. Of an angle bins are drawn so, and
 * then around each of them. Actions are below 2^24, of which float32 has all. Where the sum of a number is not finite
 * the logits are not numbers. */
static CM_HD inline void cm_sampling_draw(const float *p, cm_policy_form form, const float *seed, int draws,
                                          float *list, float *logits) {
    cm_rng rng = cm_rng_init(cm_sampling_key(seed), 0);
    bool finite = true;
    for (int d = 0; d < form.numbers; d++) {
        float *to = d == 0 ? list : logits;
        finite = cm_sampling_number(p + d * form.values, form.values, &rng, draws, to) && finite;
        if (d > 0) cm_sampling_shuffle(to, draws, &rng);
        cm_sampling_turn(form, d, &rng, draws, to);
        for (int i = 0; i < draws && d > 0; i++) list[i] = list[i] * (float)cm_policy_values(form, d) + to[i];
    }
    if (form.numbers > 1 || form.angles) cm_sampling_sort(list, draws);
    cm_sampling_merge(list, logits, draws);
    for (int i = 0; i < draws && !finite; i++) logits[i] = NAN;
}

#ifdef __cplusplus
}
#endif
#endif
