/* The step with vectors of AVX2. The order of these headers matters. */
/* clang-format off */
#include "mcts/lanes_avx2.inc"
#include "mcts/step_impl.inc"
#include "mcts/simd_avx2.inc"
#include "mcts/batched_select.inc"
#include "mcts/batched_backup.inc"
/* clang-format on */

/* The growth that is made for the tree's rules. */
static int avx2_grow(cm_tree *tree, const cm_growth *rows) {
    return fits_batch(tree) ? batched_grow_any(tree, rows) : step_grow(tree, rows);
}

const cm_step cm_step_avx2 = {"avx2", step_root, avx2_grow};
