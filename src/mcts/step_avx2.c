/* The step with vectors of AVX2. The order of these headers matters. */
/* clang-format off */
#include "mcts/lanes_avx2.inc"
#include "mcts/step_impl.inc"
#include "mcts/plain_avx2.inc"
/* clang-format on */

const cm_step cm_step_avx2 = {"avx2", step_root, avx2_grow};
