#include "mcts/step.h"

#include "mcts/rules.h"

cm_affine cm_step_root_map(const cm_tree *tree, int b) {
    cm_view root = cm_tree_view(tree, b, CM_ROOT);
    return cm_rules_map(tree, &root);
}

const cm_step *cm_step_best(void) { return __builtin_cpu_supports("avx2") ? &cm_step_avx2 : &cm_step_scalar; }
