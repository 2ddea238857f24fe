/* The search as a textbook has it: one tree in dense arrays, one loop of select, expand, backup, in double precision.
 * It is the oracle of the fast search (test_textbook.c) and the shortest description of what that computes.
 *
 * Source: mctx 0.0.71, muzero_policy and gumbel_muzero_policy; docs/spec/search.md, whose sections stand at the
 * functions.
 */
#ifndef CM_TESTS_MCTS_TEXTBOOK_H
#define CM_TESTS_MCTS_TEXTBOOK_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "cases/tabular.h"
#include "mcts/params.h"

enum { TEXTBOOK_NODES = 64, TEXTBOOK_ACTIONS = 8, TEXTBOOK_UNVISITED = -1 };

typedef struct textbook {
    const cm_table *model;
    const cm_search_params *params;
    const uint8_t *legal; /* [A] at the root                                     */
    const float *noise;   /* [A] at the root: Dirichlet or Gumbel                */
    int num_actions;      /* A                                                   */
    double closest;       /* two scores of a choice, or two Q-values of a node, where rounding could matter */

    /* Nodes; 0 is the root, simulation i makes node i + 1. */
    int state[TEXTBOOK_NODES], visits[TEXTBOOK_NODES], parent[TEXTBOOK_NODES], action_from_parent[TEXTBOOK_NODES];
    double raw_value[TEXTBOOK_NODES], value[TEXTBOOK_NODES];
    /* Edges. */
    double prior[TEXTBOOK_NODES][TEXTBOOK_ACTIONS], logits[TEXTBOOK_NODES][TEXTBOOK_ACTIONS];
    double reward[TEXTBOOK_NODES][TEXTBOOK_ACTIONS], discount[TEXTBOOK_NODES][TEXTBOOK_ACTIONS];
    int child[TEXTBOOK_NODES][TEXTBOOK_ACTIONS], child_visits[TEXTBOOK_NODES][TEXTBOOK_ACTIONS];
} textbook;

/* ---- helpers ---- */

static inline void textbook_softmax(const double *logits, int n, double *out) {
    double max = -INFINITY, sum = 0.0;
    for (int a = 0; a < n; a++) max = fmax(max, logits[a]);
    for (int a = 0; a < n; a++) sum += out[a] = exp(logits[a] - max);
    for (int a = 0; a < n; a++) out[a] /= sum;
}

/* The lowest index of the largest score. */
static inline int textbook_argmax(textbook *t, const double *score) {
    int best = 0;
    double second = -INFINITY;
    for (int a = 1; a < t->num_actions; a++) {
        second = fmax(second, fmin(score[a], score[best]));
        if (score[a] > score[best]) best = a;
    }
    if (second > -INFINITY) t->closest = fmin(t->closest, score[best] - second);
    return best;
}

static inline double textbook_q(const textbook *t, int node, int a) {
    return t->reward[node][a] + t->discount[node][a] * t->value[t->child[node][a]];
}

static inline double textbook_most_visits(const textbook *t, int node) {
    double most = 0.0;
    for (int a = 0; a < t->num_actions; a++) most = fmax(most, t->child_visits[node][a]);
    return most;
}

/* ---- Q-values besides the prior (8.1) ---- */

/* What Q-values are divided by; equal ones that rounding makes unequal would be spread over all of [0, 1]. */
static inline double textbook_range(textbook *t, int node, double low, double high) {
    if (t->visits[node] > 1) t->closest = fmin(t->closest, high - low);
    return fmax(high - low, t->params->qtransform.epsilon);
}

/* To [0, 1] by the values of the node and of its visited children; unvisited actions get the lowest. */
static inline void textbook_parent_and_siblings(textbook *t, int node, double *out) {
    double low = t->value[node], high = t->value[node];
    for (int a = 0; a < t->num_actions; a++) {
        if (t->child_visits[node][a] == 0) continue;
        low = fmin(low, textbook_q(t, node, a));
        high = fmax(high, textbook_q(t, node, a));
    }
    const double range = textbook_range(t, node, low, high);
    for (int a = 0; a < t->num_actions; a++)
        out[a] = t->child_visits[node][a] > 0 ? (textbook_q(t, node, a) - low) / range : 0.0;
}

/* The mean of the raw value and of the visited Q-values, weighted by their prior. */
static inline double textbook_mixed_value(const textbook *t, int node) {
    double visits = 0.0, prior = 0.0, weighted = 0.0;
    for (int a = 0; a < t->num_actions; a++) {
        if (t->child_visits[node][a] == 0) continue;
        const double p = fmax(FLT_MIN, t->prior[node][a]);
        visits += t->child_visits[node][a];
        prior += p;
        weighted += p * textbook_q(t, node, a);
    }
    return visits > 0.0 ? (t->raw_value[node] + visits * weighted / prior) / (visits + 1.0) : t->raw_value[node];
}

/* Unvisited actions get the mixed value; rescaled to [0, 1] and weighted by the visits, to be added to logits. */
static inline void textbook_completed(textbook *t, int node, double *out) {
    const cm_qtransform *how = &t->params->qtransform;
    const double mixed = how->use_mixed_value ? textbook_mixed_value(t, node) : t->raw_value[node];
    double low = INFINITY, high = -INFINITY;
    for (int a = 0; a < t->num_actions; a++) {
        out[a] = t->child_visits[node][a] > 0 ? textbook_q(t, node, a) : mixed;
        low = fmin(low, out[a]);
        high = fmax(high, out[a]);
    }
    const double range = how->rescale_values ? textbook_range(t, node, low, high) : 1.0;
    for (int a = 0; a < t->num_actions; a++) {
        if (how->rescale_values) out[a] = (out[a] - low) / range;
        out[a] *= (how->maxvisit_init + textbook_most_visits(t, node)) * how->value_scale;
    }
}

/* ---- select (7) ---- */

/* PUCT (7.2); the mask holds at the root alone. */
static inline int textbook_select_puct(textbook *t, int node) {
    double score[TEXTBOOK_ACTIONS];
    textbook_parent_and_siblings(t, node, score);
    const double n = t->visits[node], base = t->params->pb_c_base;
    const double c = t->params->pb_c_init + log((n + base + 1.0) / base);
    for (int a = 0; a < t->num_actions; a++) {
        score[a] += sqrt(n) * c * t->prior[node][a] / (t->child_visits[node][a] + 1);
        if (node == 0 && !t->legal[a]) score[a] = -INFINITY;
    }
    return textbook_argmax(t, score);
}

/* How many visits the actions have that simulation `simulation` of sequential halving may choose between (9). */
static inline int textbook_considered_visits(int considered, int num_simulations, int simulation) {
    if (considered <= 1) return simulation;
    int visits[TEXTBOOK_ACTIONS] = {0};
    const int rounds = (int)ceil(log2(considered));
    for (int k = considered, done = 0;; k = k / 2 > 2 ? k / 2 : 2) {
        const int share = num_simulations / (rounds * k);
        for (int repeat = 0; repeat < (share > 1 ? share : 1); repeat++)
            for (int i = 0; i < k; i++, done++) {
                if (done == simulation) return visits[i];
                visits[i]++;
            }
    }
}

/* The best of the actions with so many visits by noise, logit and Q (7.3). */
static inline int textbook_best_considered(textbook *t, int visits) {
    double score[TEXTBOOK_ACTIONS], max = -INFINITY;
    textbook_completed(t, 0, score);
    for (int a = 0; a < t->num_actions; a++) max = fmax(max, t->logits[0][a]);
    for (int a = 0; a < t->num_actions; a++) {
        score[a] = fmax(-1e9, t->params->gumbel_scale * t->noise[a] + t->logits[0][a] - max + score[a]);
        if (!t->legal[a] || t->child_visits[0][a] != visits) score[a] = -INFINITY;
    }
    return textbook_argmax(t, score);
}

static inline int textbook_select_gumbel_root(textbook *t, int simulation) {
    int considered = 0;
    for (int a = 0; a < t->num_actions; a++) considered += t->legal[a] != 0;
    if (considered > t->params->max_num_considered_actions) considered = t->params->max_num_considered_actions;
    return textbook_best_considered(t, textbook_considered_visits(considered, t->params->num_simulations, simulation));
}

/* Visits follow the improved policy (7.4). */
static inline int textbook_select_gumbel(textbook *t, int node) {
    double policy[TEXTBOOK_ACTIONS], score[TEXTBOOK_ACTIONS], visits = 1.0;
    textbook_completed(t, node, policy);
    for (int a = 0; a < t->num_actions; a++) policy[a] += t->logits[node][a];
    textbook_softmax(policy, t->num_actions, policy);
    for (int a = 0; a < t->num_actions; a++) visits += t->child_visits[node][a];
    for (int a = 0; a < t->num_actions; a++) score[a] = policy[a] - t->child_visits[node][a] / visits;
    return textbook_argmax(t, score);
}

static inline int textbook_select(textbook *t, int node, int simulation) {
    if (t->params->root_rule == CM_RULE_PUCT) return textbook_select_puct(t, node);
    return node == 0 ? textbook_select_gumbel_root(t, simulation) : textbook_select_gumbel(t, node);
}

/* ---- expand, backup (4) ---- */

static inline void textbook_write_node(textbook *t, int node, int state) {
    t->state[node] = state;
    t->raw_value[node] = t->value[node] = t->model->value[state];
    t->visits[node]++;
    for (int a = 0; a < t->num_actions; a++) t->logits[node][a] = t->model->prior_logits[state * t->num_actions + a];
    textbook_softmax(t->logits[node], t->num_actions, t->prior[node]);
}

/* Plays `action` in `parent`; a node that the depth limit keeps from growing is evaluated again. */
static inline int textbook_expand(textbook *t, int parent, int action, int simulation) {
    const int step = t->state[parent] * t->num_actions + action;
    int node = t->child[parent][action];
    if (node == TEXTBOOK_UNVISITED) node = t->child[parent][action] = simulation + 1;
    textbook_write_node(t, node, t->model->next_state[step]);
    t->reward[parent][action] = t->model->reward[step];
    t->discount[parent][action] = t->model->discount[step];
    t->parent[node] = parent;
    t->action_from_parent[node] = action;
    return node;
}

static inline void textbook_backup(textbook *t, int leaf) {
    double g = t->value[leaf];
    for (int node = leaf; node != 0; node = t->parent[node]) {
        const int parent = t->parent[node], a = t->action_from_parent[node];
        g = t->reward[parent][a] + t->discount[parent][a] * g;
        t->value[parent] = (t->value[parent] * t->visits[parent] + g) / (t->visits[parent] + 1);
        t->visits[parent]++;
        t->child_visits[parent][a]++;
    }
}

/* The root's prior: with Dirichlet noise (8.2) under PUCT, and without the illegal actions. */
static inline void textbook_prepare_root(textbook *t) {
    const double share = t->params->root_rule == CM_RULE_PUCT ? t->params->dirichlet_fraction : 0.0;
    for (int a = 0; a < t->num_actions; a++) {
        t->logits[0][a] = log(fmax(FLT_MIN, (1.0 - share) * t->prior[0][a] + share * t->noise[a]));
        if (!t->legal[a]) t->logits[0][a] = -FLT_MAX;
    }
    textbook_softmax(t->logits[0], t->num_actions, t->prior[0]);
}

/* ---- the search ---- */

/* Fills `t` with the tree of params->num_simulations < TEXTBOOK_NODES simulations from root_state. legal [A] has at
 * least one 1; noise [A] is read where the parameters use it. All pointers are borrowed. */
static inline void textbook_search(textbook *t, const cm_table *model, const cm_search_params *params, int root_state,
                                   const uint8_t *legal, const float *noise) {
    memset(t, 0, sizeof *t);
    memset(t->child, TEXTBOOK_UNVISITED, sizeof t->child);
    t->model = model;
    t->params = params;
    t->legal = legal;
    t->noise = noise;
    t->num_actions = model->num_actions;
    t->closest = INFINITY;
    textbook_write_node(t, 0, root_state);
    textbook_prepare_root(t);
    for (int simulation = 0; simulation < params->num_simulations; simulation++) {
        int node = 0, depth = 1;
        int action = textbook_select(t, node, simulation);
        while (t->child[node][action] != TEXTBOOK_UNVISITED && depth != params->max_depth) {
            node = t->child[node][action];
            action = textbook_select(t, node, simulation);
            depth++;
        }
        textbook_backup(t, textbook_expand(t, node, action, simulation));
    }
}

#endif
