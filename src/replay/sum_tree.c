#include "replay/sum_tree.h"

static double sum8(const double *x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }

/* Nodes of the level above one of `count`, and the entries to store: a whole number of groups of 8. */
static size_t groups(size_t count) { return (count + CM_TREE_FAN - 1) / CM_TREE_FAN; }

void cm_sum_tree_init(cm_sum_tree *tree, cm_arena *arena, int leaves) {
    tree->leaves = leaves;
    tree->levels = 0;
    for (size_t count = (size_t)leaves;; count = groups(count)) {
        size_t entries = groups(count) * CM_TREE_FAN;
        tree->level[tree->levels] = cm_arena_alloc(arena, entries * sizeof(double));
        tree->levels++;
        if (count <= CM_TREE_FAN) break;
    }
}

size_t cm_sum_tree_bytes(int leaves) {
    cm_arena measure = {.base = NULL, .capacity = SIZE_MAX};
    cm_sum_tree tree;
    cm_sum_tree_init(&tree, &measure, leaves);
    return measure.used;
}

void cm_sum_tree_set(cm_sum_tree *tree, int leaf, double weight) {
    size_t i = (size_t)leaf;
    tree->level[0][i] = weight;
    for (int l = 1; l < tree->levels; l++) {
        i /= CM_TREE_FAN;
        tree->level[l][i] = sum8(tree->level[l - 1] + i * CM_TREE_FAN);
    }
}

double cm_sum_tree_total(const cm_sum_tree *tree) { return sum8(tree->level[tree->levels - 1]); }

/* The child whose share holds *target, which becomes relative to that child. Rounding may push a target past the last
 * share; it then falls into the last child that has a weight. */
static int pick_child(const double *child, double *target) {
    double below[CM_TREE_FAN + 1];
    int picked = 0;
    below[0] = 0.0;
    for (int c = 0; c < CM_TREE_FAN; c++) {
        below[c + 1] = below[c] + child[c];
        picked += below[c + 1] <= *target;
    }
    if (picked == CM_TREE_FAN) {
        while (picked > 1 && !(child[picked - 1] > 0.0)) picked--;
        picked--;
        *target = child[picked];
        return picked;
    }
    *target -= below[picked];
    return picked;
}

void cm_sum_tree_find(const cm_sum_tree *tree, int n, double *target, int32_t *leaf) {
    for (int i = 0; i < n; i++) leaf[i] = 0;
    for (int l = tree->levels - 1; l >= 0; l--) {
        const double *level = tree->level[l];
        for (int i = 0; i < n; i++) {
            size_t group = (size_t)leaf[i] * CM_TREE_FAN;
            leaf[i] = (int32_t)group + pick_child(level + group, &target[i]);
            if (l > 0) __builtin_prefetch(tree->level[l - 1] + (size_t)leaf[i] * CM_TREE_FAN);
        }
    }
}
